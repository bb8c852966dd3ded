//! Splits text into commands and words as a POSIX shell does, with the `$'…'` that browsers write; it expands nothing.

use super::cmd::{self, SplitCommand};

const VARIABLE: &str =
    "uses a variable of the shell: write its value, or let the shell run `plimsoll new curl …`";
const SUBSTITUTION: &str = "runs a command of the shell: write what it prints";

/// The commands of `text`, each beginning with the word `curl`.
///
/// # Errors
/// The line, and what is wrong in it.
pub(super) fn commands(text: &str) -> Result<Vec<SplitCommand>, (usize, String)> {
    if cmd::is_for_cmd(text) {
        return only_curl(cmd::split(text)?);
    }
    let mut splitter = Splitter { rest: text.chars().peekable(), line: 1 };
    let mut commands = Vec::new();
    while let Some(command) = splitter.command()? {
        commands.push(command);
    }
    only_curl(commands)
}

/// Those that are not empty, if all of them are curl commands.
fn only_curl(mut commands: Vec<SplitCommand>) -> Result<Vec<SplitCommand>, (usize, String)> {
    commands.retain(|(_, words)| !words.is_empty());
    for (line, words) in &commands {
        if !matches!(words[0].as_str(), "curl" | "curl.exe") {
            let shown: String = words[0].chars().take(40).collect();
            let problem =
                format!("`{shown}` is not a curl command; a file of commands has curl commands only");
            return Err((*line, problem));
        }
    }
    Ok(commands)
}

