//! Words and names that no tracked file may contain.

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

const UNFINISHED: &str = "finish it, or leave the feature out";
const MACHINE: &str = "write it relative to the root, or make a temporary folder";

// The paths are put together so that this file does not contain them.
const WORDS: &[Word] = &[
    Word { text: "todo!", place: In::Code, wrong: "unfinished work", instead: UNFINISHED },
    Word { text: "unimplemented!", place: In::Code, wrong: "unfinished work", instead: UNFINISHED },
    Word { text: "dbg!", place: In::Code, wrong: "left from debugging", instead: "delete it" },
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

/// Every forbidden word, and every module file of the old name.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = tree
        .sources
        .iter()
        .flat_map(|source| WORDS.iter().flat_map(|word| occurrences(source, word)))
        .collect();
    complaints.extend(tree.sources.iter().filter_map(old_module));
    complaints
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

fn old_module(source: &Source) -> Option<Complaint> {
    let folder = source.path.strip_suffix("/mod.rs")?;
    Some(Complaint {
        path: source.path.clone(),
        line: 1,
        wrong: "a module file named `mod.rs`".to_owned(),
        instead: format!("call it {folder}.rs"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_one(path: &str, text: &str, expect: &str) {
        assert_eq!(printed(&check(&Tree::of(&[(path, text)]))), expect, "of {path}: {text}");
    }

    #[test]
    fn unfinished_code_is_caught() {
        check_one(
            "crates/wire/src/a.rs",
            "fn f() {\n    todo!();\n    dbg!(unimplemented!())\n}\n#[ignore = \"slow\"]\nfn g() {}\n",
            "crates/wire/src/a.rs:2: `todo!` is unfinished work; finish it, or leave the feature out\n\
             crates/wire/src/a.rs:3: `unimplemented!` is unfinished work; finish it, or leave the feature out\n\
             crates/wire/src/a.rs:3: `dbg!` is left from debugging; delete it\n\
             crates/wire/src/a.rs:5: `#[ignore` is a test that is never run; make it fast and sure, or put the \
             long form behind `cargo xtask soak`\n",
        );
    }

    #[test]
    fn words_in_prose_and_strings_pass() {
        check_one("docs/style.md", "Never `todo!` or `dbg!`.", "");
        check_one("crates/wire/src/a.rs", "// no todo!()\nconst S: &str = \"dbg!\"; fn my_todo() {}", "");
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

    #[test]
    fn module_files_have_the_name_of_their_module() {
        check_one(
            "crates/wire/src/h2/mod.rs",
            "",
            "crates/wire/src/h2/mod.rs:1: a module file named `mod.rs`; call it crates/wire/src/h2.rs\n",
        );
        check_one("crates/wire/src/h2.rs", "", "");
    }
}
