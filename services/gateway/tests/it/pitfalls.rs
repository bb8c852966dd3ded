//! The README's tables of faults and pitfalls, which name a test for each.

use std::path::Path;

use peers::document::sources;

/// A row of a table must not name a test that was removed.
#[test]
fn every_test_that_the_readme_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let sources = ["src", "tests"].map(|folder| sources(&root.join(folder)).unwrap());
    let code: String = sources.into_iter().flatten().map(|(_, text)| text).collect();
    let mut named = 0;
    for title in ["## Faults, and their effect on the data", "## Pitfalls, and their tests"] {
        let table = readme.split(title).nth(1).unwrap().split("\n## ").next().unwrap();
        for row in table.lines().filter(|line| line.starts_with("| ")).skip(2) {
            let tests =
                row.split('`').filter(|word| word.len() > 20 && word.contains('_') && !word.contains(' '));
            let before = named;
            for test in tests {
                assert!(code.contains(&format!("fn {test}(")), "{test} in {row}");
                named += 1;
            }
            assert!(named > before, "{row}");
        }
    }
    assert!(named > 25, "{named}");
}
