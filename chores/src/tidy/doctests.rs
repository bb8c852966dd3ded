//! Examples in documentation are compiled and run: a crate whose manifest switches that off has none.
//!
//! rustdoc takes seconds for each library, so the libraries without examples say `doctest = false`.

use super::complaint::Complaint;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let manifests = tree.sources.iter().filter_map(|source| {
        let folder = source.path.strip_suffix("Cargo.toml")?;
        source.text.contains("doctest = false").then_some(folder)
    });
    let folders: Vec<&str> = manifests.collect();
    let mut complaints = Vec::new();
    for source in tree.sources.iter().filter(|source| source.path.ends_with(".rs")) {
        let Some(folder) = folders.iter().find(|folder| source.path.starts_with(&format!("{folder}src/")))
        else {
            continue;
        };
        if let Some(line) = first_example(&source.text) {
            complaints.push(Complaint {
                path: source.path.clone(),
                line,
                wrong: "this example does not run".to_owned(),
                instead: format!("delete `doctest = false` from {folder}Cargo.toml"),
            });
        }
    }
    complaints
}

/// The line, counted from 1, where the first example that rustdoc would run begins.
fn first_example(text: &str) -> Option<usize> {
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
        let Some(language) = doc.trim().strip_prefix("```") else { continue };
        if !is_open && (language.is_empty() || ["rust", "should_panic", "no_run"].contains(&language)) {
            return Some(index + 1);
        }
        is_open = !is_open;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_tree(manifest: &str, source: &str, expect: &str) {
        let tree = Tree::of(&[("crates/a/Cargo.toml", manifest), ("crates/a/src/lib.rs", source)]);
        assert_eq!(printed(&check(&tree)), expect);
    }

    #[test]
    fn an_example_that_does_not_run_is_named() {
        let off = "[lib]\ndoctest = false\n";
        let example =
            "//! A crate.\n\n/// ```text\n/// no code\n/// ```\n/// ```\n/// f();\n/// ```\nfn f() {}\n";
        check_tree(
            off,
            example,
            "crates/a/src/lib.rs:6: this example does not run; delete `doctest = false` from crates/a/Cargo.toml\n",
        );
        check_tree("[package]\n", example, "");
        check_tree(off, "/// ```text\n/// no code\n/// ```\nfn f() {}\n", "");
    }
}
