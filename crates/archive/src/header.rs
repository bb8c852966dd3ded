//! The first hundred bytes of a file: whether it is a run file, and of which schema version.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use evidence::manifest::SCHEMA_VERSION;

use crate::error::{ArchiveError, READ};
use crate::schema::APPLICATION_ID;

/// That the file at `path` is a run file of a version that is known.
pub(crate) fn readable_version(path: &Path) -> Result<(), ArchiveError> {
    let found = version_in_header(path)?;
    if found > SCHEMA_VERSION {
        let path = path.to_owned();
        return Err(ArchiveError::NewerSchema { path, found, supported: SCHEMA_VERSION });
    }
    Ok(())
}

/// The schema version of the run file at `path`, from its first hundred bytes: SQLite is not asked before
/// it is known to be ours.
pub(crate) fn version_in_header(path: &Path) -> Result<u32, ArchiveError> {
    let fail = |error| ArchiveError::io(path, READ, error);
    let foreign = |why: &str| Err(ArchiveError::NotAnArchive { path: path.to_owned(), why: why.to_owned() });
    let file_type = std::fs::metadata(path).map_err(fail)?.file_type();
    if !file_type.is_file() {
        return foreign(if file_type.is_dir() { "it is a folder" } else { "it is not a regular file" });
    }
    let mut header = Vec::with_capacity(100);
    File::open(path).map_err(fail)?.take(100).read_to_end(&mut header).map_err(fail)?;
    if header.is_empty() {
        return foreign("it is empty");
    }
    let word = |at: usize| header.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    match (header.starts_with(b"SQLite format 3\0"), word(68), word(60)) {
        (true, Some(APPLICATION_ID), Some(version)) => Ok(version),
        (true, _, _) => foreign("it is an SQLite database of another program"),
        _ => foreign("it is a file of another kind"),
    }
}
