//! A script, and everything that says how it is run: read here, or once more by a worker.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use workload::{Files, MetricUnit, Objective};

use crate::inputs::ScriptInputs;
use crate::loading::ScriptSource;
use crate::metrics::{BUILTINS, Contains, SubMetric};
use crate::network::NetworkRules;
use crate::options::thresholds::{MetricThresholds, built_in_kind, compile};
use crate::options::{ConsolidatedOptions, Layer, Options, OptionsError, consolidate};
use crate::outputs::{OutputError, ValueFiles, ValueTarget, metric_lines};
use crate::rate_limit::RateLimit;
use crate::results;
use crate::script::{
    Bodies, CookieLife, Failures, HttpDefaults, LogSink, RedirectSecrets, RunSettings, Script, ScriptError,
};
use crate::sources::{IMPORT_LOCK, ImportCache, ImportLock, ImportLockError};
use crate::threshold_watch::ThresholdStop;

/// Where a script is read.
pub struct ReadingProcess {
    /// The content of its files.
    pub files: Arc<dyn Files + Send + Sync>,
    /// Whether they are this machine's, where links may lead anywhere.
    pub has_disk: bool,
    /// The elements of each `SharedArray` that another process has made.
    pub shared_arrays: BTreeMap<String, Arc<[String]>>,
    /// How many loops of the run this process has, and how many there are.
    pub loops: (u32, u32),
    /// Where values are written to by this one.
    pub value_targets: Vec<ValueTarget>,
    /// Writes values that go to standard output.
    pub standard_output: fn(&str) -> io::Result<()>,
}

/// A script with its options.
pub struct LoadedScript {
    pub script: Script,
    /// Its options, from wherever they were set.
    pub options: ConsolidatedOptions,
    pub thresholds: Vec<MetricThresholds>,
    /// Whom it may ask.
    pub network: Arc<NetworkRules>,
    /// Where every value is written to.
    pub value_targets: Vec<ValueTarget>,
    /// Of every value, where outputs ask for them.
    pub values: Option<ValueFiles>,
    /// Whether thresholds have ended the run.
    pub threshold_stop: ThresholdStop,
    /// What it was read from.
    pub inputs: ScriptInputs,
    /// The content of its files.
    pub files: Arc<dyn Files + Send + Sync>,
}

/// Why a script cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its options cannot be used.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// It cannot be run.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Its file of options cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Config { path: PathBuf, error: io::Error },
    /// It is not there, or cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Missing { path: PathBuf, error: io::Error },
    /// Its lock file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    UnreadLock { path: PathBuf, error: io::Error },
    /// Its lock file is not a valid one.
    #[error("{}: {error}", path.display())]
    Lock { path: PathBuf, error: ImportLockError },
    /// A file of values cannot be written.
    #[error(transparent)]
    Values(#[from] OutputError),
}

impl LoadedScript {
    /// Its thresholds as objectives of its workload, in the order of the options.
    pub fn objectives(&self) -> Vec<Objective> {
        let own = self.script.metrics().iter().map(|(name, _, contains)| (name.as_str(), *contains));
        let all: Vec<(&str, Contains)> =
            BUILTINS.iter().map(|(name, _, contains)| (*name, *contains)).chain(own).collect();
        let unit_of = |name: &str| match all.iter().find(|(known, _)| *known == name) {
            Some((_, Contains::Time)) => MetricUnit::Milliseconds,
            Some((_, Contains::Data)) => MetricUnit::Bytes,
            Some((_, Contains::Default)) | None => MetricUnit::Number,
        };
        self.thresholds.iter().flat_map(|of| of.objectives(unit_of(&of.selector.name))).collect()
    }
}

