//! Where the evidence of a run is kept: in a run file, or in a temporary one until it has been judged.

use std::path::{Path, PathBuf};

use anyhow::Context;
use archive::ArchiveError;
use evidence::Manifest;
use tempfile::TempDir;

use crate::failure::{CommandResult, Failure};

/// Which run file is kept.
#[derive(Clone, Copy)]
pub enum RunFilePolicy<'a> {
    At(&'a Path),
    /// One named after the plan and the time.
    ByName,
    /// None.
    Temporary,
}

/// A run file. One that is not kept is deleted when this is dropped.
pub struct RunFile {
    path: PathBuf,
    folder: Option<TempDir>,
}

impl RunFilePolicy<'_> {
    /// Before anything is sent: an existing run file is not overwritten, and a whole run is not lost because of it.
    pub fn refuse_existing(&self) -> CommandResult<()> {
        match self {
            RunFilePolicy::At(path) if path.exists() => {
                Err(Failure::usage(ArchiveError::Exists { path: path.to_path_buf() }))
            }
            _ => Ok(()),
        }
    }

    /// The path of a file that stays, as far as it is known before the run.
    pub fn shown_path(&self) -> Option<&Path> {
        match self {
            RunFilePolicy::At(path) => Some(path),
            RunFilePolicy::ByName => Some(Path::new("*.plimsoll")),
            RunFilePolicy::Temporary => None,
        }
    }

    /// The folder of a file that stays.
    pub fn folder(&self) -> &Path {
        match self {
            RunFilePolicy::At(path) => path.parent().filter(|folder| !folder.as_os_str().is_empty()),
            RunFilePolicy::ByName | RunFilePolicy::Temporary => None,
        }
        .unwrap_or(Path::new("."))
    }

    /// The file of the run that `manifest` begins.
    pub fn file(&self, manifest: &Manifest) -> CommandResult<RunFile> {
        match self {
            RunFilePolicy::At(path) => Ok(RunFile { path: path.to_path_buf(), folder: None }),
            RunFilePolicy::ByName => {
                let path: PathBuf = archive::file_name(&manifest.name, &manifest.started_at).into();
                Ok(RunFile { path: unused(path), folder: None })
            }
            RunFilePolicy::Temporary => {
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
