//! A script: its modules and files, read and compiled once, and what it exports.

mod shared_state;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::BodyBudget;
use evidence::metric::MetricKind;

use crate::added_values::ValueOutput;
use crate::grpc::Catalogue;
use crate::js::{Exception, Language, NoHeap};
use crate::metrics::{Contains, SubMetric};
use crate::rate_limit::RateLimit;
use crate::sources::Sources;

pub(crate) use shared_state::{Counted, InstanceCounts};
pub use shared_state::{InitFailure, TestOutcome, TestRequests};

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// `console.debug`.
    Debug,
    /// `console.log` and `console.info`.
    Info,
    /// `console.warn`, and requests that failed.
    Warning,
    /// `console.error`, and exceptions.
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub text: String,
    /// Names and values that follow it, such as `source=console`.
    pub fields: Vec<(&'static str, String)>,
}

/// Takes the lines of the log; called on the loops, so that it must not wait.
pub type LogSink = Arc<dyn Fn(LogLine) + Send + Sync>;

/// Why a script cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It, or what it imports, throws when it is evaluated.
    #[error("{}", .0.in_full())]
    Threw(Exception),
    /// Its heap cannot be made.
    #[error(transparent)]
    Heap(#[from] NoHeap),
    /// It has asked for the end of its test, with this message.
    #[error("{0}")]
    Aborted(String),
    /// It does not export what is called.
    #[error("{0}")]
    Exports(String),
    /// It exports no function at all.
    #[error("no exported functions in script")]
    NoFunctions,
}

/// Which functions a script exports besides those of scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lifecycle {
    /// `setup`.
    pub has_setup: bool,
    /// `teardown`.
    pub has_teardown: bool,
    /// `handleSummary`.
    pub has_handle_summary: bool,
}

/// A script that was evaluated once.
#[derive(Clone)]
pub struct Script(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    /// The full name of its main module.
    pub(crate) main: String,
    pub(crate) sources: Sources,
    pub(crate) env: BTreeMap<String, String>,
    /// Names of variables that `__ENV` has elsewhere.
    pub(crate) withheld_env: Vec<String>,
    /// What is known after the first evaluation.
    pub(crate) evaluated: OnceLock<Evaluated>,
    /// What options add to it.
    pub(crate) resolved: OnceLock<Resolved>,
    pub(crate) requests: TestRequests,
    pub(crate) counts: InstanceCounts,
    /// Whether the log says that redirects are followed without secrets.
    pub(crate) has_warned_of_redirects: AtomicBool,
    pub(crate) grpc: Catalogue,
    /// What responses take that virtual users receive and hold.
    pub(crate) budget: Arc<BodyBudget>,
}

/// What the first evaluation found.
pub(crate) struct Evaluated {
    pub(crate) options: serde_json::Value,
    pub(crate) functions: Vec<String>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) metrics: Vec<(String, MetricKind, Contains)>,
    /// What the contexts of its virtual users need.
    pub(crate) language: Language,
}

/// What its options say of how a script is run.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Tags of all values.
    pub tags: BTreeMap<String, String>,
    /// The sub-metrics that thresholds name.
    pub sub_metrics: Vec<SubMetric>,
    /// What requests have that do not say otherwise.
    pub http: HttpDefaults,
    /// How long an iteration takes at least.
    pub least_iteration: Duration,
    /// The most requests a second of all virtual users; none: any number.
    pub rate_limit: Option<Arc<RateLimit>>,
    /// Who takes every value by itself; none where no output asks for it.
    pub values: Option<ValueOutput>,
    /// How long `setup` may take.
    pub setup_limit: Duration,
    /// How long `teardown` may take.
    pub teardown_limit: Duration,
    /// How many virtual users there are before the load begins.
    pub early_users: u64,
}

impl Default for RunSettings {
    fn default() -> RunSettings {
        RunSettings {
            tags: BTreeMap::new(),
            sub_metrics: Vec::new(),
            http: HttpDefaults::default(),
            least_iteration: Duration::ZERO,
            rate_limit: None,
            values: None,
            setup_limit: Duration::from_secs(60),
            teardown_limit: Duration::from_secs(60),
            early_users: 0,
        }
    }
}

/// What requests have that do not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpDefaults {
    /// How many redirects are followed.
    pub redirects: u32,
    /// What becomes of secrets when a redirect leads to another origin.
    pub redirect_secrets: RedirectSecrets,
    /// The header `User-Agent`.
    pub user_agent: String,
    /// Whether bodies of responses are kept.
    pub bodies: Bodies,
    /// Whether requests that fail throw.
    pub failures: Failures,
    /// How long cookies are kept.
    pub cookies: CookieLife,
    /// How many requests of a batch are under way at once.
    pub batch: u32,
    /// How many of them to one server; 0 for as many as there are.
    pub batch_per_host: u32,
}

/// What becomes of secret headers and of bodies when a redirect leads to another origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedirectSecrets {
    /// It does not get them.
    #[default]
    Removed,
    /// It gets them, as far as k6 sends them.
    Kept,
}

