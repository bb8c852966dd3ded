//! The workload, compiled for the loops: names resolved, templates cut up, patterns built, hosts looked up.
//!
//! A program never changes while it runs, so loops share it without locks.

mod call;
mod compile;
mod expectation;
mod http;
mod lookup;
mod origin;
mod resolve;
mod text;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use evidence::{Instant, Name};
use rustls::ClientConfig;
use workload::connection::Reuse;
use workload::message::Method;
use workload::model::{Arrivals, Executor, Phase};
use workload::plan::LoadedPlan;
use workload::redact::Redactor;

pub(crate) use call::CallProgram;
pub use compile::CompileError;
pub(crate) use expectation::{Expectation, Extraction, JsonBody};
pub(crate) use http::HttpProgram;
pub(crate) use origin::{Kind, Origin, Route, Speaks, Tls, Via};
pub(crate) use text::{Counters, Names, Scope, Text, write_hex};

/// Everything the loops need to know of a workload.
#[derive(Debug)]
pub struct Program {
    pub(crate) seed: u64,
    pub(crate) traceparent: bool,
    pub(crate) origins: Vec<Origin>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) phases: Vec<PhaseSpan>,
    pub(crate) scenarios: Vec<ScenarioProgram>,
    /// Steps made once before the load.
    pub(crate) setup: Arc<[StepProgram]>,
    pub(crate) names: Names,
    pub(crate) redactor: Redactor,
    /// Values that the run's setup extracted, by variable; every virtual user begins with them.
    pub(crate) shared: Vec<Vec<u8>>,
    /// Of targets that are spoken to under TLS, by their name.
    pub(crate) tls: BTreeMap<String, Arc<ClientConfig>>,
    /// Wall-clock nanoseconds since 1970 at the run's epoch, for `${now()}`.
    pub(crate) epoch_unix_ns: i128,
}

/// Where the connections of an origin go.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// To one of these addresses.
    Tcp(&'a [SocketAddr]),
    /// To this socket.
    Unix(&'a Path),
}

/// A row of every table: one step of one scenario.
#[derive(Debug, PartialEq)]
pub(crate) struct Endpoint {
    /// The place of its scenario; one past the last for the run's setup.
    pub(crate) scenario: usize,
    pub(crate) name: Name,
    pub(crate) checks: Vec<Name>,
    /// What its messages are, for a gRPC call.
    pub(crate) method: Option<Method>,
}

/// A phase in the run's own time.
#[derive(Debug)]
pub(crate) struct PhaseSpan {
    pub(crate) name: Name,
    pub(crate) end: Instant,
}

#[derive(Debug)]
pub(crate) struct ScenarioProgram {
    pub(crate) name: Name,
    pub(crate) tags: BTreeMap<Name, Name>,
    pub(crate) executor: Executor,
    pub(crate) arrivals: Arrivals,
    pub(crate) start: Duration,
    pub(crate) preallocated_vus: u32,
    pub(crate) max_vus: u32,
    pub(crate) graceful_stop: Duration,
    pub(crate) setup: Arc<[StepProgram]>,
    pub(crate) flow: FlowProgram,
}

impl ScenarioProgram {
    fn goes_to(&self, origin: usize) -> bool {
        self.setup.iter().chain(self.flow.steps().iter()).any(|step| step.origin == origin)
    }
}

#[derive(Debug, Clone)]
pub(crate) enum FlowProgram {
    Mix {
        cumulative: Arc<[u64]>,
        salt: u64,
        steps: Arc<[StepProgram]>,
    },
    Sequence(Arc<[StepProgram]>),
    /// The step whose place stands in the row of the arrival.
    InTurn {
        places: Arc<[u32]>,
        steps: Arc<[StepProgram]>,
    },
    /// One step only, for a rehearsal.
    Single {
        steps: Arc<[StepProgram]>,
        only: usize,
    },
}

impl FlowProgram {
    pub(crate) fn steps(&self) -> &Arc<[StepProgram]> {
        match self {
            FlowProgram::Mix { steps, .. }
            | FlowProgram::InTurn { steps, .. }
            | FlowProgram::Sequence(steps)
            | FlowProgram::Single { steps, .. } => steps,
        }
    }
}

#[derive(Debug)]
pub(crate) struct StepProgram {
    pub(crate) endpoint: usize,
    pub(crate) origin: usize,
    pub(crate) timeout: Duration,
    pub(crate) think: Duration,
    pub(crate) content: Content,
    pub(crate) headers: Vec<(Vec<u8>, Text)>,
    pub(crate) expectation: Expectation,
    pub(crate) extractions: Vec<Extraction>,
    pub(crate) keep_body_bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Content {
    Http(Box<HttpProgram>),
    Grpc(Box<CallProgram>),
}

impl Program {
    /// The phase in which an instant lies, by its place; what is due after the last belongs to it.
    pub(crate) fn phase_at(&self, instant: Instant) -> usize {
        let last = self.phases.len() - 1;
        self.phases.iter().position(|p| instant < p.end).unwrap_or(last)
    }

    /// The most connections that this many loops may have open at once: over HTTP/1.1 one a virtual user and
    /// origin unless the plan sets a number, over a multiplexing protocol a fixed number a loop.
    pub fn max_connections(&self, loops: u16) -> u64 {
        let users =
            |origin| self.scenarios.iter().filter(move |s| s.goes_to(origin)).map(|s| u64::from(s.max_vus));
        let of = |(place, origin): (usize, &Origin)| {
            let speaks = origin.speaks.unwrap_or(Speaks::Http1);
            match (speaks, origin.reuse, origin.connections) {
                (Speaks::Http2, Reuse::Always, _) | (_, _, Some(_)) => {
                    origin.most_connections(speaks) as u64 * u64::from(loops)
                }
                _ => users(place).sum(),
            }
        };
        self.origins.iter().enumerate().map(of).sum()
    }

    /// The run's epoch is this wall-clock time, in nanoseconds since 1970: `${now()}` counts from there.
    pub fn begin_at(&mut self, unix_ns: i128) {
        self.epoch_unix_ns = unix_ns;
    }

    /// Each origin's target name and the places that connections to it go to.
    pub fn origins(&self) -> impl Iterator<Item = (&str, Place<'_>)> {
        self.origins.iter().map(|o| match &o.route {
            Route::Tcp { addresses, .. } => (o.target.as_str(), Place::Tcp(addresses)),
            Route::Unix(path) => (o.target.as_str(), Place::Unix(path)),
        })
    }

    /// How a target that is spoken to under TLS is to be trusted; none for others.
    pub fn tls(&self, target: &str) -> Option<&Arc<ClientConfig>> {
        self.tls.get(target)
    }

    /// The same for every target of a plan that is not compiled yet.
    ///
    /// # Errors
    /// [`CompileError::Tls`] when its certificates cannot be used.
    pub fn tls_of(plan: &LoadedPlan) -> Result<BTreeMap<String, Arc<ClientConfig>>, CompileError> {
        compile::tls_of(&plan.workload, &plan.tls)
    }

    /// What is hidden wherever an exchange is shown.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

fn phases(phases: &[Phase]) -> Vec<PhaseSpan> {
    phases.iter().map(|p| PhaseSpan { name: p.name.as_str().into(), end: Instant::at(p.end) }).collect()
}

fn shared_names(map: &BTreeMap<String, String>) -> BTreeMap<Name, Name> {
    map.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect()
}
