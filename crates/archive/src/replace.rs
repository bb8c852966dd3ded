//! What becomes of a run file that another replaces.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::ArchiveError;
use crate::beside::beside;
use crate::header::version_in_header;

/// A run file, and what SQLite keeps beside one.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Remove a run file with what SQLite keeps beside it; nothing else is ever removed.
///
/// # Errors
/// [`ArchiveError::NotAnArchive`] when the file is something else, or whatever the file system says.
pub fn remove(path: &Path) -> Result<(), ArchiveError> {
    if is_something(path)? {
        version_in_header(path)?;
    }
    each(path, fs::remove_file)
}

/// Move a run file with what SQLite keeps beside it to [`aside`], in place of one that was moved there before. A file that is
/// not there is none.
///
/// # Errors
/// As [`remove`].
pub fn set_aside(path: &Path) -> Result<(), ArchiveError> {
    if !is_something(path)? {
        return Ok(());
    }
    version_in_header(path)?;
    let aside = aside(path);
    remove(&aside)?;
    SUFFIXES
        .iter()
        .try_for_each(|suffix| ignore_absent(path, fs::rename(beside(path, suffix), beside(&aside, suffix))))
}

/// Where a run file is after it was set aside.
pub fn aside(path: &Path) -> PathBuf {
    beside(path, ".previous")
}

/// Whether there is a file with anything in it.
fn is_something(path: &Path) -> Result<bool, ArchiveError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(ArchiveError::io(path, "replace", error)),
        Ok(found) => Ok(!found.is_file() || found.len() > 0),
    }
}

fn each(path: &Path, act: impl Fn(PathBuf) -> std::io::Result<()>) -> Result<(), ArchiveError> {
    SUFFIXES.iter().try_for_each(|suffix| ignore_absent(path, act(beside(path, suffix))))
}

fn ignore_absent(path: &Path, done: std::io::Result<()>) -> Result<(), ArchiveError> {
    match done {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ArchiveError::io(path, "replace", error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_file_is_set_aside_whole_and_what_is_none_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        set_aside(&path).unwrap();
        fs::write(&path, "notes").unwrap();
        assert!(set_aside(&path).is_err() && path.exists(), "it is no run file");
        let version_1 = include_bytes!("../tests/files/version-1.plimsoll");
        fs::write(&path, version_1).unwrap();
        fs::write(beside(&path, "-wal"), "log").unwrap();
        fs::write(aside(&path), version_1).unwrap();
        set_aside(&path).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["run.plimsoll.previous", "run.plimsoll.previous-wal"]);
    }
}
