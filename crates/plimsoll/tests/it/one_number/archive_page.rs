//! The queries of `docs/archive.md`, as they are printed there, and the numbers of the report that each gives.

mod equal;

use rusqlite::Connection;
use rusqlite::types::Value as Cell;

pub(super) use equal::disagreements;

const PAGE: &str = include_str!("../../../../../docs/archive.md");

/// A query of the page, and what it found in a run file.
pub(super) struct Answered {
    pub(super) query: &'static str,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// The page's queries: its blocks of SQL, and the one that it gives to `sqlite3`.
fn queries() -> Vec<&'static str> {
    let blocks = PAGE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let on_the_command_line = PAGE.split("```sh\n").skip(1).map(|rest| rest.split('"').nth(1).unwrap());
    on_the_command_line.chain(blocks).collect()
}

/// What each query of the page finds in a run file.
pub(super) fn answered(file: &Connection) -> Vec<Answered> {
    let answer = |query: &'static str| {
        let mut statement = file.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        let rows = statement.query_map([], row).unwrap();
        Answered { query, rows: rows.map(Result::unwrap).collect() }
    };
    queries().into_iter().map(answer).collect()
}
