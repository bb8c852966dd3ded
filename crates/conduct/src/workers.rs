//! The workers of a run: started here or found at addresses, connected before the target is prepared, handed the plan, ready
//! before the archive begins.

mod handed;
mod local;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use cluster::{
    AbsentWorker, Coordinator, Fleet, Job, Limits, RunKeys, Secret, Token, WorkerAddress, WorkerFacts,
};
use engine::iteration::Behaviour;
use engine::{EngineError, Program, RunOptions, Totals};
use evidence::Observed;
use evidence::manifest::Worker;
use evidence::tick_channel::TickSender;
use plans::Overrides;
use workload::LoadedPlan;

use crate::environment::environment;
use crate::failure::{CommandResult, Failure};
use crate::manifest::workload_digest;
use crate::plan;
use crate::screen::note;
use crate::worker_options::{ListedWorker, WorkerOptions, WorkerPlaces};
pub use handed::{HandOver, HandedJob, NotedFiles, PlanJob, resolve as resolve_plan};
pub(crate) use handed::{received, received_plan};
use local::LocalWorkers;

/// The version that coordinator and workers must share.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The environment variable with the token of a run.
pub const TOKEN_VARIABLE: &str = "PLIMSOLL_WORKER_TOKEN";
/// Before the address in a worker's first line.
pub(crate) const LISTENING: &str = "listening on ";
/// A worker that sends nothing for so long has vanished.
const SILENCE: Duration = Duration::from_secs(10);
/// Between two attempts to connect to a worker that does not listen yet.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(100);
/// After so many attempts, two seconds, the wait is said.
const SAID_AFTER: u32 = 20;

/// Workers that are connected and have nothing to do yet.
pub struct ConnectedWorkers {
    fleet: Fleet,
    hand_over: HandOver,
    /// What the setup of a script returned.
    setup_data: Option<Arc<[u8]>>,
    outcome_reader: Option<OutcomeReader>,
    local: Option<LocalWorkers>,
}

/// Takes what each worker says of its load when it has ended.
type OutcomeReader = Box<dyn Fn(serde_json::Value) + Send>;

/// Workers that could begin.
pub(crate) struct ReadyWorkers {
    fleet: Fleet,
    outcome_reader: Option<OutcomeReader>,
    /// Those that were started here; they end with this.
    _local: Option<LocalWorkers>,
}

/// What a worker offers.
pub struct Served {
    /// Its part of the load.
    pub program: Arc<Program>,
    /// What virtual users do instead of a plan's steps.
    pub behaviour: Option<Arc<dyn Behaviour>>,
    /// Called at the end; what it returns is for the coordinator's command.
    pub finish: Box<dyn FnOnce() -> serde_json::Value>,
}

/// A plan, and the workers that are to offer its load, if there are any.
pub struct ResolvedRun {
    pub plan: LoadedPlan,
    pub workers: Option<ConnectedWorkers>,
}

/// The plan at this path, and the workers that are asked for.
pub fn resolve(
    path: &Path,
    overrides: &Overrides,
    asked: Option<&WorkerOptions>,
) -> CommandResult<ResolvedRun> {
    let Some(asked) = asked else {
        return Ok(ResolvedRun { plan: plan::resolve(path, overrides)?, workers: None });
    };
    let (plan, hand_over) = handed::resolve(path, overrides, &environment)?;
    let connected = ConnectedWorkers::connect(asked, hand_over)?;
    Ok(ResolvedRun { plan, workers: Some(connected) })
}

impl ConnectedWorkers {
    /// Start or find the workers, and connect to each.
    pub fn connect(asked: &WorkerOptions, hand_over: HandOver) -> CommandResult<ConnectedWorkers> {
        let (addresses, secret, local): (Vec<WorkerAddress>, _, _) = match &asked.places {
            WorkerPlaces::Here(count) => {
                let token = Token::drawn().map_err(Failure::own)?;
                let local = LocalWorkers::start(*count, &token, asked.patience)?;
                let addresses = local.addresses().into_iter().map(WorkerAddress::new).collect();
                (addresses, Secret::Token(token), Some(local))
            }
            WorkerPlaces::At { workers, keys, token_file } => {
                require_different(workers)?;
                let secret = secret(keys.as_deref(), token_file.as_deref())?;
                let address = |worker: &ListedWorker| WorkerAddress {
                    address: worker.address.clone(),
                    weight: worker.weight,
                };
                (workers.iter().map(address).collect(), secret, None)
            }
        };
        let limits = Limits { connect: asked.patience, ready: asked.patience, silence: SILENCE };
        let own =
            Coordinator { boot: observe::boot_id(), version: VERSION.to_owned(), pause: wait_for_absent };
        let fleet = Fleet::gather(&addresses, &secret, &own, limits).map_err(|error| {
            if local.is_none() && addresses.len() > 1 {
                note("the other workers wait for the next attempt: mend this one, and repeat the command");
            }
            Failure::usage(error)
        })?;
        Ok(ConnectedWorkers { fleet, hand_over, setup_data: None, outcome_reader: None, local })
    }

