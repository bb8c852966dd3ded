//! Summaries on a terminal: the colours that k6's summaries have, and everything else in its visible form.

use evidence::TerminalText;

/// What begins each style of summaries.
const STYLES: [&str; 9] = [
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[36m",
    "\x1b[37m",
    "\x1b[36;2m",
    "\x1b[2;36m",
    "\x1b[2;37m",
];
const END: &str = "\x1b[0m";

/// The lines of a text with its colours.
pub(super) fn coloured(text: &str) -> TerminalText {
    let mut terminal = TerminalText::default();
    for line in text.lines() {
        add(&mut terminal, line);
        terminal.end_line();
    }
    terminal
}

fn add(terminal: &mut TerminalText, line: &str) {
    let mut rest = line;
    while let Some((at, style)) = first_style(rest) {
        terminal.piece("", &rest[..at]);
        let after = &rest[at + style.len()..];
        let (inner, later) = after.split_once(END).unwrap_or((after, ""));
        // A text in a style has no other one in it; where a script makes one it is shown as it is.
        terminal.piece(style, inner);
        rest = later;
    }
    terminal.piece("", rest);
}

fn first_style(text: &str) -> Option<(usize, &'static str)> {
    STYLES.iter().filter_map(|style| text.find(style).map(|at| (at, *style))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_nothing_else_acts_on_the_terminal() {
        for (text, shown) in [
            ("    \x1b[32m✓\x1b[0m a \x1b[36mavg\x1b[0m", "    \x1b[32m✓\x1b[0m a \x1b[36mavg\x1b[0m\n"),
            ("\x1b[2Ja\x1b[31mb", "\\u{1b}[2Ja\x1b[31mb\x1b[0m\n"),
            ("\x1b[32ma\x1b[8mb\x1b[0m\n\rc", "\x1b[32ma\\u{1b}[8mb\x1b[0m\n\\rc\n"),
        ] {
            assert_eq!(&*coloured(text), shown);
        }
    }
}