struct Splitter<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl Splitter<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    /// The next command; empty ones too, none at the end.
    fn command(&mut self) -> Result<Option<SplitCommand>, (usize, String)> {
        let mut words: Vec<String> = Vec::new();
        let mut word: Option<String> = None;
        let mut began = None;
        loop {
            let line = self.line;
            let Some(c) = self.next() else {
                words.extend(word);
                return Ok(began.map(|line| (line, words)));
            };
            match c {
                ' ' | '\t' | '\r' => words.extend(word.take()),
                '\n' | ';' | '&' | '|' => {
                    words.extend(word.take());
                    return Ok(Some((began.unwrap_or(line), words)));
                }
                '#' if word.is_none() => {
                    while self.rest.peek().is_some_and(|c| *c != '\n') {
                        self.next();
                    }
                }
                '\\' => match self.next() {
                    // A line that goes on.
                    Some('\n') | None => {}
                    Some('\r') if self.rest.peek() == Some(&'\n') => {
                        self.next();
                    }
                    Some(c) => word.get_or_insert_default().push(c),
                },
                _ => {
                    began.get_or_insert(line);
                    self.part(c, word.get_or_insert_default()).map_err(|problem| (line, problem))?;
                }
            }
        }
    }

    /// The part of a word that begins with `c`.
    fn part(&mut self, c: char, word: &mut String) -> Result<(), String> {
        match c {
            '\'' => self.quoted('\'', word),
            '"' => self.quoted('"', word),
            '$' if self.rest.peek() == Some(&'\'') => {
                self.next();
                self.ansi(word)
            }
            '$' if self.is_expansion() => Err(VARIABLE.to_owned()),
            '`' => Err(SUBSTITUTION.to_owned()),
            '<' | '>' => Err("redirects its input or output: leave that out".to_owned()),
            c => {
                word.push(c);
                Ok(())
            }
        }
    }

    /// The rest of a quoted part: in double quotes `\` escapes `"`, `\`, `$`, a backtick and a line break.
    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), String> {
        loop {
            match self.next() {
                None => return Err(format!("has a {quote} without its end")),
                Some(c) if c == quote => return Ok(()),
                Some('\\') if quote == '"' => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                    Some(c) => word.extend(['\\', c]),
                    None => return Err("has a \" without its end".to_owned()),
                },
                Some('$') if quote == '"' && self.is_expansion() => return Err(VARIABLE.to_owned()),
                Some('`') if quote == '"' => return Err(SUBSTITUTION.to_owned()),
                Some(c) => word.push(c),
            }
        }
    }

    /// Whether the shell would put a value in place of the `$` before.
    fn is_expansion(&mut self) -> bool {
        self.rest.peek().is_some_and(|c| matches!(c, '(' | '{' | '_') || c.is_ascii_alphabetic())
    }

    /// The rest of `$'…'`: escapes as in C.
    fn ansi(&mut self, word: &mut String) -> Result<(), String> {
        loop {
            let c = self.next().ok_or("has a $' without its end")?;
            match c {
                '\'' => return Ok(()),
                '\\' => {
                    let escape = self.next().ok_or("has a $' without its end")?;
                    let c = match escape {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        'a' => '\u{7}',
                        'b' => '\u{8}',
                        'e' | 'E' => '\u{1b}',
                        'f' => '\u{c}',
                        'v' => '\u{b}',
                        'u' => self.code(16, 4)?,
                        'U' => self.code(16, 8)?,
                        'x' => self.code(16, 2)?,
                        digit @ '0'..='7' => self.octal(digit)?,
                        other => other,
                    };
                    word.push(c);
                }
                c => word.push(c),
            }
        }
    }

    /// A character by its code. Two halves of UTF-16, as browsers write what is beyond 16 bits, are one.
    fn code(&mut self, radix: u32, most: usize) -> Result<char, String> {
        let high = self.number(radix, most);
        if (0xd800..0xdc00).contains(&high) {
            let mut ahead = self.rest.clone();
            if (ahead.next(), ahead.next()) == (Some('\\'), Some('u')) {
                self.next();
                self.next();
                let low = self.number(radix, most);
                if (0xdc00..0xe000).contains(&low) {
                    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    return char::from_u32(code).ok_or_else(|| "has no such character".to_owned());
                }
            }
        }
        char::from_u32(high).ok_or_else(|| format!("has an escape that is not a character: \\u{high:04x}"))
    }

    fn octal(&mut self, first: char) -> Result<char, String> {
        let first = first.to_digit(8).unwrap_or_default();
        let mut code = first;
        for _ in 0..2 {
            let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(8)) else { break };
            self.next();
            code = code * 8 + digit;
        }
        char::from_u32(code).ok_or_else(|| "has an escape that is not a character".to_owned())
    }

    fn number(&mut self, radix: u32, most: usize) -> u32 {
        let mut code = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(radix)) else { break };
            self.next();
            code = code.saturating_mul(radix).saturating_add(digit);
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        commands(text).unwrap().remove(0).1
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(
            words(r#"curl 'a b' "c \"d\" \n" e\ f -H'x: y'"#),
            ["curl", "a b", "c \"d\" \\n", "e f", "-Hx: y"]
        );
        assert_eq!(words("curl a \\\n  b \\\r\n c # d"), ["curl", "a", "b", "c"]);
        assert_eq!(words(r"curl $'it\'s\n\u0041\x42\103 \ud83d\ude00'"), ["curl", "it's\nABC \u{1f600}"]);
        assert_eq!(words("curl ''"), ["curl", ""]);
    }

    #[test]
    fn commands_end_where_a_shell_ends_them() {
        let found = commands("\n# two\ncurl a &&\ncurl b ;\ncurl c").unwrap();
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4, 5]);
    }

    #[test]
    fn what_no_plan_can_do_is_an_error_with_its_line() {
        let problem = |text: &str| commands(text).unwrap_err();
        assert_eq!(problem("curl a\ncurl 'b").0, 2);
        assert_eq!(problem("\nwget x").0, 2);
        for text in [
            "curl $HOME",
            "curl \"$HOME\"",
            "curl `x`",
            "curl \"`x`\"",
            "curl a > b",
            "curl $'",
            "curl \"",
            "curl $'\\udc00'",
        ] {
            assert!(commands(text).is_err(), "{text}");
        }
    }
}
