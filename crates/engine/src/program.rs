//! The workload, compiled for the loops: names resolved, templates split, patterns built, hosts looked up.
//!
//! A program never changes while it runs, so loops share it without locks.

mod bounded_json;
mod call;
mod compile;
mod error;
mod expectation;
mod http;
mod json_lookup;
mod origin;
mod resolve;
mod template;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use evidence::{Instant, Name};
use rustls::ClientConfig;
use wire::WireProtocol;
use workload::Workload;
use workload::connection::Reuse;
use workload::message::Method;
use workload::model::{Arrivals, Executor, Phase};
use workload::plan::LoadedPlan;
use workload::redact::Redactor;

use crate::body_budget::BodyBudget;
use crate::index::{EndpointIndex, OriginIndex, PhaseIndex, ScenarioIndex};
pub(crate) use call::CallProgram;
pub use error::CompileError;
pub(crate) use expectation::{Expectation, Extraction, JsonBody};
pub(crate) use http::HttpProgram;
pub(crate) use origin::{Origin, OriginKind, ProxyMode, Route, TlsPeer};
pub(crate) use template::{CompiledTemplate, Counters, RenderScope, TemplateNames, write_hex};

/// A workload as the loops need it.
#[derive(Debug)]
pub struct Program {
    pub(crate) workload: Workload,
    pub(crate) origins: Vec<Origin>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) phases: Vec<PhaseProgram>,
    pub(crate) scenarios: Vec<ScenarioProgram>,
    /// Steps made once before the load.
    pub(crate) setup: Arc<[StepProgram]>,
    pub(crate) names: TemplateNames,
    pub(crate) redactor: Redactor,
    /// Values that the run's setup extracted, by variable; every virtual user begins with them, and none copies them.
    pub(crate) setup_variables: Vec<Arc<[u8]>>,
    /// The TLS configurations of targets that use TLS, by their names.
    pub(crate) tls: BTreeMap<String, Arc<ClientConfig>>,
    /// What is kept of responses at once.
    pub(crate) body_budget: Arc<BodyBudget>,
}

/// The address of an origin.
#[derive(Debug, Clone, Copy)]
pub enum OriginAddress<'a> {
    /// Any of these addresses.
    Tcp(&'a [SocketAddr]),
    /// A Unix socket.
    Unix(&'a Path),
}

/// One step of one scenario, for which load is counted.
#[derive(Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) scenario: ScenarioIndex,
    pub(crate) name: Name,
    pub(crate) checks: Vec<Name>,
    /// The method of a gRPC call.
    pub(crate) method: Option<Method>,
}

/// A phase; it begins where the one before it ends.
#[derive(Debug)]
pub(crate) struct PhaseProgram {
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
    fn uses(&self, origin: OriginIndex) -> bool {
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
    /// The step whose index is in the arrival's row of a data file.
    InTurn {
        step_indexes: Arc<[u32]>,
        steps: Arc<[StepProgram]>,
    },
    /// One step only, for a dry run.
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
    pub(crate) endpoint: EndpointIndex,
    pub(crate) origin: OriginIndex,
    pub(crate) timeout: Duration,
    pub(crate) think: Duration,
    pub(crate) content: StepContent,
    pub(crate) headers: Vec<(Vec<u8>, CompiledTemplate)>,
    /// Headers with a secret in their value, whatever their name.
    pub(crate) secret_headers: Vec<Vec<u8>>,
    pub(crate) expectation: Expectation,
    pub(crate) extractions: Vec<Extraction>,
    pub(crate) keep_body_bytes: usize,
}

#[derive(Debug)]
pub(crate) enum StepContent {
    Http(Box<HttpProgram>),
    Grpc(Box<CallProgram>),
}

impl Program {
    /// The workload that this program was compiled from.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The same with another [`crate::BODY_BUDGET_BYTES`].
    #[must_use]
    pub fn with_body_budget(self, bytes: usize) -> Program {
        Program { body_budget: BodyBudget::new(bytes), ..self }
    }

    /// Why bodies or extracted values were cut that checks needed, and how often; none where that did not happen.
    pub fn cut_bodies(&self) -> Option<(u64, String)> {
        let refusals = self.body_budget.refusals();
        (refusals > 0).then(|| (refusals, self.body_budget.explain()))
    }

    /// The environment variables that the plan names, with their values: secrets, never to be stored.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.names.env
    }

    /// The phase that contains an instant; what is due after the last phase belongs to it.
    pub(crate) fn phase_at(&self, instant: Instant) -> PhaseIndex {
        let last = self.phases.len() - 1;
        PhaseIndex(self.phases.iter().position(|p| instant < p.end).unwrap_or(last))
    }

    pub(crate) fn origin(&self, index: OriginIndex) -> &Origin {
        &self.origins[index.0]
    }

    pub(crate) fn endpoint(&self, index: EndpointIndex) -> &Endpoint {
        &self.endpoints[index.0]
    }

    pub(crate) fn phase(&self, index: PhaseIndex) -> &PhaseProgram {
        &self.phases[index.0]
    }

    pub(crate) fn scenario(&self, index: ScenarioIndex) -> &ScenarioProgram {
        &self.scenarios[index.0]
    }

    /// The most connections that this many loops may have open at once: over HTTP/1.1 one for each virtual user and
    /// origin unless the plan sets a number, over a multiplexing protocol a fixed number for each loop.
    pub fn max_connections(&self, loops: u16) -> u64 {
        let users =
            |origin| self.scenarios.iter().filter(move |s| s.uses(origin)).map(|s| u64::from(s.max_vus));
        let of = |(index, origin): (usize, &Origin)| {
            let protocol = origin.protocol.unwrap_or(WireProtocol::Http1);
            match (protocol, origin.reuse, origin.connections) {
                (WireProtocol::Http2, Reuse::Always, _) | (_, _, Some(_)) => {
                    origin.most_connections(protocol) as u64 * u64::from(loops)
                }
                _ => users(OriginIndex(index)).sum(),
            }
        };
        self.origins.iter().enumerate().map(of).sum()
    }

    /// Each origin's target name and address.
    pub fn origins(&self) -> impl Iterator<Item = (&str, OriginAddress<'_>)> {
        self.origins.iter().map(|o| match &o.route {
            Route::Tcp { addresses, .. } => (o.target.as_str(), OriginAddress::Tcp(addresses)),
            Route::Unix(path) => (o.target.as_str(), OriginAddress::Unix(path)),
        })
    }

    /// The TLS configuration of a target; none where it does not use TLS.
    pub fn tls(&self, target: &str) -> Option<&Arc<ClientConfig>> {
        self.tls.get(target)
    }

    /// The TLS configurations of all targets of a plan that is not compiled yet.
    ///
    /// # Errors
    /// [`CompileError::Tls`] when its certificates cannot be used.
    pub fn tls_of(plan: &LoadedPlan) -> Result<BTreeMap<String, Arc<ClientConfig>>, CompileError> {
        compile::tls_of(&plan.workload, &plan.tls)
    }

    /// Redacts exchanges wherever they are shown.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

fn phases(phases: &[Phase]) -> Vec<PhaseProgram> {
    phases.iter().map(|p| PhaseProgram { name: p.name.as_str().into(), end: Instant::at(p.end) }).collect()
}

fn shared_names(map: &BTreeMap<String, String>) -> BTreeMap<Name, Name> {
    map.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect()
}
