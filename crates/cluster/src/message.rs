//! What coordinator and worker say to each other besides ticks, in JSON.

use std::collections::BTreeMap;

use engine::{LoopGroup, Totals};
use evidence::{Instance, Instant};
use serde::{Deserialize, Serialize};

/// What a coordinator sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// The first message.
    Hello(Hello),
    /// What proves that it knows the token.
    Proof(String),
    /// What the worker is to do. The files that it wants follow, then the values of the run's setup.
    Assignment(Assignment),
    /// All files and all values of the setup were sent.
    HandedOver,
    /// The load begins.
    Begin(Begin),
    /// Start nothing more, and finish what is under way.
    Drain,
    /// End at once.
    Abandon,
    /// The run is over and recorded.
    Bye,
}

/// What a worker sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToCoordinator {
    /// The first message, with what proves that it knows the token.
    Hello(Hello, String),
    /// Which process it is, for the coordinator that has proved to know the token.
    Identity(WorkerIdentity),
    /// The digests of the files that it wants.
    Wanted(Vec<String>),
    /// It could begin at once; the digest of the workload that it read.
    Ready(String),
    /// It does not take part, for this reason.
    Refused(String),
    /// Its load has ended itself, and so the whole run.
    Stops,
    /// Its load is over.
    Ended(Ended),
}

/// The first message of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the protocol.
    pub protocol: u16,
    /// The version of the program.
    pub version: String,
    /// Random, in hexadecimal digits, of which the other side makes its proof.
    pub nonce: String,
}

/// Which process a worker is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerIdentity {
    /// What distinguishes the running kernel from any other: workers with the same one are on one machine.
    pub boot: String,
    /// The machine, as a run file's `environment` describes it.
    pub environment: BTreeMap<String, String>,
    /// The process.
    pub pid: u32,
}

/// What a worker is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its position among the workers, from 0.
    pub worker: u32,
    pub loops: u16,
    /// How many loops those before it have.
    pub first_loop: u32,
    /// How many loops all workers have.
    pub all_loops: u32,
    /// Its machine and process, as evidence names them.
    pub place: Instance,
    /// What is run, in a form that only the command knows.
    pub job: serde_json::Value,
    /// The files that belong to it.
    pub files: Vec<HandedFile>,
}

impl Assignment {
    /// Which loops of the run are the worker's.
    pub fn group(&self) -> LoopGroup {
        LoopGroup {
            index: self.worker,
            loops: self.loops,
            first_loop: self.first_loop,
            all_loops: self.all_loops,
            place: self.place,
        }
    }
}

/// A file that is handed to workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedFile {
    /// The name under which it is read.
    pub path: String,
    /// The SHA-256 digest of its content, in hexadecimal digits.
    pub digest: String,
    /// Its length.
    pub bytes: u64,
}

/// When the load begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The run's epoch on the worker's `CLOCK_MONOTONIC`, in nanoseconds.
    pub epoch_ns: u64,
    /// The run's epoch in nanoseconds since 1970, by the coordinator's clock.
    pub epoch_unix_ns: i64,
}

/// How the load of a worker ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// To its end, or stopped.
    Over(WorkerOver),
    /// It could not be measured, for this reason.
    Failed(String),
}

/// What there is to say of a worker whose load is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerOver {
    /// The totals of its loops.
    pub totals: WorkerTotals,
    /// Which names of endpoints it has folded; see [`engine::Program::folded_names`].
    pub folded_names: Vec<u64>,
    /// See [`engine::LimitsMet::cut_bodies`].
    pub cut_bodies: u64,
    /// See [`engine::LimitsMet::unsent_for_origins`].
    pub unsent_for_origins: u64,
    /// What else the command says of it, in a form that only the command knows.
    pub outcome: serde_json::Value,
}

/// The totals of a worker's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// See [`Totals::last_second`].
    pub last_second: u32,
    /// See [`Totals::requests_in_flight`].
    pub requests_in_flight: u64,
    /// See [`Totals::iterations_in_flight`].
    pub iterations_in_flight: u64,
    /// See [`Totals::folded_ticks`].
    pub folded_ticks: u64,
    /// See [`Totals::stopped_at`].
    pub stopped_at: Option<Instant>,
}

impl From<Totals> for WorkerTotals {
    fn from(totals: Totals) -> WorkerTotals {
        let Totals { last_second, requests_in_flight, iterations_in_flight, folded_ticks, stopped_at } =
            totals;
        WorkerTotals { last_second, requests_in_flight, iterations_in_flight, folded_ticks, stopped_at }
    }
}

impl WorkerTotals {
    /// Add them to the totals of the run.
    pub(crate) fn add_to(&self, totals: &mut Totals) {
        totals.last_second = totals.last_second.max(self.last_second);
        totals.requests_in_flight = totals.requests_in_flight.saturating_add(self.requests_in_flight);
        totals.iterations_in_flight = totals.iterations_in_flight.saturating_add(self.iterations_in_flight);
        totals.folded_ticks = totals.folded_ticks.saturating_add(self.folded_ticks);
        totals.stopped_at = totals.stopped_at.into_iter().chain(self.stopped_at).min();
    }
}
