//! Files of at most 600 lines, except the shrinking list of older ones. How long a function may be is a lint of
//! clippy's, whose threshold is in `clippy.toml`.

use super::allow::{self, Entry, Subject};
use super::complaint::Complaint;
use super::tree::{Source, Tree};

const FILE_LINES: usize = 600;

/// Compares every file's length with the limit, or with what the list allows it.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let entries = match allow::parse(tree.text(allow::PATH).unwrap_or("")) {
        Ok(entries) => entries,
        Err(line) => return vec![unreadable(line)],
    };
    let files: Vec<&Source> = tree.sources.iter().filter(|source| source.code.is_some()).collect();
    let mut complaints: Vec<Complaint> =
        files.iter().filter_map(|source| too_long(source, &entries)).collect();
    complaints.extend(entries.iter().filter_map(|entry| outdated(entry, &files)));
    complaints
}

fn line_count(source: &Source) -> usize {
    source.text.lines().count()
}

fn too_long(source: &Source, entries: &[Entry]) -> Option<Complaint> {
    let lines = line_count(source);
    if lines <= FILE_LINES {
        return None;
    }
    let subject = Subject::File(source.path.clone());
    let (wrong, instead) = match entries.iter().find(|entry| entry.subject == subject) {
        None => (
            format!("the file has {lines} lines, the limit is {FILE_LINES}"),
            format!("split it where a part has a name of its own, or give the reason in {}", allow::PATH),
        ),
        Some(entry) if lines > entry.limit => (
            format!("the file grew from {} to {lines} lines, the limit is {FILE_LINES}", entry.limit),
            "listed files may only shrink: move the new part out".to_owned(),
        ),
        Some(_) => return None,
    };
    Some(Complaint { path: source.path.clone(), line: 1, wrong, instead })
}

fn outdated(entry: &Entry, files: &[&Source]) -> Option<Complaint> {
    let Subject::File(path) = &entry.subject else { return None };
    let lines = files.iter().find(|source| source.path == *path).map(|source| line_count(source));
    let (wrong, instead) = match lines {
        None => ("this entry names nothing that exists".to_owned(), "delete it".to_owned()),
        Some(lines) if lines <= FILE_LINES => (
            format!("this entry is not needed: {lines} lines are within {FILE_LINES}"),
            "delete it".to_owned(),
        ),
        Some(lines) if lines < entry.limit => {
            (format!("this entry allows {} lines", entry.limit), format!("lower it to {lines}"))
        }
        Some(_) => return None,
    };
    Some(Complaint { path: allow::PATH.to_owned(), line: entry.at, wrong, instead })
}

fn unreadable(line: usize) -> Complaint {
    Complaint {
        path: allow::PATH.to_owned(),
        line,
        wrong: "this line is not an entry".to_owned(),
        instead: "write `PATH LINES # REASON` or `circle PATH FILES # REASON`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_with(allowed: &str, lines: usize, expect: &str) {
        let source = "\n".repeat(lines);
        let tree = Tree::of(&[("crates/wire/src/a.rs", &source), (allow::PATH, allowed)]);
        assert_eq!(printed(&check(&tree)), expect);
    }

    #[test]
    fn a_length_within_the_limit_passes() {
        check_with("", FILE_LINES, "");
    }

    #[test]
    fn a_new_long_file_is_named() {
        check_with(
            "",
            601,
            "crates/wire/src/a.rs:1: the file has 601 lines, the limit is 600; split it where a part has a name of \
             its own, or give the reason in chores/tidy.allow\n",
        );
    }

    #[test]
    fn a_listed_file_may_stay_and_not_grow() {
        check_with("crates/wire/src/a.rs 601 # a table\n", 601, "");
        check_with(
            "crates/wire/src/a.rs 610 # a table\n",
            611,
            "crates/wire/src/a.rs:1: the file grew from 610 to 611 lines, the limit is 600; listed files may only \
             shrink: move the new part out\n",
        );
    }

    #[test]
    fn entries_follow_what_shrank() {
        check_with(
            "crates/wire/src/a.rs 680 # a table\n",
            675,
            "chores/tidy.allow:1: this entry allows 680 lines; lower it to 675\n",
        );
        check_with(
            "crates/wire/src/a.rs 680 # a table\n",
            9,
            "chores/tidy.allow:1: this entry is not needed: 9 lines are within 600; delete it\n",
        );
        check_with(
            "crates/wire/src/b.rs 700 # a table\n",
            0,
            "chores/tidy.allow:1: this entry names nothing that exists; delete it\n",
        );
        check_with(
            "what is this for\n",
            0,
            "chores/tidy.allow:1: this line is not an entry; write `PATH LINES # REASON` or `circle PATH FILES # REASON`\n",
        );
    }
}
