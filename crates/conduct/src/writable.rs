//! Whether files can be written, found out before the load: a run must not be lost because its report has no place.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::Context as _;

use crate::failure::{CommandResult, Failure};

/// Check that each of these can be written, without changing or creating any. `-` is standard output.
pub fn require<'a>(paths: impl IntoIterator<Item = &'a Path>) -> CommandResult<()> {
    let mut files = paths.into_iter().filter(|path| *path != Path::new("-"));
    let unwritable = |path: &Path| {
        let folder = folder(path);
        let next = match folder.exists() {
            true => String::new(),
            false => format!(": there is no folder {0} (`mkdir -p {0}` makes it)", folder.display()),
        };
        format!("cannot write {}{next}; nothing was sent", path.display())
    };
    files.try_for_each(|path| check(path).with_context(|| unwritable(path))).map_err(Failure::usage)
}

/// Open the file, or where there is none make a nameless one in its folder, which also shows whether the disk has space
/// for a file. Nothing is left if a signal ends the process meanwhile.
fn check(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(found) if found.is_file() || found.is_dir() => opened(path).map(drop),
        // A pipe that is opened and closed has ended for its reader.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => tempfile::tempfile_in(folder(path)).map(drop),
        Err(error) => Err(error),
    }
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// The folder that a file is in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_can_be_written_is_neither_changed_nor_created() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "kept").unwrap();
        require([old.as_path(), new.as_path(), Path::new("-")]).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("none/report.html"), "x".repeat(300).into()]
        {
            let failure = require([path.as_path()]).unwrap_err();
            assert_eq!(failure.exit_code(), 2);
            let text = failure.text();
            assert!(text.contains(path.to_str().unwrap()), "{}", &*text);
        }
    }
}
