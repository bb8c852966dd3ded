//! `plimsoll worker`: loops of a run that a coordinator conducts.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use cluster::RunKeys;
use conduct::failure::{CommandResult, Failure};
use conduct::worker::{StartedBy, secret_for, serve};

use crate::arguments::WorkerArguments;
use crate::script;

pub(crate) fn worker(arguments: &WorkerArguments) -> CommandResult<u8> {
    if let Some(path) = &arguments.make_keys {
        return make_keys(path);
    }
    if arguments.with_parent {
        end_with_parent().map_err(Failure::own)?;
    }
    let (keys, token_file) = (arguments.keys.as_deref(), arguments.token_file.as_deref());
    let secret = secret_for(&arguments.listen, keys, token_file)?;
    let started_by = if arguments.with_parent { StartedBy::Coordinator } else { StartedBy::User };
    serve(&arguments.listen, secret, started_by, script::served)
}

#[cfg(target_os = "linux")]
fn end_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// A run's worker ends with the connection to its coordinator anyway.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> io::Result<()> {
    Ok(())
}

fn make_keys(path: &Path) -> CommandResult<u8> {
    let keys = RunKeys::make().map_err(Failure::own)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(keys.as_bytes()));
    written.with_context(|| format!("{} cannot be written", path.display())).map_err(Failure::usage)?;
    Ok(0)
}
