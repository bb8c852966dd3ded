//! The workload, compiled for the loops: the run's shape (scenarios, phases), the directory of origins and endpoints,
//! and the plan's own steps with names resolved, templates split, patterns built, hosts looked up.
//!
//! Only the directory grows while the program runs. Loops share all of it, and read it without locks.

mod bounded_json;
mod call;
mod compile;
mod directory;
mod error;
mod expectation;
mod host_lookup;
mod http;
mod json_lookup;
mod origin;
mod origin_rules;
mod resolve;
mod route;
mod template;
#[cfg_attr(not(feature = "tls"), path = "program/without_tls.rs")]
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evidence::{Instant, Key, Name, Tick};
use wire::WireProtocol;
use workload::LoadedPlan;
use workload::connection::Reuse;
use workload::model::{Executor, Flow, Phase, Scenario};
use workload::redact::Redactor;
use workload::{Draw, Segment, Think, Timetable, Workload};

use crate::body_budget::BodyBudget;
use crate::index::{ConstantIndex, EndpointIndex, OriginIndex, PhaseIndex, ScenarioIndex};
pub(crate) use call::CallProgram;
use directory::Endpoint;
use directory::MAX_ORIGINS;
pub use directory::UnusableOrigin;
pub(crate) use directory::{Directory, MetNames, OTHERS, OriginName};
pub use error::CompileError;
pub(crate) use expectation::{Expectation, Extraction, JsonBody};
pub(crate) use http::HttpProgram;
pub(crate) use origin::{EXPECTED_STREAMS, LoadModel, Origin, OriginKind, PoolLimits, ProxyMode};
pub use origin_rules::{MetOrigin, OriginRules};
pub use resolve::AddressChange;
pub(crate) use resolve::LookupState;
pub(crate) use route::Route;
pub(crate) use template::{CompiledTemplate, Counters, RenderScope, TemplateNames, write_hex};
#[cfg(feature = "tls")]
pub use tls::NOT_TLS;
pub(crate) use tls::TlsPeer;
pub use tls::{ClientConfig, tls12_cipher_suites};

/// One iteration, however long it takes.
pub(crate) const ONCE: Executor =
    Executor::PerVuIterations { vus: 1, iterations: 1, max_duration: Duration::from_secs(1 << 32) };

/// Which exchanges a loop keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeptExchanges {
    /// Some failures and the slowest successes.
    #[default]
    Examples,
    /// Every one, in the order in which they ended.
    All,
}

/// A workload as the loops need it.
#[derive(Debug)]
pub struct Program {
    pub(crate) workload: Workload,
    pub(crate) shape: Shape,
    pub(crate) directory: Directory,
    pub(crate) steps: PlanSteps,
    pub(crate) redactor: Redactor,
    /// What is kept of responses at once.
    pub(crate) body_budget: Arc<BodyBudget>,
    /// Which exchanges of the load are kept.
    pub(crate) kept_exchanges: KeptExchanges,
}

/// How much load is offered, and when.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) seed: u64,
    /// Those of the load in order, then that of the run's setup.
    pub(crate) phases: Vec<PhaseProgram>,
    /// Those of the load, then the run's setup.
    pub(crate) scenarios: Vec<ScenarioProgram>,
}

impl Shape {
    pub(crate) fn load(&self) -> impl Iterator<Item = ScenarioIndex> + use<> {
        (0..self.setup().0).map(ScenarioIndex)
    }

    /// The scenarios of the load, then the run's setup.
    pub(crate) fn all(&self) -> impl Iterator<Item = ScenarioIndex> + use<> {
        (0..self.scenarios.len()).map(ScenarioIndex)
    }

    /// The run's setup, which has the shape of a scenario.
    pub(crate) fn setup(&self) -> ScenarioIndex {
        ScenarioIndex(self.scenarios.len() - 1)
    }

    /// The phase of the run's setup.
    pub(crate) fn setup_phase(&self) -> PhaseIndex {
        PhaseIndex(self.phases.len() as u32 - 1)
    }
}

/// The steps of a plan; none where scripts decide what virtual users do.
#[derive(Debug)]
pub(crate) struct PlanSteps {
    /// Steps made once before the load.
    pub(crate) setup: Arc<[StepProgram]>,
    pub(crate) scenarios: Vec<ScenarioSteps>,
    pub(crate) names: TemplateNames,
    /// Values that the run's setup extracted, by variable; every virtual user begins with them, and none copies them.
    pub(crate) setup_variables: Vec<Arc<[u8]>>,
    /// What the run's setup has counted.
    pub(crate) setup_ticks: Vec<Tick>,
    /// Whether each request has a W3C `traceparent`.
    pub(crate) traceparent: bool,
}

#[derive(Debug)]
pub(crate) struct ScenarioSteps {
    /// Those that each virtual user sends once.
    pub(crate) setup: Arc<[StepProgram]>,
    pub(crate) flow: FlowProgram,
}

