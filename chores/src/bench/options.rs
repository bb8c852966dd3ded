//! What the options of several benchmarks share.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// Whether a measurement is among those that are selected by name; none means all.
pub(super) fn is_selected(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|selected| selected == name)
}

/// The program at this path, absolute because benchmarks run it in a folder of their own.
///
/// # Errors
/// When there is none.
pub(super) fn program(path: &str) -> Result<PathBuf> {
    std::fs::canonicalize(path).with_context(|| format!("cannot find the program `{path}`"))
}
