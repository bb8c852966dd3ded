//! The resolved workload: plain data, validated, with every default filled in.
//!
//! The archive stores it and the judge reads it. Templates, patterns and paths are kept as source text, so that no
//! secret and nothing compiled is stored; the engine compiles them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::call::CallOptions;
pub use crate::executor::{Arrivals, Executor, MAX_VUS, Stage, VuStage};
use crate::http::HttpOptions;
use crate::objective::Objective;
use crate::observation::ProfileMark;
pub use crate::target::{GrpcOrigin, HttpOrigin, ProcessRef, ReadyProbe, Target, WaitReady};
use crate::template::{Template, templates_in};
use crate::think::Think;
use crate::turns::Interleaved;
use crate::until_decided::UntilDecided;

/// What a run offers, and its objectives. Targets, phases and scenarios are referred to by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The name in the plan, else the plan's file name without extension.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// The systems under test, by name.
    pub targets: BTreeMap<String, Target>,
    /// Data files, by name.
    pub data: BTreeMap<String, DataSource>,
    /// Windows of run time, ascending, without gaps, the first from 0. Never empty.
    pub phases: Vec<Phase>,
    /// Load shapes; at least one.
    pub scenarios: Vec<Scenario>,
    /// Of a run beside another at the same moment: which arrivals of both are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaved: Option<Interleaved>,
    /// Steps that are sent once before the load; all virtual users can use the values that they extract.
    pub setup: Vec<Step>,
    /// What the run must show.
    pub objectives: Vec<Objective>,
    /// The confidence of all violations together, from 0.5 to 1; none: that of each by itself is 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<f64>,
    /// Of a run that ends as soon as every objective is decided: when it is judged, and at which confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_decided: Option<UntilDecided>,
    /// The growth an hour that must be excluded for the absence of a leak, as a share of the level, up to 1; none: the judge's
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leak_margin: Option<f64>,
    /// When targets are profiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileMark>,
    /// Send each step once before the load, and stop if one fails.
    pub precheck: bool,
    /// Send a W3C `traceparent` header with each request.
    pub traceparent: bool,
    /// Names of headers and of JSON, form and query fields that are redacted besides the built-in ones.
    pub secrets: Vec<String>,
}

impl Workload {
    /// A workload that offers and asks nothing.
    pub fn named(name: impl Into<String>) -> Workload {
        Workload {
            name: name.into(),
            seed: 0,
            targets: BTreeMap::new(),
            data: BTreeMap::new(),
            phases: Vec::new(),
            scenarios: Vec::new(),
            interleaved: None,
            setup: Vec::new(),
            objectives: Vec::new(),
            family: None,
            until_decided: None,
            leak_margin: None,
            profiles: Vec::new(),
            precheck: false,
            traceparent: false,
            secrets: Vec::new(),
        }
    }

    /// How many endpoint names are folded into one row, because there are too many for a row each.
    pub fn folded_endpoints(&self) -> u64 {
        let folded = |scenario: &Scenario| match &scenario.flow {
            Flow::InTurn { folded, .. } => *folded,
            Flow::Mix(_) | Flow::Sequence(_) | Flow::Script { .. } => 0,
        };
        self.scenarios.iter().map(folded).sum()
    }

    /// Every step: those of the run's set-up, then those of the scenarios.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.setup.iter().chain(self.scenarios.iter().flat_map(Scenario::steps))
    }

    /// The steps that a dropped arrival of this scenario would have made, where its key does not name one: all of a sequence.
    pub fn steps_of_sequence(&self, scenario: &str) -> &[Step] {
        match self.scenarios.iter().find(|s| s.name == scenario).map(|s| &s.flow) {
            Some(Flow::Sequence(steps)) => steps,
            Some(Flow::Mix(_) | Flow::InTurn { .. } | Flow::Script { .. }) | None => &[],
        }
    }
}

/// A data file, one record a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSource {
    /// Where the rows come from.
    pub from: DataFrom,
    /// Which row an iteration gets.
    pub pick: Pick,
    /// The number of rows.
    pub rows: u64,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataFrom {
    /// A CSV file with a header line, or a JSON array of objects, relative to the plan's folder.
    File(String),
    /// A pattern such as `user-{1..10000}` that generates rows with the one column `id`.
    Generate(String),
}

/// Which row of a data file an iteration gets. All three are functions of seed and arrival number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Row by row, and from the first again after the last.
    Sequential,
    /// Any row, seeded.
    Random,
    /// Row by row, each at most once in a run; a plan that needs more rows than there are is refused.
    Unique,
}

/// A window of run time with statistics of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    /// Its start, from the start of the run.
    pub start: Duration,
    /// Its end, which is the start of the next one.
    pub end: Duration,
}

/// A named load shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
    /// What starts its iterations.
    pub executor: Executor,
    /// How arrivals of an open model are spaced.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Its start, from the start of the run.
    pub start: Duration,
    /// Open model: how many virtual users are created before the load, so that the first arrivals do not wait for
    /// that.
    #[serde(default)]
    pub preallocated_vus: u32,
    /// The VU limit: the highest number of iterations under way at once.
    pub max_vus: u32,
    /// How long iterations under way at its end may take before they are cancelled.
    pub graceful_stop: Duration,
    /// Dimensions that are stored with all of its observations.
    pub tags: BTreeMap<String, String>,
    /// Steps that each virtual user makes once, before its first iteration.
    pub setup: Vec<Step>,
    /// What an iteration does.
    pub flow: Flow,
}