#[derive(Debug, Clone)]
pub enum OriginAddress {
    /// Any of these addresses.
    Tcp(Vec<SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
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
    /// All arrivals of an open model.
    pub(crate) timetable: Option<Timetable>,
    pub(crate) start: Duration,
    pub(crate) preallocated_vus: u32,
    pub(crate) max_vus: u32,
    pub(crate) graceful_stop: Duration,
}

impl ScenarioProgram {
    fn model(&self) -> LoadModel {
        if self.executor.peak_vus().is_some() { LoadModel::Closed } else { LoadModel::Open }
    }
}

impl ScenarioSteps {
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

/// A think time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThinkProgram {
    pub(crate) think: Think,
    /// The salt of its draws; unused where it is constant.
    pub(crate) salt: u64,
}

impl ThinkProgram {
    /// The pause of the iteration whose choices `draw` makes.
    pub(crate) fn time(&self, draw: &Draw) -> Duration {
        self.think.time(draw, self.salt)
    }
}

#[derive(Debug)]
pub(crate) struct StepProgram {
    pub(crate) endpoint: EndpointIndex,
    pub(crate) origin: OriginIndex,
    pub(crate) timeout: Duration,
    pub(crate) think: ThinkProgram,
    pub(crate) content: StepContent,
    pub(crate) headers: Vec<(Vec<u8>, CompiledTemplate)>,
    /// Headers with a secret in their value, whatever their name.
    pub(crate) secret_headers: Vec<Vec<u8>>,
    pub(crate) expectation: Expectation,
    pub(crate) extractions: Vec<Extraction>,
    pub(crate) keep_body_bytes: usize,
    /// None if its requests differ.
    pub(crate) constant: Option<ConstantIndex>,
}

/// What limits of the generator's have cost a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitsMet {
    /// How many bodies or extracted values were cut that checks needed.
    pub cut_bodies: u64,
    /// How many requests were not sent because iterations met too many origins.
    pub unsent_for_origins: u64,
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

    /// The same with another budget than one of [`crate::BODY_BUDGET_BYTES`].
    #[must_use]
    pub fn with_body_budget(self, body_budget: Arc<BodyBudget>) -> Program {
        Program { body_budget, ..self }
    }

    /// The same, whose load keeps other exchanges than examples.
    #[must_use]
    pub fn with_kept_exchanges(self, kept_exchanges: KeptExchanges) -> Program {
        Program { kept_exchanges, ..self }
    }

    /// The same, where origins that are not targets are connected to by these rules.
    #[must_use]
    pub fn with_origin_rules(mut self, rules: Arc<dyn OriginRules>) -> Program {
        self.directory.set_rules(rules);
        self
    }

    /// Why bodies or extracted values were cut that checks needed, and how often; none where that did not happen.
    pub fn cut_bodies(&self) -> Option<(u64, String)> {
        let refusals = self.body_budget.refusals();
        (refusals > 0).then(|| (refusals, self.body_budget.explain()))
    }

    /// How many requests were not sent because iterations met too many origins, and why; none where that did not happen.
    pub fn unsent_for_origins(&self) -> Option<(u64, String)> {
        let count = self.directory.refused_origins();
        let why = || format!("a run sends to {MAX_ORIGINS} servers at most, beside those of its plan");
        (count > 0).then(|| (count, why()))
    }

    /// What limits of the generator's have cost.
    pub fn limits_met(&self) -> LimitsMet {
        LimitsMet {
            cut_bodies: self.body_budget.refusals(),
            unsent_for_origins: self.directory.refused_origins(),
        }
    }

    /// Add what they have cost in another process of the run.
    pub fn add_limits_met(&self, met: LimitsMet) {
        self.body_budget.add_refusals(met.cut_bodies);
        self.directory.add_refused_origins(met.unsent_for_origins);
    }

    /// How many names of endpoints were folded into others while running, because there are too many for a row each.
    pub fn folded_endpoints(&self) -> u64 {
        self.workload.folded_endpoints() + self.directory.folded_endpoints()
    }

    /// Which names of endpoints were folded while running, by their fingerprints: for [`crate::MergedNames`] in another process.
    pub fn folded_names(&self) -> Vec<u64> {
        self.directory.folded()
    }