/// Read a script and everything that says how it is run.
///
/// # Errors
/// [`LoadError`]: what of it cannot be used.
pub fn load(inputs: ScriptInputs, process: ReadingProcess, log: &LogSink) -> Result<LoadedScript, LoadError> {
    let ReadingProcess { files, has_disk, shared_arrays, loops: (own, all), value_targets, standard_output } =
        process;
    let ScriptInputs { path, flags, variables, files_under, import_cache, config, .. } = inputs.clone();
    let from_environment = Layer::of_environment(&variables)?;
    let mut env = if inputs.has_system_variables { variables } else { BTreeMap::new() };
    env.extend(flags.variables()?);
    let withheld_env = inputs.withheld_variables.clone();
    if let Err(error) = files.read(&path) {
        return Err(LoadError::Missing { path, error });
    }
    let below = if has_disk { inputs.restrict(files.clone()) } else { files.clone() };
    let lock = import_lock(&path, &*files)?;
    let cache = |folder| Arc::new(ImportCache { folder, lock, files: below.clone() });
    let source = ScriptSource {
        path,
        files: below.clone(),
        files_under,
        remote: import_cache.map(|folder| cache(folder) as _),
        env,
        withheld_env,
        shared_arrays,
    };
    let script = Script::load(source, log.clone())?;
    let of_script = Layer::of_script(script.options())?;
    of_script.require_executors()?;
    script.require_functions()?;
    let mut layers = vec![of_script, from_environment];
    layers.push(flags.layer()?);
    if let Some(config) = &config {
        let text = files.read(config).and_then(|text| String::from_utf8(text).map_err(io::Error::other));
        let text = text.map_err(|error| LoadError::Config { path: config.clone(), error })?;
        layers.push(Layer::of_config_file(&text)?);
    }
    let consolidated = consolidate(layers)?.only(&flags.scenarios)?;
    let options = if flags.once { consolidated.once() } else { consolidated };
    options.check_functions(|name| script.functions().iter().any(|known| known == name))?;
    let asked = options.options.thresholds.clone().filter(|_| options.options.no_thresholds != Some(true));
    let kind_of = |name: &str| {
        let own = script.metrics().iter().find(|(known, _, _)| known == name);
        own.map(|(_, kind, _)| *kind).or_else(|| built_in_kind(name))
    };
    let thresholds = compile(&asked.unwrap_or_default(), kind_of).map_err(OptionsError::from)?;
    options.check_part()?;
    let network = Arc::new(NetworkRules::from_options(&options.options)?);
    let lines = metric_lines(&results::definitions(&script), &thresholds, &sub_metrics(&thresholds));
    let system_tags = options.options.system_tags.clone().unwrap_or_default();
    let values = ValueFiles::start(&value_targets, &system_tags, &lines, standard_output)?;
    let output = values.as_ref().map(ValueFiles::output);
    let rate_limit = options.options.rps().map(|rps| Arc::new(RateLimit::per_second(rps, own, all)));
    let settings = settings(&options.options, &thresholds, &inputs);
    let early_users = options.requirements().early_vus;
    script.resolve(RunSettings { values: output, rate_limit, early_users, ..settings });
    let threshold_stop = ThresholdStop::default();
    Ok(LoadedScript {
        script,
        options,
        thresholds,
        network,
        value_targets,
        values,
        threshold_stop,
        inputs,
        files,
    })
}

/// The lock file beside a script, if there is one.
fn import_lock(script: &Path, files: &dyn Files) -> Result<Option<ImportLock>, LoadError> {
    let path = script.with_file_name(IMPORT_LOCK);
    let text = files.read(&path).and_then(|text| String::from_utf8(text).map_err(io::Error::other));
    match text {
        Ok(text) => ImportLock::parse(&text).map(Some).map_err(|error| LoadError::Lock { path, error }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LoadError::UnreadLock { path, error }),
    }
}

/// What options say of how a script is run.
fn settings(options: &Options, thresholds: &[MetricThresholds], inputs: &ScriptInputs) -> RunSettings {
    let defaults = HttpDefaults::default();
    let is_discarding = options.discard_response_bodies == Some(true);
    RunSettings {
        tags: options.tags.clone().unwrap_or_default(),
        sub_metrics: sub_metrics(thresholds),
        http: HttpDefaults {
            redirects: options.max_redirects(),
            redirect_secrets: match inputs.has_k6_redirects {
                true => RedirectSecrets::Kept,
                false => RedirectSecrets::Removed,
            },
            user_agent: options.user_agent.clone().unwrap_or(defaults.user_agent),
            bodies: if is_discarding { Bodies::Discarded } else { Bodies::Kept },
            failures: if options.throw == Some(true) { Failures::Thrown } else { Failures::Returned },
            cookies: match options.no_cookies_reset {
                Some(true) => CookieLife::VirtualUser,
                _ => CookieLife::Iteration,
            },
            batch: options.batch(),
            batch_per_host: options.batch_per_host().unwrap_or(0),
        },
        least_iteration: options.min_iteration_duration(),
        setup_limit: options.setup_timeout(),
        teardown_limit: options.teardown_timeout(),
        rate_limit: None,
        values: None,
        early_users: 0,
    }
}

/// The parts of metrics that thresholds are about, and the one that the summary always shows.
pub fn sub_metrics(thresholds: &[MetricThresholds]) -> Vec<SubMetric> {
    let shown = SubMetric {
        metric: "http_req_duration".to_owned(),
        tags: vec![("expected_response".to_owned(), "true".to_owned())],
    };
    let parts = thresholds.iter().filter(|of| !of.selector.tags.is_empty());
    let asked = parts.map(|of| SubMetric {
        metric: of.selector.name.clone(),
        tags: of.selector.tags.clone().into_iter().collect(),
    });
    let mut all = vec![shown];
    for part in asked {
        if !all.contains(&part) {
            all.push(part);
        }
    }
    all
}
