//! Files and folders that only their owner may use, whatever the umask: evidence may contain what was sent and received.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::{Builder, TempDir};

/// Create a file, which must not be there yet.
///
/// # Errors
/// Whatever the file system says.
pub fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Create a temporary folder in `parent`; it goes away when this is dropped.
///
/// # Errors
/// Whatever the file system says.
pub fn private_folder(parent: &Path) -> io::Result<TempDir> {
    Builder::new().prefix("plimsoll-").permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
}
