//! Where the evidence of a run is kept: in a run file, or in a temporary one until it has been judged.

use std::path::{Path, PathBuf};

use anyhow::Context;
use archive::ArchiveError;
use evidence::Manifest;
use tempfile::TempDir;

use crate::failure::{CommandResult, Failure};

/// Which run file is kept.
#[derive(Clone, Copy)]
pub enum Keep<'a> {
    At(&'a Path),
    /// One named after the plan and the time.
    ByName,
    /// None.
    Nothing,
}

/// A run file. One that is not kept is deleted when this is dropped.
pub struct RunFile {
    path: PathBuf,
    folder: Option<TempDir>,
}

impl Keep<'_> {
    /// Before anything is sent: an existing run file is not overwritten, and a whole run is not lost because of it.
    pub fn refuse_existing(&self) -> CommandResult<()> {
        match self {
            Keep::At(path) if path.exists() => {
                Err(Failure::usage(ArchiveError::Exists { path: path.to_path_buf() }))
            }
            _ => Ok(()),
        }
    }

    /// The path of a file that stays, as far as it is known before the run.
    pub fn shown_path(&self) -> Option<&Path> {
        match self {
            Keep::At(path) => Some(path),
            Keep::ByName => Some(Path::new("*.plimsoll")),
            Keep::Nothing => None,
        }
    }

    /// The folder of a file that stays.
    pub fn folder(&self) -> &Path {
        match self {
            Keep::At(path) => path.parent().filter(|folder| !folder.as_os_str().is_empty()),
            Keep::ByName | Keep::Nothing => None,
        }
        .unwrap_or(Path::new("."))
    }

    /// The file of the run that `manifest` begins.
    pub fn file(&self, manifest: &Manifest) -> CommandResult<RunFile> {
        match self {
            Keep::At(path) => Ok(RunFile { path: path.to_path_buf(), folder: None }),
            Keep::ByName => {
                let path: PathBuf = archive::file_name(&manifest.name, &manifest.started_at).into();
                Ok(RunFile { path: unused(path), folder: None })
            }
            Keep::Nothing => {
                let folder = archive::private_folder(&std::env::temp_dir())
                    .context("no temporary folder for the evidence; name a file for it with `-o FILE`")
                    .map_err(Failure::own)?;
                Ok(RunFile { path: folder.path().join("run.plimsoll"), folder: Some(folder) })
            }
        }
    }
}

/// The path, or where a run of the same name began in the same second, the first with a number that is not there.
fn unused(path: PathBuf) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (2..).map(|number| path.with_file_name(format!("{stem}-{number}.{ending}")));
    std::iter::once(path.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(path.clone())
}

impl RunFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path, if it stays.
    pub fn kept(&self) -> Option<&Path> {
        self.folder.is_none().then_some(self.path.as_path())
    }
}