    /// The environment variables that the plan names, with their values: secrets, never to be stored.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.steps.names.env
    }

    /// The phase of the load that contains an instant; what is due after the last phase belongs to it.
    pub(crate) fn phase_at(&self, instant: Instant) -> PhaseIndex {
        let last = self.shape.setup_phase().0.saturating_sub(1);
        let mut ends = (0..last).zip(&self.shape.phases);
        PhaseIndex(ends.find(|(_, phase)| instant < phase.end).map_or(last, |(index, _)| index))
    }

    pub(crate) fn origin(&self, index: OriginIndex) -> &Origin {
        self.directory.origin(index)
    }

    pub(crate) fn endpoint(&self, index: EndpointIndex) -> &Endpoint {
        self.directory.endpoint(index)
    }

    pub(crate) fn phase(&self, index: PhaseIndex) -> &PhaseProgram {
        &self.shape.phases[index.0 as usize]
    }

    pub(crate) fn scenario(&self, index: ScenarioIndex) -> &ScenarioProgram {
        &self.shape.scenarios[index.0]
    }

    /// The most connections that this many loops may have open at once: one for each virtual user and origin, but no
    /// more than a pool may have where virtual users share one.
    pub fn max_connections(&self, loops: u16) -> u64 {
        let planned =
            self.directory.origins().map(|(index, origin)| self.connections_to(index, origin, loops));
        planned.sum::<u64>() + self.script_users()
    }

    /// The most virtual users that run a script: each has connections of its own, to servers that are not known yet, and
    /// one is counted.
    fn script_users(&self) -> u64 {
        let scripts = self.workload.scenarios.iter().filter(|one| matches!(one.flow, Flow::Script { .. }));
        scripts.map(|scenario| u64::from(scenario.max_vus)).sum()
    }

    fn connections_to(&self, index: OriginIndex, origin: &Origin, loops: u16) -> u64 {
        let (mut own, mut pooled) = (0, 0);
        let both = self.shape.scenarios.iter().zip(&self.steps.scenarios);
        for (shape, _) in both.filter(|(_, steps)| steps.uses(index)) {
            match origin.reuse_in(shape.model()) {
                Reuse::User | Reuse::Iteration => own += u64::from(shape.max_vus),
                Reuse::Pool | Reuse::Never => pooled += u64::from(shape.max_vus),
            }
        }
        let limits = origin.pool_limits(origin.reuse.unwrap_or(Reuse::Pool));
        let most = match origin.protocol {
            Some(WireProtocol::Http2) => limits.needed_for(pooled) as u64,
            Some(WireProtocol::Http1) | None => limits.max_http1 as u64,
        };
        own + pooled.min(most.saturating_mul(u64::from(loops)))
    }

    /// Each origin's target name and address, of those whose address is known.
    pub fn origins(&self) -> impl Iterator<Item = (&str, OriginAddress)> {
        self.directory.origins().filter_map(|(_, origin)| {
            let route = origin.address.route()?;
            let address = match &*route {
                Route::Tcp(_) => OriginAddress::Tcp(route.tcp_addresses().collect()),
                Route::Unix(path) => OriginAddress::Unix(path.clone()),
            };
            Some((origin.target.as_str(), address))
        })
    }

    /// What has changed about the addresses of origins since this was last asked.
    pub fn take_address_changes(&self) -> Vec<AddressChange> {
        let mut changes: Vec<AddressChange> =
            self.directory.origins().flat_map(|(_, origin)| origin.address.take_changes()).collect();
        changes.sort_by_key(|change| change.at);
        changes
    }

    /// The TLS configuration of a target; none where it does not use TLS.
    pub fn tls(&self, target: &str) -> Option<&Arc<ClientConfig>> {
        self.directory.tls(target)
    }

    /// The TLS configurations of all targets of a plan that is not compiled yet.
    ///
    /// # Errors
    /// [`CompileError::Tls`] when its certificates cannot be used.
    pub fn tls_of(plan: &LoadedPlan) -> Result<BTreeMap<String, Arc<ClientConfig>>, CompileError> {
        compile::tls_of(&plan.workload, &plan.tls)
    }

    /// What the run's setup extracted, by variable, and what it has counted.
    pub fn setup(&self) -> (&[Arc<[u8]>], &[Tick]) {
        (&self.steps.setup_variables, &self.steps.setup_ticks)
    }

    /// The same, where another process made the run's setup: it extracted these values, and counted this. None where the
    /// values are not those of this plan.
    #[must_use]
    pub fn set_up_elsewhere(mut self, variables: Vec<Arc<[u8]>>, ticks: Vec<Tick>) -> Option<Program> {
        if variables.len() != self.steps.setup_variables.len() {
            return None;
        }
        self.steps.setup_variables = variables;
        self.steps.setup_ticks = ticks;
        Some(self)
    }

    /// Redacts exchanges wherever they are shown.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

fn shape(workload: &Workload) -> Shape {
    let phase = |p: &Phase| PhaseProgram { name: p.name.as_str().into(), end: Instant::at(p.end) };
    let scenario = |(index, scenario): (usize, &Scenario)| ScenarioProgram {
        name: scenario.name.as_str().into(),
        tags: shared_names(&scenario.tags),
        executor: scenario.executor.clone(),
        timetable: Timetable::new(workload, index, Segment::WHOLE),
        start: scenario.start,
        preallocated_vus: scenario.preallocated_vus,
        max_vus: scenario.max_vus,
        graceful_stop: scenario.graceful_stop,
    };
    let setup_phase = PhaseProgram { name: Key::SETUP.into(), end: Instant::NEVER };
    let setup = ScenarioProgram {
        name: Key::SETUP.into(),
        tags: BTreeMap::new(),
        executor: ONCE,
        timetable: None,
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 1,
        graceful_stop: Duration::ZERO,
    };
    Shape {
        seed: workload.seed,
        phases: workload.phases.iter().map(phase).chain([setup_phase]).collect(),
        scenarios: workload.scenarios.iter().enumerate().map(scenario).chain([setup]).collect(),
    }
}

fn shared_names(map: &BTreeMap<String, String>) -> BTreeMap<Name, Name> {
    map.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect()
}
