//! Errors that are texts: how many functions return a `Result` with a `String` as its error may only become fewer.

use super::allow::{self, Subject};
use super::complaint::Complaint;
use super::tree::Tree;

/// Compares the number in production code with the one that the list allows.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    // An unreadable list is reported by the rule about lengths.
    let entries = allow::parse(tree.text(allow::PATH).unwrap_or("")).unwrap_or_default();
    let entry = entries.iter().find(|entry| entry.subject == Subject::StringErrors);
    let (limit, line) = entry.map_or((0, 1), |entry| (entry.limit, entry.at));
    let found: usize = tree.sources.iter().filter(|source| is_production(&source.path)).map(count).sum();
    let (wrong, instead) = match found {
        found if found > limit => (
            format!("{found} functions return a text as their error, {limit} may"),
            "return a typed error (`thiserror`)".to_owned(),
        ),
        found if found < limit => {
            (format!("this entry allows {limit} errors that are texts"), format!("lower it to {found}"))
        }
        _ => return Vec::new(),
    };
    vec![Complaint { path: allow::PATH.to_owned(), line, wrong, instead }]
}

fn is_production(path: &str) -> bool {
    (path.starts_with("crates/") || path.starts_with("services/"))
        && path.contains("/src/")
        && !path.contains("/tests/")
        && !path.ends_with("/tests.rs")
}

fn count(source: &super::tree::Source) -> usize {
    let Some(code) = &source.code else { return 0 };
    let text = code.without_tests();
    text.match_indices("Result<").filter(|(at, name)| error_is_string(&text[at + name.len()..])).count()
}

/// Whether the last argument of the type whose arguments begin here is `String`.
fn error_is_string(arguments: &str) -> bool {
    let (mut depth, mut last) = (0_i32, 0);
    for (at, character) in arguments.char_indices() {
        match character {
            '<' | '(' | '[' => depth += 1,
            // The arrow of a function's type closes nothing.
            '>' if arguments[..at].ends_with('-') => {}
            '>' if depth == 0 => return last > 0 && arguments[last..at].trim() == "String",
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => last = at + 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    const FILES: [(&str, &str); 3] = [
        (
            "crates/a/src/lib.rs",
            "fn one() -> Result<Vec<(u8, String)>, String> {}\nfn two() -> Result<String> {}",
        ),
        ("crates/a/src/tests.rs", "fn three() -> Result<(), String> {}"),
        (
            "services/b/src/c.rs",
            "type F = fn() -> Result<String, Error>;\nfn four() -> Result<Box<dyn Fn() -> u8>, String> {}",
        ),
    ];

    fn check_with(allowed: &str, expect: &str) {
        let files: Vec<_> = FILES.into_iter().chain([(allow::PATH, allowed)]).collect();
        assert_eq!(printed(&check(&Tree::of(&files))), expect);
    }

    #[test]
    fn the_number_may_fall_and_not_rise() {
        check_with("string-errors 2 # older ones\n", "");
        check_with(
            "string-errors 1 # older ones\n",
            "chores/tidy.allow:1: 2 functions return a text as their error, 1 may; return a typed error (`thiserror`)\n",
        );
        check_with(
            "string-errors 3 # older ones\n",
            "chores/tidy.allow:1: this entry allows 3 errors that are texts; lower it to 2\n",
        );
    }
}
