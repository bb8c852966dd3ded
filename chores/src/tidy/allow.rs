//! The list of long files and circles of files that exist already. An entry may only be lowered or deleted, and a new
//! one is a line that a reviewer sees.

/// Where the list is.
pub(super) const PATH: &str = "chores/tidy.allow";

/// What an entry allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A file with more lines than the limit.
    File(String),
    /// A circle of files, by the first of them in the alphabet.
    Circle(String),
    /// Functions whose error is a text.
    StringErrors,
}

/// One line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    /// How many lines, files or functions.
    pub(super) limit: usize,
    /// The line of the list, counted from 1.
    pub(super) at: usize,
}

/// Reads `PATH LINES # REASON`, `circle PATH FILES # REASON` and `string-errors FUNCTIONS # REASON`; other lines are empty or start with `#`.
///
/// # Errors
/// The number of the first line that is none of these.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, usize> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = index + 1;
        let (entry, reason) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<&str> = entry.split_whitespace().collect();
        let (subject, limit) = match words[..] {
            [] => continue,
            ["string-errors", functions] => (Subject::StringErrors, functions),
            [path, lines] => (Subject::File(path.to_owned()), lines),
            ["circle", path, files] => (Subject::Circle(path.to_owned()), files),
            _ => return Err(at),
        };
        if reason.trim().is_empty() {
            return Err(at);
        }
        entries.push(Entry { subject, limit: limit.parse().map_err(|_| at)?, at });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_circles_can_be_listed() {
        let entries = parse("# why\n\na.rs 700 # a table\ncircle b.rs 3 # old\n").expect("it is well formed");
        let file = Entry { subject: Subject::File("a.rs".to_owned()), limit: 700, at: 3 };
        let circle = Entry { subject: Subject::Circle("b.rs".to_owned()), limit: 3, at: 4 };
        assert_eq!(entries, [file, circle]);
    }

    #[test]
    fn a_broken_line_is_named() {
        assert_eq!(parse("a.rs 700 # a table\na.rs many # x\n"), Err(2));
        assert_eq!(parse("a b 4 # x\n"), Err(1));
        assert_eq!(parse("a # x\n"), Err(1));
    }

    #[test]
    fn an_entry_needs_a_reason() {
        assert_eq!(parse("a.rs 700\n"), Err(1));
        assert_eq!(parse("a.rs 700 #\n"), Err(1));
    }
}
