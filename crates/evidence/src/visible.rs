//! Text that is safe to show. Names, bodies and messages come from targets, plans, files and databases; shown as they
//! are, they could control a terminal, hide or reorder what is beside them, or add lines in the tool's name.
//!
//! [`visible`] is the one function that makes such text harmless, and [`TerminalText`] the one type that is written to a
//! terminal: every line of it went through that function, and its line ends and colours are the program's own.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

/// Whether a terminal or a page acts on this character, or shows nothing for it: control characters (C0, DEL, C1), ends
/// of lines and paragraphs, and what has no glyph of its own (Unicode's `Default_Ignorable_Code_Point`, with marks of
/// direction, tags, joiners and spaces without width, and the marks of annotations).
pub fn is_invisible(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\0'..='\u{9f}' => true,
        _ => matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'),
    }
}

/// The text on one line, with an escape as in Rust for each character that [`is_invisible`]: `\n`, `\t`, `\u{1b}`. What is
/// visible stays as it is, a backslash too, so that visible text is its own visible form.
pub fn visible(text: &str) -> Cow<'_, str> {
    match text.contains(is_invisible) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(escaped(text, is_invisible)),
    }
}

/// The text [`visible`], with its lines and tabs. It must be shown as what it is: indented, behind a mark, or in a box.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_escaped = |c| !matches!(c, '\n' | '\t') && is_invisible(c);
    match text.contains(is_escaped) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(escaped(&text.replace("\r\n", "\n"), is_escaped)),
    }
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' if is_escaped(c) => out.extend(c.escape_default()),
            c if is_escaped(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Whole lines of visible text, in colours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalText(String);

impl TerminalText {
    /// Add a line, whatever is in it.
    pub fn line(&mut self, line: impl Display) -> &mut TerminalText {
        self.piece("", &line.to_string()).end_line()
    }

    /// Add the lines of a text of others, each behind `mark`.
    pub fn quote(&mut self, mark: &str, text: &str) -> &mut TerminalText {
        for line in visible_lines(text).lines() {
            self.0.push_str(&visible(mark));
            self.0.push_str(line);
            self.end_line();
        }
        self
    }

    /// Add a part of a line in a colour, given as its escape code; an empty one is none.
    pub fn piece(&mut self, colour: &'static str, text: &str) -> &mut TerminalText {
        let text = visible(text);
        // Writing to a string does not fail.
        let _ = match colour {
            "" => self.0.write_str(&text),
            colour => write!(self.0, "{colour}{text}\u{1b}[0m"),
        };
        self
    }

    /// End the line that was begun, without blanks at its end.
    pub fn end_line(&mut self) -> &mut TerminalText {
        self.0.truncate(self.0.trim_end_matches(' ').len());
        self.0.push('\n');
        self
    }

    /// Add the lines of another text.
    pub fn append(&mut self, other: &TerminalText) -> &mut TerminalText {
        self.0.push_str(&other.0);
        self
    }
}

impl Deref for TerminalText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Display for TerminalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_escaped_and_the_rest_is_unchanged() {
        for (text, shown) in [
            ("", ""),
            ("a \\ \u{e9} \u{754c} \u{1f600} C:\\new", "a \\ \u{e9} \u{754c} \u{1f600} C:\\new"),
            ("\u{1b}[2J\u{7f}\0", "\\u{1b}[2J\\u{7f}\\u{0}"),
            ("\u{80}\u{9b}31m\u{9f}", "\\u{80}\\u{9b}31m\\u{9f}"),
            ("a\r\n\tPASS", "a\\r\\n\\tPASS"),
            (
                "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}",
                r"\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}",
            ),
            ("\u{e0000}\u{e0041}\u{e007f}", r"\u{e0000}\u{e0041}\u{e007f}"),
            ("\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}", r"\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}"),
            ("\u{2028}\u{2029}", r"\u{2028}\u{2029}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn a_line_stays_one_line_and_lines_of_others_are_marked() {
        let mut text = TerminalText::default();
        text.line(format_args!("< {}", "x\nPASS"));
        text.quote("  | ", "one\r\n\ttwo\u{1b}\nPASS\n");
        text.piece("\u{1b}[31m", "b\u{1b}[0m").piece("", " \n").end_line();
        assert_eq!(
            &*text,
            "< x\\nPASS\n  | one\n  | \ttwo\\u{1b}\n  | PASS\n\u{1b}[31mb\\u{1b}[0m\u{1b}[0m \\n\n"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_visible_and_its_own_visible_form(text in "(?s).{0,40}|[\\x00-\\x1f\\x7f-\\u{9f}\\u{2000}-\\u{206f}\\u{e0000}-\\u{e007f}]{0,20}") {
            let shown = visible(&text).into_owned();
            prop_assert!(!shown.contains(is_invisible), "{shown:?}");
            prop_assert_eq!(&*visible(&shown), &shown);
            if !text.contains(is_invisible) {
                prop_assert_eq!(&shown, &text);
            }
        }

        #[test]
        fn each_line_of_others_is_behind_its_mark(text in "(?s).{0,40}|[\\n\\ra\\x1b\\u{2028}\\u{85}]{0,20}") {
            let mut shown = TerminalText::default();
            shown.quote("  | ", &text);
            for line in shown.lines() {
                prop_assert!(line.starts_with("  |"), "{line:?}");
                prop_assert!(!line.replace('\t', " ").contains(is_invisible), "{line:?}");
            }
        }
    }
}
