//! Reads what targets show of their metrics: Prometheus' text format 0.0.4 and OpenMetrics 1.0, a line at a time.
//!
//! Such text may be wrong: a malformed line is reported and left out, and the lines around it are kept.

use std::borrow::Cow;

/// What a metric is, as its `# TYPE` line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, and begins anew with its process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound, each with those below it, since the process began.
    Histogram,
    /// The same of what is there now.
    GaugeHistogram,
    /// Quantiles that the target drew up itself.
    Summary,
    /// Untyped, unknown, or a kind without numbers of interest.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpositionLine<'a> {
    /// Empty, or a remark.
    Nothing,
    /// The kind of the metric with this name.
    Type(&'a str, Kind),
    /// A value.
    Sample(Sample<'a>),
}

/// A line with a value: its name is read, the rest when asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// The metric's name, with suffixes such as `_total` and `_bucket`.
    pub name: &'a str,
    rest: &'a str,
}

/// Names and values of labels, in the order of the line.
pub type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

const BLANK: [char; 2] = [' ', '\t'];

/// The lines of `text`, each with its number from 1, or what is wrong with it.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, Result<ExpositionLine<'_>, &'static str>)> {
    text.split_inclusive('\n').enumerate().map(|(index, line)| (index + 1, read_line(line)))
}

fn read_line(line: &str) -> Result<ExpositionLine<'_>, &'static str> {
    let whole = line.strip_suffix('\n');
    let text = whole.unwrap_or(line).trim_matches([' ', '\t', '\r']);
    if let Some(remark) = text.strip_prefix('#') {
        return Ok(read_remark(remark));
    }
    if text.is_empty() {
        return Ok(ExpositionLine::Nothing);
    }
    // A number that was cut off is another number.
    if whole.is_none() {
        return Err("it is cut off: the last line has no end");
    }
    let (name, rest) = identifier(text, |c| c == ':').ok_or("it does not begin with a metric's name")?;
    if !rest.starts_with(['{', ' ', '\t']) {
        return Err("its name has characters that are not allowed, or it has no value");
    }
    Ok(ExpositionLine::Sample(Sample { name, rest }))
}

fn read_remark(remark: &str) -> ExpositionLine<'_> {
    let mut words = remark.split(BLANK).filter(|word| !word.is_empty());
    let (Some("TYPE"), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) else {
        return ExpositionLine::Nothing;
    };
    let kind = match kind {
        "counter" => Kind::Counter,
        "gauge" => Kind::Gauge,
        "histogram" => Kind::Histogram,
        "gaugehistogram" => Kind::GaugeHistogram,
        "summary" => Kind::Summary,
        _ => Kind::Other,
    };
    ExpositionLine::Type(name, kind)
}

impl<'a> Sample<'a> {
    /// Its labels and its value, which may be infinite or no number. Times and exemplars are passed over.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow on the line's number.
    pub fn read(&self) -> Result<(Labels<'a>, f64), &'static str> {
        let rest = self.rest.trim_start_matches(BLANK);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => read_labels(inside)?,
            None => (Labels::new(), rest),
        };
        let mut words = rest.split(BLANK).filter(|word| !word.is_empty());
        let value = words.next().ok_or("it has no value")?;
        let value = value.parse::<f64>().map_err(|_| "its value is not a number")?;
        match words.next() {
            None | Some("#") => return Ok((labels, value)),
            Some(time) if time.parse::<f64>().is_ok() => {}
            Some(_) => return Err("its time is not a number"),
        }
        match words.next() {
            None | Some("#") => Ok((labels, value)),
            Some(_) => Err("there is text after its timestamp"),
        }
    }
}

