//! `docs/archive.md` and the tables say the same, and its queries run.

use archive::{APPLICATION_ID, TABLES, append_judgement};
use evidence::{Figure, Finding, Judgement, RuleId, Scope, Severity, Verdict};
use rusqlite::Connection;

use crate::sample::write_sealed;

const DOCS: &str = include_str!("../../../../docs/archive.md");

/// The content of each code block of `language`.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    DOCS.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn judgement() -> Judgement {
    let finding = Finding {
        rule: RuleId::Q1,
        title: "too-few-samples".to_owned(),
        severity: Severity::Caution,
        scope: Scope::default(),
        what: "few".to_owned(),
        figures: vec![Figure::new("requests", 30.0, "1")],
        affects: Vec::new(),
        why: String::new(),
        next: String::new(),
    };
    let (verdict, because) = (Verdict::Measured, "nothing was asked".to_owned());
    Judgement {
        rules_version: 1,
        verdict,
        because,
        assumes: None,
        claims: Vec::new(),
        findings: vec![finding],
    }
}

#[test]
fn every_query_runs_and_finds_something() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.plimsoll");
    write_sealed(&path, 3);
    append_judgement(&path, &judgement(), "2026-11-21T10:13:00Z").unwrap();
    let connection = Connection::open(&path).unwrap();
    let queries = blocks("sql");
    assert!(queries.len() >= 10, "only {} queries", queries.len());
    for query in queries {
        let mut statement = connection.prepare(query).unwrap_or_else(|e| panic!("{query}: {e}"));
        let mut rows = statement.query([]).unwrap();
        assert!(rows.next().unwrap_or_else(|e| panic!("{query}: {e}")).is_some(), "{query} finds nothing");
    }
}

#[test]
fn every_table_and_column_is_described() {
    assert!(DOCS.contains(&format!("{APPLICATION_ID:#x}")));
    let connection = Connection::open_in_memory().unwrap();
    for (table, statement) in TABLES {
        connection.execute_batch(statement).unwrap();
        let heading = format!("\n### `{table}`\n");
        let (_, section) = DOCS.split_once(&heading).unwrap_or_else(|| panic!("{table} is not described"));
        let section = section.split("\n### ").next().unwrap();
        let mut columns = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)").unwrap();
        for column in columns.query_map([table], |row| row.get::<_, String>(0)).unwrap() {
            let column = column.unwrap();
            assert!(section.contains(&format!("| `{column}` |")), "{table}.{column} is not described");
        }
    }
}
