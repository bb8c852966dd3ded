//! What is written beside the code, compared with it.

use std::path::Path;

/// Asserts that a document has each of these texts, however its lines are broken.
pub fn assert_says<'a>(document: &str, texts: impl IntoIterator<Item = &'a str>) {
    let document = document.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in texts {
        assert!(document.contains(text), "{text}");
    }
}

/// Asserts that a section of a document in `docs/` is this text; with `WRITE_DOCS` set, writes it.
pub fn assert_section(document: &str, name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    assert_eq!(peers::document::section(&file, name, text).unwrap(), text);
}

/// The head of a table, and its rule.
pub fn table_head(first: &str, columns: &[&str]) -> String {
    format!("| {first} | {} |\n| --- {}|\n", columns.join(" | "), "| --- ".repeat(columns.len()))
}

/// Asserts that these routes are all that the sources have.
pub fn assert_routes(sources: &[&str], tried: &[&str]) {
    let routes = sources.iter().flat_map(|source| source.split(".route(").skip(1));
    let mut routes: Vec<&str> = routes.map(|rest| rest.split('"').nth(1).unwrap()).collect();
    let mut tried = tried.to_vec();
    routes.sort_unstable();
    tried.sort_unstable();
    assert_eq!(routes, tried);
}
