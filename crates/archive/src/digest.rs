//! The SHA-256 digest of a run's evidence: a function of the rows alone, not of how SQLite lays them out.
//!
//! Each text and blob goes in with its length and each value with its type, so that no two different runs
//! give the same bytes.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sha2::{Digest, Sha256};

use crate::schema::{self, DIGEST_TABLES};

/// The digest of the evidence tables, hexadecimal.
pub(crate) fn of(connection: &Connection) -> rusqlite::Result<String> {
    let mut digest = Sha256::new();
    let version = schema::version(connection)?;
    for (table, order, columns) in DIGEST_TABLES.into_iter().filter(|(table, ..)| schema::has(version, table))
    {
        add(&mut digest, b't', table.as_bytes());
        let [columns, order] = [columns, order].map(|text| schema::as_of(version, table, text));
        let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table} ORDER BY {order}"))?;
        let width = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            add_row(&mut digest, row, width)?;
        }
    }
    Ok(hex::encode(digest.finalize()))
}

fn add_row(digest: &mut Sha256, row: &Row<'_>, width: usize) -> rusqlite::Result<()> {
    digest.update(b"r");
    for column in 0..width {
        match row.get_ref(column)? {
            ValueRef::Null => digest.update(b"n"),
            ValueRef::Integer(value) => add_number(digest, b'i', value.to_be_bytes()),
            ValueRef::Real(value) => add_number(digest, b'f', value.to_be_bytes()),
            ValueRef::Text(bytes) => add(digest, b's', bytes),
            ValueRef::Blob(bytes) => add(digest, b'b', bytes),
        }
    }
    Ok(())
}

fn add_number(digest: &mut Sha256, kind: u8, bytes: [u8; 8]) {
    digest.update([kind]);
    digest.update(bytes);
}

fn add(digest: &mut Sha256, kind: u8, bytes: &[u8]) {
    add_number(digest, kind, (bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}
