//! The resolved workload: plain data, validated, with every default filled in.
//!
//! It is what the archive stores and the judge reads. Templates, patterns and paths are kept as their
//! source text, so that nothing secret and nothing compiled gets into the file; the engine compiles them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::call::CallOptions;
use crate::connection::{Connecting, Scheme};
pub use crate::executor::{Arrivals, Executor, Stage, VuStage};
use crate::http::HttpOptions;
use crate::objective::Objective;
use crate::observation::{Observation, ProfileMark};
use crate::schedule::Segment;
use crate::template::{Template, Value, templates_in};
use crate::timetable::{Planned, Timetable};

/// Everything a run offers and asks. Targets, phases, scenarios are referred to by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The plan's name: from the plan, else its file name without extension.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// What is under test, by name.
    pub targets: BTreeMap<String, Target>,
    /// Data files, by name.
    pub data: BTreeMap<String, DataSource>,
    /// Windows of run time, ascending, without gaps, the first from 0. Never empty.
    pub phases: Vec<Phase>,
    /// Load shapes; at least one.
    pub scenarios: Vec<Scenario>,
    /// Steps made once before the load, whose extracted values every virtual user sees.
    pub setup: Vec<Step>,
    /// What the run is asked to show.
    pub objectives: Vec<Objective>,
    /// When targets are profiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileMark>,
    /// Send each step once before the load and stop if one fails.
    pub precheck: bool,
    /// Send a W3C `traceparent` header with each request.
    pub traceparent: bool,
    /// Names of headers and of JSON, form and query fields that are redacted besides the usual ones.
    pub secrets: Vec<String>,
}

impl Workload {
    /// How many arrivals the scenario at `place` plans; none if it makes as many iterations as it can.
    pub fn arrivals_planned(&self, place: usize) -> Option<Planned> {
        let iterations = self.scenarios.get(place)?.executor.iterations();
        match iterations {
            Some(count) => Some(Planned { count, is_exact: true }),
            None => Some(Timetable::of(self, place, Segment::WHOLE)?.planned()),
        }
    }
}

impl Workload {
    /// How many names of endpoints are folded into others, because there are too many to tell apart.
    pub fn folded_endpoints(&self) -> u64 {
        let folded = |scenario: &Scenario| match &scenario.flow {
            Flow::InTurn { folded, .. } => *folded,
            Flow::Mix(_) | Flow::Sequence(_) => 0,
        };
        self.scenarios.iter().map(folded).sum()
    }
}

/// A system under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Target {
    /// For HTTP.
    pub http: Option<HttpOrigin>,
    /// For gRPC: host and port, and the files that describe it.
    pub grpc: Option<GrpcOrigin>,
    /// Whose CPU and memory is observed.
    pub process: Option<ProcessRef>,
    /// What must answer before the load begins.
    pub wait_ready: Option<WaitReady>,
    /// How it is connected to.
    #[serde(default, skip_serializing_if = "Connecting::is_default")]
    pub connecting: Connecting,
    /// What is watched of it besides its process.
    #[serde(default, skip_serializing_if = "Observation::is_empty")]
    pub observe: Observation,
    /// Whether each virtual user keeps the cookies that it sets, and sends them back.
    #[serde(default)]
    pub cookies: bool,
}

/// Where an HTTP target is, and the path all of its URLs begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpOrigin {
    /// Under TLS or not.
    #[serde(default)]
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path prefix without a trailing slash; may be empty.
    pub base_path: String,
}

/// Where a gRPC target is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcOrigin {
    /// Under TLS or not.
    #[serde(default)]
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Descriptions of its services, relative to the plan's folder; none: it is asked itself.
    pub proto: Vec<String>,
    /// How many connections requests are spread over.
    pub connections: u32,
}

impl GrpcOrigin {
    /// `HOST:PORT` as it is written.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// Which process a target is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRef {
    /// By its id.
    Pid(u32),
    /// The one listening on this TCP port of this machine.
    Port(u16),
}

