//! Files of at most 600 lines and functions of at most 70, except the shrinking list of older ones.

use super::allow::{self, Entry, Subject};
use super::complaint::Complaint;
use super::functions::functions;
use super::tree::{Source, Tree};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;

/// Something that has a length.
struct Measured {
    subject: Subject,
    lines: usize,
    at: usize,
}

impl Measured {
    fn limit(&self) -> usize {
        if self.subject.function.is_some() { FUNCTION_LINES } else { FILE_LINES }
    }
}

/// Compares every length with its limit, or with what the list grants it.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let entries = match allow::parse(tree.text(allow::PATH).unwrap_or("")) {
        Ok(entries) => entries,
        Err(line) => return vec![unreadable(line)],
    };
    let measured: Vec<Measured> = tree.sources.iter().flat_map(measure).collect();
    let mut complaints: Vec<Complaint> =
        measured.iter().filter_map(|measured| too_long(measured, &entries)).collect();
    complaints.extend(entries.iter().filter_map(|entry| outdated(entry, &measured)));
    complaints
}

/// The file and its functions; of functions with one name the longest stands for all.
fn measure(source: &Source) -> Vec<Measured> {
    let Some(code) = &source.code else { return Vec::new() };
    let subject = |function| Subject { path: source.path.clone(), function };
    let mut measured = vec![Measured { subject: subject(None), lines: source.text.lines().count(), at: 1 }];
    for function in functions(&code.masked) {
        let subject = subject(Some(function.name));
        let at = source.line_at(function.offset);
        match measured.iter_mut().find(|other| other.subject == subject) {
            Some(other) if other.lines < function.lines => (other.lines, other.at) = (function.lines, at),
            Some(_) => {}
            None => measured.push(Measured { subject, lines: function.lines, at }),
        }
    }
    measured
}

fn too_long(measured: &Measured, entries: &[Entry]) -> Option<Complaint> {
    let limit = measured.limit();
    if measured.lines <= limit {
        return None;
    }
    let what = match &measured.subject.function {
        Some(function) => format!("function `{function}`"),
        None => "file".to_owned(),
    };
    let lines = measured.lines;
    let (wrong, instead) = match entries.iter().find(|entry| entry.subject == measured.subject) {
        None => (
            format!("{what} has {lines} lines, the limit is {limit}"),
            format!("split it where a part has a name of its own, or give the reason in {}", allow::PATH),
        ),
        Some(entry) if lines > entry.lines => (
            format!("{what} grew from {} to {lines} lines, the limit is {limit}", entry.lines),
            "old long ones may only shrink: move the new part out".to_owned(),
        ),
        Some(_) => return None,
    };
    Some(Complaint { path: measured.subject.path.clone(), line: measured.at, wrong, instead })
}

fn outdated(entry: &Entry, measured: &[Measured]) -> Option<Complaint> {
    let now = measured.iter().find(|measured| measured.subject == entry.subject);
    let (wrong, instead) = match now {
        None => ("this entry names nothing that exists".to_owned(), "delete it".to_owned()),
        Some(now) if now.lines <= now.limit() => (
            format!("this entry is not needed: {} lines are within {}", now.lines, now.limit()),
            "delete it".to_owned(),
        ),
        Some(now) if now.lines < entry.lines => {
            (format!("this entry grants {} lines", entry.lines), format!("lower it to {}", now.lines))
        }
        Some(_) => return None,
    };
    Some(Complaint { path: allow::PATH.to_owned(), line: entry.at, wrong, instead })
}

fn unreadable(line: usize) -> Complaint {
    Complaint {
        path: allow::PATH.to_owned(),
        line,
        wrong: "this line is no entry".to_owned(),
        instead: "write `PATH LINES` or `PATH FUNCTION LINES`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn long() {{{}}}\n", "\n".repeat(lines - 1))
    }

    fn check_with(allowed: &str, source: &str, expect: &str) {
        let tree = Tree::of(&[("crates/wire/src/a.rs", source), (allow::PATH, allowed)]);
        assert_eq!(printed(&check(&tree)), expect);
    }

    #[test]
    fn lengths_within_the_limit_pass() {
        check_with("", &function(FUNCTION_LINES), "");
        check_with("", &"\n".repeat(FILE_LINES), "");
    }

    #[test]
    fn a_new_long_function_is_named() {
        check_with(
            "",
            &format!("\n{}", function(71)),
            "crates/wire/src/a.rs:2: function `long` has 71 lines, the limit is 70; split it where a part has a \
             name of its own, or give the reason in xtask/tidy.allow\n",
        );
    }

    #[test]
    fn a_new_long_file_is_named() {
        check_with(
            "",
            &"\n".repeat(601),
            "crates/wire/src/a.rs:1: file has 601 lines, the limit is 600; split it where a part has a name of \
             its own, or give the reason in xtask/tidy.allow\n",
        );
    }

    #[test]
    fn a_listed_one_may_stay_and_not_grow() {
        check_with("crates/wire/src/a.rs long 80\n", &function(80), "");
        check_with("crates/wire/src/a.rs 601\n", &"\n".repeat(601), "");
        check_with(
            "crates/wire/src/a.rs long 80\n",
            &function(81),
            "crates/wire/src/a.rs:1: function `long` grew from 80 to 81 lines, the limit is 70; old long ones \
             may only shrink: move the new part out\n",
        );
    }

    #[test]
    fn entries_follow_what_shrank() {
        check_with(
            "crates/wire/src/a.rs long 80\n",
            &function(75),
            "xtask/tidy.allow:1: this entry grants 80 lines; lower it to 75\n",
        );
        check_with(
            "crates/wire/src/a.rs long 80\n",
            &function(9),
            "xtask/tidy.allow:1: this entry is not needed: 9 lines are within 70; delete it\n",
        );
        check_with(
            "crates/wire/src/b.rs 700\n",
            "",
            "xtask/tidy.allow:1: this entry names nothing that exists; delete it\n",
        );
        check_with(
            "what is this for\n",
            "",
            "xtask/tidy.allow:1: this line is no entry; write `PATH LINES` or `PATH FUNCTION LINES`\n",
        );
    }

    #[test]
    fn the_longest_of_one_name_counts() {
        check_with("crates/wire/src/a.rs long 80\n", &format!("{}{}", function(3), function(80)), "");
    }
}
