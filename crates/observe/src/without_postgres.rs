//! A program that was built without PostgreSQL watches no such server.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::lean::refused;
use crate::observer::Observer;

const POSTGRES: &str = "observers of PostgreSQL";

/// Watches a server of PostgreSQL, which this program cannot.
///
/// # Errors
/// Always.
pub fn postgres(_: &str, _: &str, _: &[String], _: Duration) -> io::Result<Box<dyn Observer>> {
    Err(refused(POSTGRES))
}

/// Identifies a server of PostgreSQL, which this program cannot.
///
/// # Errors
/// Always.
pub fn identify_postgres(_url: &str) -> Result<BTreeMap<String, String>, String> {
    Err(refused(POSTGRES).to_string())
}
