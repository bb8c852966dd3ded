//! A program that was built without Redis watches no such server.

use std::io;
use std::time::Duration;

use crate::lean::refused;
use crate::observer::Observer;

/// Watches a server of Redis, which this program cannot.
///
/// # Errors
/// Always.
pub fn redis(_: &str, _: &str, _: Duration) -> io::Result<Box<dyn Observer>> {
    Err(refused("observers of Redis"))
}