/// What is asked until it answers well, before the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitReady {
    /// What is asked.
    pub probe: ReadyProbe,
    /// How long it may take in all.
    pub within: Duration,
}

/// How readiness is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyProbe {
    /// GET this URL until it answers 200 to 299.
    Url(String),
    /// `grpc.health.v1.Health/Check` at this host and port until it says SERVING.
    GrpcHealth {
        /// Under TLS or not.
        #[serde(default)]
        scheme: Scheme,
        /// Host and port.
        authority: String,
        /// The service asked for; empty for the server as a whole.
        service: String,
    },
}

/// A data file, one row a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSource {
    /// Where the rows come from.
    pub from: DataFrom,
    /// Which row an iteration gets.
    pub pick: Pick,
    /// How many rows there are.
    pub rows: u64,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataFrom {
    /// A CSV file with a header line, or a JSON array of objects, relative to the plan's folder.
    File(String),
    /// A pattern such as `user-{1..10000}` that makes rows with the one column `id`.
    Generate(String),
}

/// Which row of a data file an iteration gets. All three are functions of seed and arrival number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Row by row, from the start again after the last.
    Sequential,
    /// Any row, seeded.
    Random,
    /// Row by row, each at most once in a run; a plan that needs more rows than there are is refused.
    Unique,
}

/// A window of run time with its own statistics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Where it begins, from the start of the run.
    pub start: Duration,
    /// Where the next one begins.
    pub end: Duration,
}

/// One named load shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How arrivals come about.
    pub executor: Executor,
    /// How arrivals are spaced; an open model's.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// When it begins, from the start of the run.
    pub start: Duration,
    /// How many virtual users are made before the load, so that the first arrivals do not wait for it; an open
    /// model's.
    #[serde(default)]
    pub preallocated_vus: u32,
    /// The most virtual users (iterations under way at once) it may have.
    pub max_vus: u32,
    /// How long iterations under way at its end may take to finish before they are cancelled.
    pub graceful_stop: Duration,
    /// Dimensions that are kept with every observation of it.
    pub tags: BTreeMap<String, String>,
    /// Steps made once by each virtual user, before its first iteration.
    pub setup: Vec<Step>,
    /// What an iteration does.
    pub flow: Flow,
}

impl Scenario {
    /// Every step: those of the set-up, then those of the flow.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.setup.iter().chain(self.flow.steps())
    }

    /// Whether a step takes values from the data file `set`.
    pub fn uses_data(&self, set: &str) -> bool {
        let is_set = |value: &Value| matches!(value, Value::Data { set: used, .. } if used == set);
        self.steps().any(|step| step.templates().iter().any(|template| template.values().any(is_set)))
    }
}

/// What an iteration does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// One step, drawn by weight.
    Mix(Vec<Weighted>),
    /// All steps in order; an iteration ends at the first that fails.
    Sequence(Vec<Step>),
    /// One step, the one that a row of a data file names: arrival after arrival row after row, and from the first
    /// again after the last.
    InTurn {
        /// The data file's name; its column `step` holds the places of steps, from 0.
        data: String,
        /// What requests of the same kind have in common.
        steps: Vec<Step>,
        /// How many names of endpoints are folded into the last.
        folded: u64,
    },
}

impl Flow {
    /// Every step, in the plan's order.
    pub fn steps(&self) -> Box<dyn Iterator<Item = &Step> + '_> {
        match self {
            Flow::Mix(mix) => Box::new(mix.iter().map(|w| &w.step)),
            Flow::Sequence(steps) | Flow::InTurn { steps, .. } => Box::new(steps.iter()),
        }
    }

    /// The same, to be changed.
    pub fn steps_mut(&mut self) -> Box<dyn Iterator<Item = &mut Step> + '_> {
        match self {
            Flow::Mix(mix) => Box::new(mix.iter_mut().map(|w| &mut w.step)),
            Flow::Sequence(steps) | Flow::InTurn { steps, .. } => Box::new(steps.iter_mut()),
        }
    }
}

