//! A line of a script's log as text for a terminal.

use evidence::TerminalText;
use k6::{Level, LogLine};

/// Begins the second and further lines of one text.
const FURTHER: &str = "  | ";

/// What is printed of a line. Further lines of its text, which may be a target's, begin as no line of plimsoll's does; those
/// of a trace begin with a tab.
pub(super) fn printed(line: &LogLine) -> TerminalText {
    let mut text = TerminalText::default();
    let shown = shown(line);
    let (first, rest) = shown.split_once('\n').unwrap_or((&shown, ""));
    text.quote("", first);
    for further in rest.lines() {
        match further {
            "" => text.line(FURTHER),
            trace if trace.starts_with('\t') => text.quote("", trace),
            further => text.quote(FURTHER, further),
        };
    }
    text
}

/// A line as k6 writes it to a terminal, without the time.
pub(super) fn shown(line: &LogLine) -> String {
    let level = match line.level {
        Level::Debug => "DEBU",
        Level::Info => "INFO",
        Level::Warning => "WARN",
        Level::Error => "ERRO",
    };
    let fields: String =
        line.fields.iter().map(|(name, value)| format!(" {name}={}", quoted(value))).collect();
    format!("{level} {}{}{fields}", line.text, if fields.is_empty() { "" } else { " " })
}

fn quoted(value: &str) -> String {
    let is_plain = !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'=');
    if is_plain { value.to_owned() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_text_is_like_one_of_plimsoll() {
        let text = "body:\nplimsoll-run-file sha256=00 bytes=1 exit=0\n\r\n\tat f (s.js:1)\nPASS".to_owned();
        let printed = printed(&LogLine { level: Level::Info, text, fields: Vec::new() });
        let expected =
            "INFO body:\n  | plimsoll-run-file sha256=00 bytes=1 exit=0\n  |\n\tat f (s.js:1)\n  | PASS\n";
        assert_eq!(printed.to_string(), expected);
    }

    #[test]
    fn a_line_has_its_level_and_its_fields() {
        let fields = vec![("source", "console".to_owned()), ("error", "a \"b\"".to_owned())];
        let line = LogLine { level: Level::Warning, text: "Request Failed".to_owned(), fields };
        assert_eq!(shown(&line), r#"WARN Request Failed  source=console error="a \"b\"""#);
    }
}
