//! How files are read. This crate opens none itself.

use std::io;
use std::path::Path;

/// Reads files for a plan.
pub trait Files {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// The reader's I/O error.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}