/// One step of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Its share of the sum of all weights.
    pub weight: u32,
    /// The step.
    pub step: Step,
}

/// One operation of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The endpoint's name in every table.
    pub name: String,
    /// What is sent.
    pub request: Request,
    /// Due instant of the request → failure, if there is no complete response by then.
    pub timeout: Duration,
    /// Pause before the step becomes due, after the end of the step before it.
    pub think: Duration,
    /// What a good response looks like.
    pub expect: Expect,
    /// What later steps need from the response, in the plan's order.
    pub extract: Vec<Extract>,
}

impl Step {
    /// Every template of the step: of its request, then of what it expects.
    pub fn templates(&self) -> Vec<Cow<'_, Template>> {
        let mut all = self.request.templates();
        all.extend(self.expect.headers.iter().map(|(_, value)| Cow::Borrowed(value)));
        all.extend(self.expect.body_contains.iter().map(Cow::Borrowed));
        all
    }
}

/// What a step sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// An HTTP request.
    Http {
        /// The target's name.
        target: String,
        /// Such as `GET`.
        method: String,
        /// Path and query after the target's origin, base path included.
        path: Template,
        /// Names in lower case.
        headers: Vec<(String, Template)>,
        /// The body; empty for none.
        body: Template,
        /// How it is sent and followed.
        #[serde(default)]
        options: HttpOptions,
    },
    /// A gRPC call.
    Grpc {
        /// The target's name.
        target: String,
        /// `package.Service/Method`.
        method: String,
        /// Metadata; names in lower case.
        metadata: Vec<(String, Template)>,
        /// The message as JSON, in which strings are templates; the first, where several are sent.
        message: serde_json::Value,
        /// How it goes on after that.
        #[serde(default)]
        call: CallOptions,
    },
}

impl Request {
    /// The target's name.
    pub fn target(&self) -> &str {
        match self {
            Request::Http { target, .. } | Request::Grpc { target, .. } => target,
        }
    }

    /// Headers or metadata; names in lower case.
    pub fn headers(&self) -> &[(String, Template)] {
        match self {
            Request::Http { headers, .. } => headers,
            Request::Grpc { metadata, .. } => metadata,
        }
    }

    /// Every template of the request.
    pub fn templates(&self) -> Vec<Cow<'_, Template>> {
        let mut all: Vec<_> = self.headers().iter().map(|(_, value)| Cow::Borrowed(value)).collect();
        match self {
            Request::Http { path, body, options, .. } => {
                let texts = [path, body].into_iter().chain(&options.basic_auth);
                all.extend(texts.map(Cow::Borrowed));
            }
            Request::Grpc { message, call, .. } => {
                let messages = std::iter::once(message).chain(&call.then);
                all.extend(messages.flat_map(templates_in).map(Cow::Owned));
            }
        }
        all
    }
}

/// What a good response looks like. Everything in it must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Expect {
    /// HTTP statuses that are right; empty: 200 to 399.
    pub status: Vec<u16>,
    /// gRPC codes that are right, by name; empty: `OK`.
    pub grpc_status: Vec<String>,
    /// How many messages must have come in answer to a gRPC call; none: as many as come.
    #[serde(default)]
    pub messages: Option<u64>,
    /// Headers (or metadata) that must be there, lower case, with this value.
    pub headers: Vec<(String, Template)>,
    /// RFC 9535 paths and the JSON value each must select (one node, equal). Strings in it are no templates.
    pub json: Vec<(String, serde_json::Value)>,
    /// Text the body must contain.
    pub body_contains: Vec<Template>,
}

/// A value taken out of a response under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// Later steps say `${name}`.
    pub name: String,
    /// Where it is.
    pub from: ExtractFrom,
}

/// Where in a response a value is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractFrom {
    /// The first node an RFC 9535 path selects; strings without quotes.
    Json(String),
    /// A header's value, name in lower case.
    Header(String),
    /// The first group of a regular expression in the body, or the whole match.
    Regex(String),
}
