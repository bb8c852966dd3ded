//! Where the evidence of a run is kept; for one that nobody wants to keep, only until it has been judged.

use std::path::{Path, PathBuf};

use anyhow::Context;
use archive::ArchiveError;
use evidence::Manifest;
use tempfile::TempDir;

use crate::failure::{Failure, Outcome};

/// Which run file is kept.
#[derive(Clone, Copy)]
pub(crate) enum Keep<'a> {
    /// This one.
    At(&'a Path),
    /// One named after the plan and the time.
    ByName,
    /// None.
    Nothing,
}

/// A run file. One that is not kept is gone when this is dropped.
pub(crate) struct RunFile {
    path: PathBuf,
    folder: Option<TempDir>,
}

impl Keep<'_> {
    /// Before anything is sent: a run file of this name is not to be lost, nor the work of a whole run.
    pub(crate) fn refuse_existing(&self) -> Outcome<()> {
        match self {
            Keep::At(path) if path.exists() => {
                Err(Failure::usage(ArchiveError::Exists { path: path.to_path_buf() }))
            }
            _ => Ok(()),
        }
    }

    /// The folder of a file that stays.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Keep::At(path) => path.parent().filter(|folder| !folder.as_os_str().is_empty()),
            Keep::ByName | Keep::Nothing => None,
        }
        .unwrap_or(Path::new("."))
    }

    /// The file of the run that `manifest` begins.
    pub(crate) fn file(&self, manifest: &Manifest) -> Outcome<RunFile> {
        match self {
            Keep::At(path) => Ok(RunFile { path: path.to_path_buf(), folder: None }),
            Keep::ByName => {
                let path = archive::file_name(&manifest.name, &manifest.started_at).into();
                Ok(RunFile { path, folder: None })
            }
            Keep::Nothing => {
                let folder = tempfile::Builder::new().prefix("plimsoll-").tempdir();
                let folder = folder
                    .context(
                        "no folder for the evidence until it is judged; say with `-o FILE` where it may lie",
                    )
                    .map_err(Failure::own)?;
                Ok(RunFile { path: folder.path().join("run.plimsoll"), folder: Some(folder) })
            }
        }
    }
}

impl RunFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its path, if it stays.
    pub(crate) fn kept(&self) -> Option<&Path> {
        self.folder.is_none().then_some(self.path.as_path())
    }
}
