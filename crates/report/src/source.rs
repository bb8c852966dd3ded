//! The source of an imported run as text: what is missing, and its own figures.

use evidence::Source;

use crate::number;

/// `Imported from k6 NDJSON: k6.ndjson`.
pub(crate) fn title(source: &Source) -> String {
    format!("Imported from {}: {}", source.format, source.files.join(", "))
}

/// The lines on a source, as (label, text). Figures are those that the source computed.
pub(crate) fn lines(source: &Source) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let missing: Vec<&str> = source.missing.iter().map(|missing| missing.words()).collect();
    if !missing.is_empty() {
        lines.push(("missing".to_owned(), missing.join("; ")));
    }
    for unread in &source.unread {
        lines.push(("not read".to_owned(), unread.clone()));
    }
    for remark in &source.remarks {
        lines.push(("remark".to_owned(), remark.clone()));
    }
    for (name, value) in &source.facts {
        lines.push((name.clone(), value.clone()));
    }
    let mut figures: Vec<(&str, Vec<String>)> = Vec::new();
    for figure in &source.figures {
        let text = format!("{} {}", figure.name, number::with_unit(Some(figure.value), &figure.unit));
        match figures.iter_mut().find(|(of, _)| *of == figure.of) {
            Some((_, texts)) => texts.push(text),
            None => figures.push((&figure.of, vec![text])),
        }
    }
    lines.extend(figures.into_iter().map(|(of, texts)| (of.to_owned(), texts.join(" · "))));
    lines
}

#[cfg(test)]
mod tests {
    use evidence::SourceFigure;

    use super::*;

    #[test]
    fn figures_are_listed_by_their_subject() {
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
                "missing: when requests were due",
                "remark: a remark",
                "a: p95 2.50 ms · share 0.06712",
                "b: rate 36.55/s · count 12,000"
            ]
        );
    }
}
