//! Splits text into commands and words as Windows does: `cmd.exe` first, then the program's runtime. So browsers on Windows
//! write commands.
//!
//! Chrome, Edge and newer Firefox put `^` before each character that `cmd.exe` could take for its own, quotes included;
//! older Firefox writes `""` for a quotation mark within quotes.

/// The line that a command begins in, and its words.
pub(super) type SplitCommand = (usize, Vec<String>);

/// Whether `text` is written for `cmd.exe`: what its quoting looks like is nothing that a POSIX shell's quoting does.
pub(super) fn is_for_cmd(text: &str) -> bool {
    if text.contains("^\"") || text.lines().any(|line| line.trim_end().ends_with(" ^")) {
        return true;
    }
    // `"{""a"":1}"`: in a POSIX shell the doubled quotes would be nothing at all. Browsers write `'` for those.
    !text.contains('\'') && has_doubled_quote(text)
}

/// Whether a quoted word has `""` within it, with text on both sides.
pub(super) fn has_doubled_quote(text: &str) -> bool {
    let is_text = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    text.match_indices("\"\"")
        .any(|(at, _)| is_text(text[..at].chars().next_back()) && is_text(text[at + 2..].chars().next()))
}

/// The commands of `text`.
///
/// # Errors
/// The line, and what is wrong in it.
pub(super) fn split(text: &str) -> Result<Vec<SplitCommand>, (usize, String)> {
    let mut commands = Vec::new();
    for (line, command) in interpreted(text)? {
        let words = words(&command).map_err(|problem| (line, problem))?;
        if !words.is_empty() {
            commands.push((line, words));
        }
    }
    Ok(commands)
}

/// The line that a command begins in, and what `cmd.exe` makes of it.
type Interpreted = (usize, String);

/// What `cmd.exe` makes of the text: commands without its own escapes, each with the line that it begins in.
fn interpreted(text: &str) -> Result<Vec<Interpreted>, (usize, String)> {
    let text = text.replace("\r\n", "\n");
    let mut rest = text.chars().peekable();
    let (mut commands, mut command) = (Vec::new(), String::new());
    let (mut line, mut began, mut is_quoted) = (1, 1, false);
    while let Some(c) = rest.next() {
        match c {
            '^' if !is_quoted => match rest.next() {
                // A line that goes on; a line break after that is one of the text.
                Some('\n') => {
                    line += 1;
                    if rest.peek() == Some(&'\n') {
                        rest.next();
                        line += 1;
                        command.push('\n');
                    }
                }
                Some(c) => command.push(c),
                None => {}
            },
            '"' => {
                is_quoted = !is_quoted;
                command.push(c);
            }
            '\n' | '&' | '|' if !is_quoted || c == '\n' => {
                if is_quoted {
                    return Err((began, "has a \" without its end in the same line".to_owned()));
                }
                line += usize::from(c == '\n');
                commands.push((began, std::mem::take(&mut command)));
                began = line;
            }
            '<' | '>' if !is_quoted => {
                return Err((line, "redirects its input or output: leave that out".to_owned()));
            }
            c => command.push(c),
        }
        if command.trim().is_empty() {
            began = line;
        }
    }
    commands.push((began, command));
    Ok(commands)
}

/// The words that the runtime of a program makes of its command line: `\"` and, within quotes, `""` are quotation marks, and
/// backslashes count only before one.
fn words(command: &str) -> Result<Vec<String>, String> {
    let command: Vec<char> = command.chars().collect();
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut at = 0;
    while let Some(c) = command.get(at).copied() {
        at += 1;
        match c {
            ' ' | '\t' if !is_quoted => words.extend(word.take()),
            '\\' => {
                let slashes = 1 + command[at..].iter().take_while(|c| **c == '\\').count();
                at += slashes - 1;
                let text = word.get_or_insert_default();
                match command.get(at) {
                    Some('"') => {
                        text.extend(std::iter::repeat_n('\\', slashes / 2));
                        if slashes % 2 == 1 {
                            text.push('"');
                            at += 1;
                        }
                    }
                    _ => text.extend(std::iter::repeat_n('\\', slashes)),
                }
            }
            '"' if is_quoted && command.get(at) == Some(&'"') => {
                at += 1;
                word.get_or_insert_default().push('"');
            }
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match is_quoted {
        true => Err("has a \" without its end".to_owned()),
        false => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn one(text: &str) -> Vec<String> {
        assert!(is_for_cmd(text), "{text}");
        let mut commands = split(text).unwrap();
        assert_eq!(commands.len(), 1, "{commands:?}");
        commands.remove(0).1
    }

    /// As Chrome 128 copies it on Windows: quotes, `%`, `&`, backslashes and a line break in the body.
    #[test]
    fn chromes_carets_are_taken_away() {
        let text = "curl ^\"https://h/a?x=1^&y=^%^20z^\" ^\r\n  -H ^\"accept: */*^\" ^\r\n  --data-raw \
                    ^\"^{^\\^\"a^\\^\":^\\^\"b\\\\c^%^d^\\^\",^\\^\"n^\\^\":^\\^\"1^\r\n\r\n2^\\^\"^}^\"";
        let expected = [
            "curl",
            "https://h/a?x=1&y=%20z",
            "-H",
            "accept: */*",
            "--data-raw",
            "{\"a\":\"b\\\\c%d\",\"n\":\"1\n2\"}",
        ];
        assert_eq!(one(text), expected);
    }

    /// As Firefox 110 copies it on Windows.
    #[test]
    fn older_firefox_doubles_quotes() {
        let text = "curl \"http://h/x?q=a\"%\"20b\" -X POST -H \"Content-Type: application/json\" --data-raw \
                    \"{\"\"a\"\":\"\"b c\"\"}\"";
        let expected = [
            "curl",
            "http://h/x?q=a%20b",
            "-X",
            "POST",
            "-H",
            "Content-Type: application/json",
            "--data-raw",
            "{\"a\":\"b c\"}",
        ];
        assert_eq!(one(text), expected);
    }

    #[test]
    fn commands_end_at_line_ends_and_ampersands_outside_of_quotes() {
        let found = split("curl \"http://a/?x=1&y\" ^\n -s &\ncurl ^\"http://b/^\"\n").unwrap();
        let words: Vec<_> = found.iter().map(|(line, words)| (*line, words[1].as_str())).collect();
        assert_eq!(words, [(1, "http://a/?x=1&y"), (3, "http://b/")]);
    }

    #[test]
    fn what_is_no_command_is_an_error() {
        assert!(split("curl ^\"a").is_err());
        assert!(split("curl \"a\nb\"").is_err());
        assert!(split("curl ^\"a^\" > b").is_err());
        assert!(!is_for_cmd("curl -H \"\" -d \"a\""));
        assert!(!is_for_cmd("curl 'a' -d 'x\"\"y'"));
    }
}
