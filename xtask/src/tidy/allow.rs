//! The ratchet: long files and functions that exist already. They may shrink, and then their entry must
//! follow; they may not grow, and nothing new gets in without a reviewer seeing a new line here.

/// Where the list lies.
pub(super) const PATH: &str = "xtask/tidy.allow";

/// What an entry speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) path: String,
    /// A function of the file, or the file itself.
    pub(super) function: Option<String>,
}

/// One line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    pub(super) lines: usize,
    /// The line of the list, counted from 1.
    pub(super) at: usize,
}

/// Reads `PATH LINES` and `PATH FUNCTION LINES`; `#` starts a comment.
///
/// # Errors
/// The number of the first line that is neither.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, usize> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = index + 1;
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        let (path, function, lines) = match words[..] {
            [] => continue,
            [path, lines] => (path, None, lines),
            [path, function, lines] => (path, Some(function.to_owned()), lines),
            _ => return Err(at),
        };
        let lines = lines.parse().map_err(|_| at)?;
        entries.push(Entry { subject: Subject { path: path.to_owned(), function }, lines, at });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_functions_can_be_listed() {
        let entries = parse("# why\n\na.rs 700 # a table\na.rs run 80\n").expect("it is well formed");
        let listed: Vec<_> = entries.iter().map(|e| (e.subject.function.as_deref(), e.lines, e.at)).collect();
        assert_eq!(listed, [(None, 700, 3), (Some("run"), 80, 4)]);
    }

    #[test]
    fn a_broken_line_is_pointed_at() {
        assert_eq!(parse("a.rs 700\na.rs many\n"), Err(2));
        assert_eq!(parse("a b c 4\n"), Err(1));
        assert_eq!(parse("a\n"), Err(1));
    }
}
