//! The last sections of a manual page: examples, exit status and notes, from the text after the help of a command.

use roff::{Roff, roman};

/// A part of the text after a help.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    /// Lines that stay as they are, below a heading of their own.
    Lines(&'static str, Vec<&'a str>),
    Note(&'a str),
}

/// The sections of `text`, in its order, and the pages that belong to this one.
pub(super) fn closing(text: &str, see_also: &[String]) -> String {
    let mut page = Roff::new();
    let mut notes = Vec::new();
    for part in parts(text) {
        match part {
            Part::Note(note) => notes.push(note),
            Part::Lines(heading, lines) => {
                page.control("SH", [heading]);
                page.control("nf", []);
                lines.iter().for_each(|line| _ = page.text([roman(*line)]));
                page.control("fi", []);
            }
        }
    }
    if !notes.is_empty() {
        page.control("SH", ["NOTES"]);
        for note in notes {
            page.control("PP", []);
            page.text([roman(note)]);
        }
    }
    if !see_also.is_empty() {
        page.control("SH", ["SEE ALSO"]);
        page.text([roman(see_also.iter().map(|name| format!("{name}(1)")).collect::<Vec<_>>().join(", "))]);
    }
    page.to_roff()
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (line.strip_prefix("  "), parts.last_mut()) {
            (Some(inner), Some(Part::Lines(_, lines))) => lines.push(inner),
            _ => parts.push(heading(line).map_or(Part::Note(line), |name| Part::Lines(name, Vec::new()))),
        }
    }
    parts
}

/// The section that a line of the help begins.
fn heading(line: &str) -> Option<&'static str> {
    let title = line.strip_suffix(':')?;
    let is_of = |beginning: &str| title.starts_with(beginning);
    match () {
        () if is_of("Exit codes") => Some("EXIT STATUS"),
        () if is_of("Examples") || is_of("First commands") => Some("EXAMPLES"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines_and_notes_follow() {
        let text = "Examples:\n  plimsoll run a.toml     offer it\n  .x\n\nExit codes, as k6 has them:\n  0  well\nA note.";
        let page = closing(text, &["plimsoll".to_owned(), "plimsoll-plan".to_owned()]);
        insta::assert_snapshot!(page, @r#"
        .SH EXAMPLES
        .nf
        plimsoll run a.toml     offer it
        \&.x
        .fi
        .SH "EXIT STATUS"
        .nf
        0  well
        .fi
        .SH NOTES
        .PP
        A note.
        .SH "SEE ALSO"
        plimsoll(1), plimsoll\-plan(1)
        "#);
    }
}
