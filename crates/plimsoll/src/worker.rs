//! `plimsoll worker`: loops of a run that a coordinator conducts.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use cluster::RunKeys;
use conduct::failure::{CommandResult, Failure};
use conduct::screen::note;
use conduct::signals::Listener;
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
    // A worker that ends by a signal says so.
    let _listener = (!arguments.with_parent).then(Listener::of_worker).transpose()?;
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
    let path = path.display();
    let written = file.and_then(|mut file| file.write_all(keys.as_bytes()));
    let advice = match &written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            ": workers may have these keys; name another file, or remove this one first"
        }
        _ => "",
    };
    written.with_context(|| format!("{path} cannot be written{advice}")).map_err(Failure::usage)?;
    note(format_args!("made {path}, keys for one run, readable by you only: copy it to each machine, then"));
    note(format_args!("  plimsoll worker --listen 0.0.0.0:7400 --keys {path}"));
    note(format_args!("  plimsoll run PLAN --worker HOST:7400 --worker-keys {path}"));
    Ok(0)
}