    /// How many there are, each as often as its weight says.
    pub fn weight(&self) -> u16 {
        u16::try_from(self.fleet.weight()).unwrap_or(u16::MAX)
    }

    /// What the setup of a script returned.
    pub fn set_up_with(self, setup_data: Option<Arc<[u8]>>) -> ConnectedWorkers {
        ConnectedWorkers { setup_data, ..self }
    }

    /// What the workers say of their load at its end is given to this.
    pub fn with_outcome_reader(self, reader: OutcomeReader) -> ConnectedWorkers {
        ConnectedWorkers { outcome_reader: Some(reader), ..self }
    }

    /// Hand the run over, and wait until every worker could begin.
    pub(crate) fn make_ready(mut self, program: &Program, loops: u16) -> CommandResult<ReadyWorkers> {
        let (setup_variables, setup_ticks) = program.setup();
        let job = Job {
            job: self.hand_over.job()?,
            loops,
            files: self.hand_over.files(),
            workload_digest: workload_digest(&program.redactor().stored(program.workload()))?,
            setup_variables: setup_variables.iter().cloned().chain(self.setup_data).collect(),
        };
        self.fleet.make_ready(&job, setup_ticks).map_err(Failure::usage)?;
        Ok(ReadyWorkers { fleet: self.fleet, outcome_reader: self.outcome_reader, _local: self.local })
    }
}

impl ReadyWorkers {
    /// Offer the load.
    pub(crate) fn run(
        self,
        options: &RunOptions,
        outlets: Vec<TickSender>,
        observed: &Sender<Observed>,
    ) -> Result<Totals, EngineError> {
        let ended = self.fleet.run(options, outlets, observed);
        if let (Ok(end), Some(read)) = (&ended, &self.outcome_reader) {
            end.outcomes.iter().cloned().for_each(read);
        }
        ended.map(|end| end.totals)
    }

    /// What the run file says of each.
    pub(crate) fn described(&self) -> Vec<Worker> {
        let described = |facts: WorkerFacts| Worker {
            place: facts.place,
            address: facts.address,
            loops: facts.loops,
            version: facts.version,
            workload_digest: facts.workload_digest,
            environment: facts.identity.environment,
            pid: facts.identity.pid,
            clock_offset_ns: facts.clock.offset_ns,
            clock_error_ns: facts.clock.error_ns,
        };
        self.fleet.facts().into_iter().map(described).collect()
    }
}

/// A worker serves one connection.
fn require_different(workers: &[ListedWorker]) -> CommandResult<()> {
    let again = workers
        .iter()
        .enumerate()
        .find(|(index, worker)| workers[..*index].iter().any(|before| before.address == worker.address));
    again.map_or(Ok(()), |(_, worker)| {
        Err(Failure::usage(anyhow!(
            "`--worker {0}` is given twice: start a second worker at another port, or let this one offer twice as much with \
             `--worker {0},weight=2`",
            worker.address
        )))
    })
}

/// Wait before the next attempt to connect, and say so once it takes long.
fn wait_for_absent(worker: AbsentWorker<'_>) {
    if worker.attempts == SAID_AFTER {
        note(format_args!("waiting for worker {}, up to {} s", worker.address, worker.limit.as_secs()));
    }
    thread::sleep(ATTEMPT_INTERVAL);
}

/// By what coordinator and workers recognise each other, from these files or the environment.
pub fn secret(keys: Option<&Path>, token_file: Option<&Path>) -> CommandResult<Secret> {
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path);
        text.with_context(|| format!("{} cannot be read", path.display())).map_err(Failure::usage)
    };
    if let Some(path) = keys {
        let keys = RunKeys::read(&read(path)?).with_context(|| format!("{}", path.display()));
        return keys.map(Secret::Keys).map_err(Failure::usage);
    }
    let token = match token_file {
        Some(path) => read(path)?,
        None => environment(TOKEN_VARIABLE).ok_or_else(|| {
            Failure::usage(anyhow!(
                "a worker serves only the coordinator that knows its secret: set the same token where each of them starts, such \
                 as `export {TOKEN_VARIABLE}=$(openssl rand -hex 16)`, or give both a file with it, or keys (`plimsoll worker \
                 --make-keys FILE`)"
            ))
        })?,
    };
    if token.trim_start().starts_with("-----BEGIN") {
        return Err(Failure::usage(anyhow!(
            "these are keys, given as a token: give them to the run as `--worker-keys FILE`, and to each worker as `--keys FILE`"
        )));
    }
    Token::given(&token).map(Secret::Token).map_err(Failure::usage)
}
