//! Inputs that are kept in the tree: those that once failed, and small ones that reach far.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Target;

/// The kept inputs of a parser, in the order of their names.
///
/// # Errors
/// When they cannot be read. A parser without a folder has none.
pub fn corpus(target: &Target) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(|path| fs::read(&path).map(|bytes| (path, bytes))).collect()
}
