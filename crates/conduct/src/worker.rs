//! The other side of a run over workers: offers the load that a coordinator assigns.

use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::anyhow;
use cluster::{ClusterError, Listening, ReceivedFiles, Secret, Session, WorkerIdentity};
use engine::{Control, Loops, Program, RunOptions, Wakeup};
use evidence::TerminalText;
use figures::number::counted;
use observe::{Host, Observer, OwnProcess, Watch};

use crate::failure::{CommandResult, Failure};
use crate::manifest::workload_digest;
use crate::observers::report_address_changes;
use crate::workers::{HandedJob, LISTENING, PlanJob, Served, VERSION, received, received_plan, secret};
use crate::{prepare, reflection, screen};

/// Between two looks at virtual users that are being made.
const MADE_INTERVAL: Duration = Duration::from_secs(1);

/// Makes the script of a job for a worker that was handed it.
pub type ServeScript = fn(serde_json::Value, &mut Session) -> CommandResult<Served>;

/// Who started a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedBy {
    /// A user, who reads how far it is.
    User,
    /// The coordinator, which says itself what becomes of the run.
    Coordinator,
}

/// Wait at this address for a coordinator that knows the secret, and offer the part of its run's load that it assigns. Returns the
/// exit code.
pub fn serve(address: &str, secret: Secret, started_by: StartedBy, script: ServeScript) -> CommandResult<u8> {
    let mut listening = Listening::bind(address, secret.clone(), VERSION).map_err(Failure::usage)?;
    let address = listening.address().map_err(Failure::own)?;
    screen::write(TerminalText::default().line(format_args!("{LISTENING}{address}")))
        .map_err(Failure::own)?;
    let say = |what: &dyn Display| {
        if started_by == StartedBy::User {
            screen::note(format_args!("worker {address}: {what}"));
        }
    };
    loop {
        match serve_one(listening, address, script, &say) {
            Ok(()) => return Ok(0),
            Err(failure) if started_by == StartedBy::User && is_of_run_not_started(&failure) => {
                say(&"the run was not started; waiting for the next one");
            }
            Err(failure) if started_by == StartedBy::Coordinator && is_known_there(&failure) => {
                return Ok(failure.exit_code());
            }
            Err(failure) => return Err(failure),
        }
        listening = Listening::bind(&address.to_string(), secret.clone(), VERSION).map_err(Failure::usage)?;
    }
}

/// Wait for one coordinator, and offer its part of the load.
fn serve_one(
    listening: Listening,
    address: SocketAddr,
    script: ServeScript,
    say: &dyn Fn(&dyn Display),
) -> CommandResult<()> {
    let refused = |from, error: &ClusterError| {
        // A probe of the port says nothing and goes.
        if matches!(error, ClusterError::Closed { in_mid_message: false }) {
            return;
        }
        screen::note(format_args!("worker {address}: {from} is refused: {error}"));
    };
    let session = listening.accept(&identity(), refused).map_err(gone)?;
    let from = session.coordinator().map(|from| format!(" from {from}")).unwrap_or_default();
    let (number, loops) = (session.assignment.worker + 1, session.assignment.loops);
    let loops = if loops == 1 { "1 loop".to_owned() } else { format!("{loops} loops") };
    say(&format_args!("connected{from}: it is worker {number} of the run, with {loops}"));
    offer(session, script, say)
}

/// Whether the coordinator went before the load, since another worker was missing or the target was not ready.
fn is_of_run_not_started(failure: &Failure) -> bool {
    match failure {
        Failure::Own(error) => matches!(error.downcast_ref(), Some(ClusterError::NotStarted)),
        _ => false,
    }
}

/// Whether the coordinator was told of this, or is gone and has told its user why.
fn is_known_there(failure: &Failure) -> bool {
    match failure {
        Failure::Own(error) => error.is::<ClusterError>(),
        _ => true,
    }
}