/// How long the cookies of a virtual user are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CookieLife {
    /// Until its iteration ends.
    Iteration,
    /// As long as it lives.
    VirtualUser,
}

/// Whether bodies of responses are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    Kept,
    Discarded,
}

/// What a request does that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failures {
    /// It returns a response without a status.
    Returned,
    Thrown,
}

impl Default for HttpDefaults {
    fn default() -> HttpDefaults {
        HttpDefaults {
            redirects: 10,
            redirect_secrets: RedirectSecrets::Removed,
            user_agent: concat!("plimsoll/", env!("CARGO_PKG_VERSION")).to_owned(),
            bodies: Bodies::Kept,
            failures: Failures::Returned,
            cookies: CookieLife::Iteration,
            batch: 20,
            batch_per_host: 6,
        }
    }
}

#[derive(Default)]
pub(crate) struct Resolved {
    settings: RunSettings,
    /// What `setup` returned, as JSON; none where it returned nothing.
    setup_data: OnceLock<Option<String>>,
}

impl Script {
    fn evaluated(&self) -> &Evaluated {
        self.0.evaluated.get().expect("a script is evaluated when it is loaded")
    }

    fn resolved(&self) -> &Resolved {
        self.0.resolved.get_or_init(Resolved::default)
    }

    /// The options that it exports; `null` where there are none.
    pub fn options(&self) -> &serde_json::Value {
        &self.evaluated().options
    }

    /// The names of the functions that it exports.
    pub fn functions(&self) -> &[String] {
        &self.evaluated().functions
    }

    /// That it exports a function.
    ///
    /// # Errors
    /// [`ScriptError::NoFunctions`].
    pub fn require_functions(&self) -> Result<(), ScriptError> {
        if self.functions().is_empty() { Err(ScriptError::NoFunctions) } else { Ok(()) }
    }

    /// What contexts need: the first has everything.
    pub(crate) fn language(&self) -> Language {
        self.0.evaluated.get().map_or(Language::WHOLE, |evaluated| evaluated.language)
    }

    /// Which functions it exports besides those of scenarios.
    pub fn lifecycle(&self) -> Lifecycle {
        self.evaluated().lifecycle
    }

    /// The metrics that it makes when it is evaluated: names, kinds, contents.
    pub fn metrics(&self) -> &[(String, MetricKind, Contains)] {
        &self.evaluated().metrics
    }

    /// Set what its options say, before it is run.
    pub fn resolve(&self, settings: RunSettings) {
        // Said once; a script is resolved by the command that runs it.
        let _ = self.0.resolved.set(Resolved { settings, setup_data: OnceLock::new() });
    }

    pub(crate) fn settings(&self) -> &RunSettings {
        &self.resolved().settings
    }

    /// What `setup` returned, as JSON; none where it returned nothing or has not run.
    pub fn setup_data(&self) -> Option<&str> {
        self.resolved().setup_data.get()?.as_deref()
    }

    /// Another process has called `setup`, which returned this JSON, or nothing.
    pub fn was_set_up(&self, json: Option<String>) {
        // It is run once.
        let _ = self.resolved().setup_data.set(json);
    }

    /// The elements of its `SharedArray`s, as JSON, by their names.
    pub fn shared_arrays(&self) -> BTreeMap<String, Arc<[String]>> {
        self.sources().shared_arrays()
    }

    /// What it asks of its whole test.
    pub fn requests(&self) -> &TestRequests {
        &self.0.requests
    }

    /// What its virtual users have done so far.
    pub(crate) fn counts(&self) -> &InstanceCounts {
        &self.0.counts
    }

    /// The memory for what virtual users receive and hold, which the program that runs it shares.
    pub fn budget(&self) -> &Arc<BodyBudget> {
        &self.0.budget
    }

    /// What its files say of gRPC services.
    pub(crate) fn grpc(&self) -> &Catalogue {
        &self.0.grpc
    }

    /// Why it could not go on: that it has asked for the end of its test, else what it threw.
    pub(crate) fn failure(&self, exception: Exception) -> ScriptError {
        match self.requests().abort_message() {
            Some(message) => ScriptError::Aborted(message.to_owned()),
            None => ScriptError::Threw(exception),
        }
    }

    pub(crate) fn main(&self) -> &str {
        &self.0.main
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.0.sources
    }

    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.0.env
    }

    pub(crate) fn withheld_env(&self) -> &[String] {
        &self.0.withheld_env
    }

    pub(crate) fn tags(&self) -> &BTreeMap<String, String> {
        &self.settings().tags
    }

    pub(crate) fn value_output(&self) -> Option<&ValueOutput> {
        self.settings().values.as_ref()
    }

    pub(crate) fn sub_metrics(&self) -> Rc<[SubMetric]> {
        self.settings().sub_metrics.clone().into()
    }
}

impl Exception {
    /// The message, and where it was thrown.
    pub(crate) fn in_full(&self) -> String {
        let places = self.stack.lines().map(|line| format!("\n\t{}", line.trim()));
        format!("{}{}", self.message, places.collect::<String>())
    }
}
