//! Reads a plan with its files and changes to it.

use std::io::{self, ErrorKind};
use std::path::Path;

use plans::{Overrides, load};
use workload::nearest::nearest;
use workload::{Files, LoadedPlan};

use crate::environment::environment;
use crate::failure::{CommandResult, Failure};
use crate::file_kind::{self, FileKind};

/// The files of this machine.
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path).map_err(|error| {
            match similar(path).filter(|_| error.kind() == ErrorKind::NotFound) {
                Some(similar) => io::Error::new(
                    ErrorKind::NotFound,
                    format!("there is no such file; did you mean `{similar}`?"),
                ),
                None => error,
            }
        })
    }
}

/// The file beside `path` whose name is most like its own.
fn similar(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let name = path.file_name()?.to_string_lossy();
    nearest(&name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// The plan at `path`, resolved.
pub fn resolve(path: &Path, overrides: &Overrides) -> CommandResult<LoadedPlan> {
    file_kind::refuse_others(path, &[FileKind::Plan])?;
    load(path, &Disk, &environment, overrides).map_err(Failure::usage)
}