impl Scenario {
    /// Every step: those of the set-up, then those of the flow.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.setup.iter().chain(self.flow.steps())
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
    /// One step, which a row of a data file names: row by row, and from the first again after the last.
    InTurn {
        /// The data file's name; its column `step` holds indices of steps, from 0.
        data: String,
        /// The steps; requests that differ only in their values share one.
        steps: Vec<Step>,
        /// How many endpoint names are folded into the last.
        folded: u64,
    },
    /// A function of a script, which has no steps: what it sends is known only when it runs.
    Script {
        /// The name of the function.
        function: String,
    },
}

impl Flow {
    /// Every step, in the plan's order; none of a script.
    pub fn steps(&self) -> Box<dyn Iterator<Item = &Step> + '_> {
        match self {
            Flow::Mix(mix) => Box::new(mix.iter().map(|w| &w.step)),
            Flow::Sequence(steps) | Flow::InTurn { steps, .. } => Box::new(steps.iter()),
            Flow::Script { .. } => Box::new(std::iter::empty()),
        }
    }

    /// Whether an iteration is one request: then a rate of arrivals is one of requests.
    pub fn is_one_request(&self) -> bool {
        match self {
            Flow::Sequence(steps) => steps.len() == 1,
            Flow::Mix(_) | Flow::InTurn { .. } => true,
            Flow::Script { .. } => false,
        }
    }

    /// Every step, mutable.
    pub fn steps_mut(&mut self) -> Box<dyn Iterator<Item = &mut Step> + '_> {
        match self {
            Flow::Mix(mix) => Box::new(mix.iter_mut().map(|w| &mut w.step)),
            Flow::Sequence(steps) | Flow::InTurn { steps, .. } => Box::new(steps.iter_mut()),
            Flow::Script { .. } => Box::new(std::iter::empty()),
        }
    }
}

/// One step of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Its share of the sum of all weights.
    pub weight: u32,
    pub step: Step,
}

/// One operation of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The endpoint's name in every table.
    pub name: String,
    pub request: Request,
    /// Time limit, from the request's due instant to the last byte of its response.
    pub timeout: Duration,
    /// Think time: the pause between the end of the step before it and its due instant.
    pub think: Think,
    /// The checks of the response.
    pub expect: Expect,
    /// Values of the response that later steps use, in the plan's order.
    pub extract: Vec<Extract>,
}

impl Step {
    /// Every template of the step: those of its request, then those of its checks.
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
    Http {
        target: String,
        /// The method, such as `GET`.
        method: String,
        /// Path and query after the target's origin, base path included.
        path: Template,
        /// Headers; names in lower case.
        headers: Vec<(String, Template)>,
        /// The body; empty for none.
        body: Template,
        /// Redirects, authorization, compression.
        #[serde(default)]
        options: HttpOptions,
    },
    /// A gRPC call.
    Grpc {
        target: String,
        /// `package.Service/Method`.
        method: String,
        /// Metadata; names in lower case.
        metadata: Vec<(String, Template)>,
        /// The message as JSON, in which strings are templates; the first, if several are sent.
        message: serde_json::Value,
        /// Further messages, streaming, deadline, compression.
        #[serde(default)]
        call: CallOptions,
    },
}

impl Request {
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

/// The checks of a response. All must pass.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Expect {
    /// Expected HTTP statuses; empty: 200 to 399.
    pub status: Vec<u16>,
    /// Expected gRPC codes, by name; empty: `OK`.
    pub grpc_status: Vec<String>,
    /// Expected number of response messages of a gRPC call; none: any number.
    #[serde(default)]
    pub messages: Option<u64>,
    /// Headers (or metadata) and their expected values; names in lower case.
    pub headers: Vec<(String, Template)>,
    /// RFC 9535 paths and the JSON value that each must select (one node, equal). Its strings are not templates.
    pub json: Vec<(String, serde_json::Value)>,
    /// Texts that the body must contain.
    pub body_contains: Vec<Template>,
}

impl Expect {
    /// The names of its checks, in the order in which they are made.
    pub fn check_names(&self) -> Vec<String> {
        let mut names = vec!["status".to_owned()];
        names.extend(self.messages.map(|count| format!("messages = {count}")));
        names.extend(self.headers.iter().map(|(name, _)| format!("header {name}")));
        names.extend(self.json.iter().map(|(path, _)| format!("json {path}")));
        names.extend((1..=self.body_contains.len()).map(|number| format!("body contains ({number})")));
        names
    }
}

/// A value extracted from a response under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// Later steps use it as `${name}`.
    pub name: String,
    /// Where in the response it is.
    pub from: ExtractFrom,
}

/// Where in a response a value is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractFrom {
    /// The first node that an RFC 9535 path selects; strings without quotes.
    Json(String),
    /// The value of a header; name in lower case.
    Header(String),
    /// The first group of a regular expression in the body, or the whole match.
    Regex(String),
    /// The same in the values of a header: in the first that matches.
    HeaderRegex {
        /// Its name in lower case.
        header: String,
        /// The regular expression.
        regex: String,
    },
}
