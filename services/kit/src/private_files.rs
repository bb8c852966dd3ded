//! Files and folders that only the service's user may use, whatever the umask. Those that are there already keep their
//! mode: an operator may have shared them on purpose.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

/// Opens a file to write it, and creates it with mode 0600 when it is missing. Its content stays.
///
/// # Errors
/// Whatever the file system says.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Creates a folder, and those above it, with mode 0700 where they are missing.
///
/// # Errors
/// Whatever the file system says.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A temporary folder that only the service's user may enter; removed when this is dropped.
///
/// # Errors
/// Whatever the file system says.
pub fn temporary_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir()
}
