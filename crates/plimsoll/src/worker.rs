//! `plimsoll worker`: loops of a run that a coordinator conducts.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use cluster::{ClusterError, Listening, RunKeys, Session, WorkerIdentity};
use engine::{Control, Loops, Program, RunOptions};
use evidence::TerminalText;
use observe::{Host, Observer, OwnProcess, Watch};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::arguments::WorkerArguments;
use crate::failure::{CommandResult, Failure};
use crate::manifest::workload_digest;
use crate::workers::{LISTENING, VERSION, received_plan, secret};
use crate::{outputs, prepare, reflection, screen};

/// Between two looks at virtual users that are being made.
const MADE_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn worker(arguments: &WorkerArguments) -> CommandResult<u8> {
    if let Some(path) = &arguments.make_keys {
        return make_keys(path);
    }
    if arguments.with_parent {
        set_parent_process_death_signal(Some(Signal::TERM)).map_err(Failure::own)?;
    }
    let secret = secret(arguments.keys.as_deref(), arguments.token_file.as_deref())?;
    let listening = Listening::bind(&arguments.listen, secret, VERSION);
    let listening = listening.with_context(|| arguments.listen.clone()).map_err(Failure::usage)?;
    let address = listening.address().map_err(Failure::own)?;
    screen::write(TerminalText::default().line(format_args!("{LISTENING}{address}")))
        .map_err(Failure::own)?;
    let refused = |from, error: &ClusterError| {
        // A probe of the port says nothing and goes.
        if matches!(error, ClusterError::Closed { in_mid_message: false }) {
            return;
        }
        outputs::note(format_args!("worker {address}: {from} is refused: {error}"));
    };
    let session = listening.accept(&identity(), refused).map_err(gone)?;
    serve(session)
}

fn serve(mut session: Session) -> CommandResult<u8> {
    let ready = prepared(&mut session).and_then(|program| {
        let digest = workload_digest(&program.redactor().stored(program.workload()))?;
        let loops = Loops::make(&program, None, &session.assignment.group()).map_err(Failure::own)?;
        while !loops.wait(MADE_INTERVAL) {}
        Ok((program, digest, loops))
    });
    let (program, digest, loops) = match ready {
        Ok(ready) => ready,
        Err(failure) => {
            session.refuse(failure.text().trim_end());
            return Err(failure);
        }
    };
    let clock = session.wait_to_begin(&digest).map_err(gone)?;
    let options = RunOptions { program, clock, control: Control::new(), behaviour: None };
    let (observed, seen) = channel();
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(OwnProcess::new())];
    // The coordinator watches its own machine.
    if session.assignment.place.machine != 0 {
        observers.push(Box::new(Host::new()));
    }
    let watch = Watch::start(observers, Arc::new(move || clock.now()), observed).map_err(Failure::own)?;
    session.offer(loops, &options, seen, move || watch.stop()).map_err(gone)?;
    Ok(0)
}

/// The program of the plan that was handed over.
fn prepared(session: &mut Session) -> CommandResult<Arc<Program>> {
    let mut plan = received_plan(session)?;
    reflection::describe(&mut plan)?;
    let program = Program::compile(plan).map_err(Failure::usage)?;
    prepare::require_descriptors(&program, session.assignment.loops)?;
    let (variables, ticks) =
        (std::mem::take(&mut session.setup_variables), std::mem::take(&mut session.setup_ticks));
    let program = program.set_up_elsewhere(variables, ticks);
    let other = || Failure::own(anyhow!("the values of the run's setup are those of another plan"));
    program.map(Arc::new).ok_or_else(other)
}

fn gone(error: ClusterError) -> Failure {
    Failure::own(anyhow::Error::from(error).context("the coordinator"))
}

fn identity() -> WorkerIdentity {
    WorkerIdentity { boot: observe::boot_id(), environment: observe::environment(), pid: std::process::id() }
}

fn make_keys(path: &Path) -> CommandResult<u8> {
    let keys = RunKeys::make().map_err(Failure::own)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(keys.as_bytes()));
    written.with_context(|| format!("{} cannot be written", path.display())).map_err(Failure::usage)?;
    Ok(0)
}
