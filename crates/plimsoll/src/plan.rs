//! Reads a plan with its files and the overrides of the command line.

use std::io;
use std::path::Path;

use plans::{Overrides, load};
use workload::{Files, LoadedPlan};

use crate::arguments::OverrideArguments;
use crate::environment::environment;
use crate::failure::{CommandResult, Failure};
use crate::file_kind::{self, FileKind};

/// The files of this machine.
pub(crate) struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

/// The plan at `path`, resolved.
pub(crate) fn resolve(path: &Path, arguments: &OverrideArguments) -> CommandResult<LoadedPlan> {
    file_kind::refuse_others(path, &[FileKind::Plan])?;
    load(path, &Disk, &environment, &overrides(arguments)).map_err(Failure::usage)
}

/// The changes that the command line asks for.
pub(crate) fn overrides(arguments: &OverrideArguments) -> Overrides {
    Overrides {
        targets: arguments.targets.iter().cloned().collect(),
        time_scale: arguments.time_scale,
        load: arguments.load,
        seed: arguments.seed,
        until_decided: arguments.until_decided,
        abort_on_fail: arguments.abort_on_fail,
    }
}