fn offer(mut session: Session, script: ServeScript, say: &dyn Fn(&dyn Display)) -> CommandResult<()> {
    let ready = served(&mut session, script).and_then(|served| {
        let program = &served.program;
        prepare::require_descriptors(program, session.assignment.loops)?;
        let digest = workload_digest(&program.redactor().stored(program.workload()))?;
        let group = session.assignment.group();
        let loops = Loops::spawn(program, served.behaviour.as_ref(), &group).map_err(Failure::own)?;
        while !loops.wait(MADE_INTERVAL) {}
        Ok((served, digest, loops))
    });
    let (Served { program, behaviour, finish }, digest, loops) = match ready {
        Ok(ready) => ready,
        Err(failure) => {
            session.refuse(failure.text().trim_end());
            return Err(failure);
        }
    };
    let clock = session.wait_to_begin(&digest).map_err(gone)?;
    say(&"the load begins");
    let options =
        RunOptions { program, clock, control: Control::new(), behaviour, wakeup: Wakeup::default() };
    let (observed, seen) = channel();
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(OwnProcess::new())];
    // The coordinator watches its own machine.
    if session.assignment.place.machine != 0 {
        observers.push(Box::new(Host::new()));
    }
    let watch =
        Watch::start(observers, Arc::new(move || clock.now()), observed.clone()).map_err(Failure::own)?;
    let program = options.program.clone();
    let end = move || {
        watch.stop();
        report_address_changes(&program, &observed);
        finish()
    };
    let requests = session.offer(loops, &options, seen, end).map_err(gone)?;
    say(&format_args!("finished: {}", counted(requests, "request")));
    Ok(())
}

fn served(session: &mut Session, script: ServeScript) -> CommandResult<Served> {
    match received(session)? {
        HandedJob::Plan(job) => {
            let program = Arc::new(program(job, session)?);
            Ok(Served { program, behaviour: None, finish: Box::new(|| serde_json::Value::Null) })
        }
        HandedJob::Script(job) => script(job, session),
    }
}

/// The program of the plan that was handed over.
fn program(job: PlanJob, session: &mut Session) -> CommandResult<Program> {
    let mut plan = received_plan(job, session)?;
    // Of data files those rows are left that this worker's part of the load takes, and not their text.
    session.files = ReceivedFiles::default();
    session.assignment.group().keep_needed_rows(&mut plan);
    reflection::describe(&mut plan)?;
    let program = Program::compile(plan).map_err(Failure::usage)?;
    let (variables, ticks) =
        (std::mem::take(&mut session.setup_variables), std::mem::take(&mut session.setup_ticks));
    let other = || {
        Failure::own(anyhow!(
            "the setup values that the coordinator sent do not belong to the plan it sent: this is a bug in plimsoll"
        ))
    };
    program.set_up_elsewhere(variables, ticks).ok_or_else(other)
}

/// By what the coordinator of a worker at this address proves who it is.
pub fn secret_for(address: &str, keys: Option<&Path>, token_file: Option<&Path>) -> CommandResult<Secret> {
    let is_reachable = |address: SocketAddr| !address.ip().is_loopback();
    // A name that is not known is the failure of listening.
    let is_reachable = address.to_socket_addrs().is_ok_and(|mut all| all.any(is_reachable));
    if keys.is_none() && is_reachable {
        return Err(Failure::usage(anyhow!(
            "{address} can be reached from other machines, so a worker listens there only with keys: make them with `plimsoll worker \
             --make-keys run.pem`, copy the file to each machine, and give it as `--keys run.pem` here and as `--worker-keys run.pem` to \
             `plimsoll run`"
        )));
    }
    secret(keys, token_file)
}

fn gone(error: ClusterError) -> Failure {
    Failure::own(anyhow::Error::from(error).context("the coordinator"))
}

fn identity() -> WorkerIdentity {
    WorkerIdentity { boot: observe::boot_id(), environment: observe::environment(), pid: std::process::id() }
}
