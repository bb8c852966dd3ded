//! Words that no tracked file may contain. Unfinished code is found by lints of clippy (`todo`, `unimplemented`, `dbg_macro`).

use super::complaint::Complaint;
use super::tree::{Source, Tree};

/// Where a word counts.
enum In {
    /// Rust code without its comments and literals.
    Code,
    /// Any text, where it starts a path: not in the middle of a longer one.
    Path,
}

struct Word {
    text: &'static str,
    place: In,
    wrong: &'static str,
    instead: &'static str,
}

const MACHINE: &str = "write it relative to the root, or make a temporary folder";

// The paths are put together so that this file does not contain them.
const WORDS: &[Word] = &[
    Word {
        text: "#[ignore",
        place: In::Code,
        wrong: "a test that is never run",
        instead: "make it fast and sure, or put the long form behind `cargo xtask soak`",
    },
    Word { text: concat!("/wo", "rk/"), place: In::Path, wrong: "a path of one machine", instead: MACHINE },
    Word { text: concat!("/ro", "ot/"), place: In::Path, wrong: "a path of one machine", instead: MACHINE },
    Word { text: concat!("/ho", "me/"), place: In::Path, wrong: "a path of one machine", instead: MACHINE },
];

/// Every forbidden word.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    tree.sources.iter().flat_map(|source| WORDS.iter().flat_map(|word| occurrences(source, word))).collect()
}

fn occurrences(source: &Source, word: &Word) -> Vec<Complaint> {
    let found: Vec<usize> = match (&word.place, &source.code) {
        (In::Code, Some(code)) => code.find(word.text).collect(),
        (In::Code, None) => Vec::new(),
        (In::Path, _) => source.text.match_indices(word.text).map(|(at, _)| at).collect(),
    };
    let starts = |at: usize| match (&word.place, source.text.as_bytes()[..at].last()) {
        (In::Path, Some(before)) => !(before.is_ascii_alphanumeric() || b"_-.})".contains(before)),
        _ => true,
    };
    found
        .into_iter()
        .filter(|&at| starts(at))
        .map(|at| Complaint {
            path: source.path.clone(),
            line: source.line_at(at),
            wrong: format!("`{}` is {}", word.text, word.wrong),
            instead: word.instead.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_one(path: &str, text: &str, expect: &str) {
        assert_eq!(printed(&check(&Tree::of(&[(path, text)]))), expect, "of {path}: {text}");
    }

    #[test]
    fn a_test_that_is_never_run_is_caught() {
        check_one(
            "crates/wire/src/a.rs",
            "#[ignore = \"slow\"]\nfn g() {}\n",
            "crates/wire/src/a.rs:1: `#[ignore` is a test that is never run; make it fast and sure, or put the \
             long form behind `cargo xtask soak`\n",
        );
    }

    #[test]
    fn words_in_prose_and_strings_pass() {
        check_one("docs/style.md", "Never `#[ignore]`.", "");
        check_one("crates/wire/src/a.rs", "// no #[ignore]\nconst S: &str = \"#[ignore]\";", "");
        check_one("docs/kube.md", concat!("see https://example.com/ho", "me/page and ./wo", "rk/x"), "");
    }

    #[test]
    fn paths_of_one_machine_are_caught_in_any_text() {
        check_one(
            "docs/run.md",
            concat!("first\nsee `/ho", "me/me/x`\n"),
            concat!(
                "docs/run.md:2: `/ho",
                "me/` is a path of one machine; write it relative to the root, or make a temporary folder\n"
            ),
        );
    }
}