/// Labels up to the closing brace, and what follows it.
fn read_labels(mut rest: &str) -> Result<(Labels<'_>, &str), &'static str> {
    let mut labels = Labels::new();
    loop {
        rest = rest.trim_start_matches(BLANK);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (name, after) = identifier(rest, |_| false).ok_or("a label has no name")?;
        let after = after.trim_start_matches(BLANK).strip_prefix('=').ok_or("a label has no `=`")?;
        let after = after.trim_start_matches(BLANK).strip_prefix('"');
        let (value, after) = read_quoted(after.ok_or("a label's value has no quotes")?)?;
        labels.push((name, value));
        let after = after.trim_start_matches(BLANK);
        rest = match after.strip_prefix(',') {
            Some(next) => next,
            None if after.starts_with('}') => after,
            None => return Err("its labels have no end"),
        };
    }
}

/// Text up to the closing quotes, and what follows them.
fn read_quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    const OPEN: &str = "a label's value has no closing quotes";
    let plain = text.find(['"', '\\']).ok_or(OPEN)?;
    if text.as_bytes()[plain] == b'"' {
        return Ok((Cow::Borrowed(&text[..plain]), &text[plain + 1..]));
    }
    let mut value = text[..plain].to_owned();
    let mut rest = text[plain..].char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => return Ok((Cow::Owned(value), &text[plain + at + 1..])),
            '\\' => match rest.next().ok_or(OPEN)?.1 {
                'n' => value.push('\n'),
                same @ ('"' | '\\') => value.push(same),
                // Other escapes have no meaning and are taken literally, as by Prometheus.
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
    Err(OPEN)
}

/// A name at the beginning, and what follows it.
fn identifier(text: &str, also: impl Fn(char) -> bool) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || also(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Read = (String, Vec<(String, String)>, f64);

    /// One line as the test reads it.
    fn read(line: &str) -> Result<Read, &'static str> {
        let text = format!("{line}\n");
        match lines(&text).next().unwrap().1? {
            ExpositionLine::Sample(sample) => {
                let (labels, value) = sample.read()?;
                let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned()));
                Ok((sample.name.to_owned(), labels.collect(), value))
            }
            other => panic!("{other:?} is not a sample"),
        }
    }

    fn labelled(line: &str) -> Vec<(String, String)> {
        read(line).unwrap().1
    }

    #[test]
    fn values_come_with_and_without_labels_times_and_exemplars() {
        let up = |value| Ok(("up".to_owned(), Vec::new(), value));
        assert_eq!(read("up 1"), up(1.0));
        assert_eq!(read("  up\t1.5e3 1395066363000 \r"), up(1500.0));
        assert_eq!(read("up{} 1 1.5 # {trace=\"a b\"} 0.67 1.2"), up(1.0));
        assert_eq!(read("up 1 # {} 0.67"), up(1.0));
        assert_eq!(read("a:b_total{} -Inf").unwrap().2, f64::NEG_INFINITY);
        assert!(read("up NaN").unwrap().2.is_nan());
    }

    #[test]
    fn labels_may_hold_anything() {
        let label = |value: &str| vec![("a".to_owned(), value.to_owned())];
        assert_eq!(labelled(r#"x{a="}, {"} 1"#), label("}, {"));
        assert_eq!(labelled(r#"x { a = "\"\\\n\w" , } 1"#), label("\"\\\n\\w"));
        assert_eq!(labelled(r#"x{a="ü 漢"}1"#), label("ü 漢"));
        assert_eq!(labelled(r#"x{b="2",a=""} 1"#).len(), 2);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, why) in [
            ("<html>", "it does not begin with a metric's name"),
            ("9lives 1", "it does not begin with a metric's name"),
            ("up", "its name has characters that are not allowed, or it has no value"),
            ("up-time 1", "its name has characters that are not allowed, or it has no value"),
            ("up ", "its name has characters that are not allowed, or it has no value"),
            ("up{a=\"b\"}", "it has no value"),
            ("up one", "its value is not a number"),
            ("up 1 noon", "its time is not a number"),
            ("up 1 2 3", "there is text after its timestamp"),
            ("up{a=b} 1", "a label's value has no quotes"),
            ("up{a} 1", "a label has no `=`"),
            ("up{=\"b\"} 1", "a label has no name"),
            ("up{a=\"b\" 1", "its labels have no end"),
            ("up{a=\"b 1", "a label's value has no closing quotes"),
            ("up{a=\"b\\", "a label's value has no closing quotes"),
        ] {
            assert_eq!(read(line), Err(why), "{line}");
        }
    }

    #[test]
    fn a_line_without_end_is_not_believed() {
        let text = "# TYPE up gauge\nup 1\n\n# EOF\nup 12";
        let read: Vec<_> = lines(text).collect();
        assert_eq!(read[0], (1, Ok(ExpositionLine::Type("up", Kind::Gauge))));
        assert_eq!((read[2], read[3]), ((3, Ok(ExpositionLine::Nothing)), (4, Ok(ExpositionLine::Nothing))));
        assert_eq!(read[4], (5, Err("it is cut off: the last line has no end")));
    }

    proptest! {
        #[test]
        fn never_panics(text in r#"(?s)([a-z_{}="\\, 0-9#\n.]|.){0,200}"#) {
            for (_, line) in lines(&text) {
                if let Ok(ExpositionLine::Sample(sample)) = line {
                    let _ = sample.read();
                }
            }
        }

        #[test]
        fn what_was_written_is_read(value in "[^\n]{0,20}", number in any::<f64>()) {
            let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
            let (_, labels, read) = read(&format!("x{{a=\"{escaped}\"}} {number}")).unwrap();
            prop_assert_eq!(&labels[0].1, &value);
            prop_assert!(read == number || (read.is_nan() && number.is_nan()));
        }
    }
}
