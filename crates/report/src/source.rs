//! Where an imported run comes from, in words: what its source could not know, and what it says itself.

use evidence::{Source, SourceFigure};

use crate::number;

/// One line's worth: `Imported from k6 NDJSON: k6.ndjson`.
pub(crate) fn title(source: &Source) -> String {
    format!("Imported from {}: {}", source.format, source.files.join(", "))
}

/// What there is to say, as (what it is about, text). Figures are the source's own: nothing here was formed anew.
pub(crate) fn lines(source: &Source) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let missing: Vec<&str> = source.missing.iter().map(|missing| missing.words()).collect();
    if !missing.is_empty() {
        lines.push(("not known".to_owned(), missing.join("; ")));
    }
    for remark in &source.remarks {
        lines.push(("remark".to_owned(), remark.clone()));
    }
    for (name, value) in &source.facts {
        lines.push((name.clone(), value.clone()));
    }
    let mut subjects: Vec<(&str, Vec<String>)> = Vec::new();
    for figure in &source.figures {
        let text = format!("{} {}", figure.name, value(figure));
        match subjects.iter_mut().find(|(of, _)| *of == figure.of) {
            Some((_, texts)) => texts.push(text),
            None => subjects.push((&figure.of, vec![text])),
        }
    }
    lines.extend(subjects.into_iter().map(|(of, texts)| (of.to_owned(), texts.join(" · "))));
    lines
}

fn value(figure: &SourceFigure) -> String {
    match figure.unit.as_str() {
        "ms" => number::time(figure.value),
        "1/s" => format!("{}/s", plain(figure.value)),
        "bytes" => format!("{} bytes", plain(figure.value)),
        _ => plain(figure.value),
    }
}

/// Whole numbers as they are, others to four digits.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_what_they_are_about() {
        let figure = |of: &str, name: &str, value, unit: &str| SourceFigure {
            of: of.to_owned(),
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        };
        let source = Source {
            missing: [evidence::Missing::DueTimes].into(),
            remarks: vec!["a remark".to_owned()],
            figures: vec![
                figure("a", "p95", 2.5, "ms"),
                figure("b", "rate", 36.546_173, "1/s"),
                figure("a", "share", 0.067_123, "1"),
                figure("b", "count", 12_000.0, "1"),
            ],
            ..Source::default()
        };
        let lines: Vec<String> =
            lines(&source).iter().map(|(label, text)| format!("{label}: {text}")).collect();
        assert_eq!(
            lines,
            [
                "not known: when requests were due",
                "remark: a remark",
                "a: p95 2.50 ms · share 0.06712",
                "b: rate 36.55/s · count 12000"
            ]
        );
    }
}
