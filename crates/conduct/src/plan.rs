//! Reads a plan with its files and changes to it.

use std::io;
use std::path::Path;

use plans::{Overrides, load};
use workload::{Files, LoadedPlan};

use crate::environment::environment;
use crate::failure::{CommandResult, Failure};
use crate::file_kind::{self, FileKind};

/// The files of this machine.
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

/// The plan at `path`, resolved.
pub fn resolve(path: &Path, overrides: &Overrides) -> CommandResult<LoadedPlan> {
    file_kind::refuse_others(path, &[FileKind::Plan])?;
    load(path, &Disk, &environment, overrides).map_err(Failure::usage)
}
