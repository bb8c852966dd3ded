//! A script, and everything that says how it is run: read here, or once more by a worker.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use engine::iteration::Behaviour;
use k6::options::thresholds::{MetricThresholds, built_in_kind, compile};
use k6::options::{Layer, Options, consolidate};
use k6::outputs::{ValueFiles, ValueTarget};
use k6::{
    Bodies, CookieLife, Failures, HttpDefaults, LogSink, NetworkRules, RateLimit, RedirectSecrets,
    RunSettings, Script, ScriptBehaviour, ScriptScenario, ScriptSource,
};
use workload::LoadedPlan;
use workload::{Files, Workload};

use super::inputs::ScriptInputs;
use super::loaded::{LoadedScript, sub_metrics};
use super::threshold_watch::ThresholdStop;
use super::values::value_files;
use super::{objectives, policy, standard_input, threw, unusable};

/// Where a script is read.
pub(super) struct ReadingProcess {
    /// The content of its files.
    pub(super) files: Arc<dyn Files + Send + Sync>,
    /// Whether they are this machine's, where links may lead anywhere.
    pub(super) has_disk: bool,
    /// The elements of each `SharedArray` that another process has made.
    pub(super) shared_arrays: BTreeMap<String, Arc<[String]>>,
    /// How many loops of the run this process has, and how many there are.
    pub(super) loops: (u32, u32),
    /// Where values are written to by this one.
    pub(super) value_targets: Vec<ValueTarget>,
}

/// Read a script and everything that says how it is run.
pub(super) fn load(
    inputs: ScriptInputs,
    process: ReadingProcess,
    log: &LogSink,
) -> CommandResult<LoadedScript> {
    let ReadingProcess { files, has_disk, shared_arrays, loops: (own, all), value_targets } = process;
    let ScriptInputs { path, flags, variables, files_under, import_cache, config, .. } = inputs.clone();
    let from_environment = Layer::of_environment(&variables).map_err(unusable)?;
    let mut env = if inputs.has_system_variables { variables } else { BTreeMap::new() };
    env.extend(flags.variables().map_err(unusable)?);
    let withheld_env = inputs.withheld_variables.clone();
    let source = ScriptSource {
        path,
        files: if has_disk { inputs.restrict(files.clone()) } else { files.clone() },
        files_under,
        import_cache,
        env,
        withheld_env,
        shared_arrays,
    };
    let script = Script::load(source, log.clone()).map_err(|error| threw(&error))?;
    let mut layers = vec![Layer::of_script(script.options()).map_err(unusable)?, from_environment];
    layers.push(flags.layer().map_err(unusable)?);
    if let Some(config) = &config {
        let text = files.read(config).and_then(|text| String::from_utf8(text).map_err(io::Error::other));
        let text =
            text.map_err(|error| Failure::usage(anyhow!("cannot read {}: {error}", config.display())))?;
        layers.push(Layer::of_config_file(&text).map_err(unusable)?);
    }
    let options = consolidate(layers).map_err(unusable)?;
    options.check_functions(|name| script.functions().iter().any(|known| known == name)).map_err(unusable)?;
    let asked = options.options.thresholds.clone().filter(|_| options.options.no_thresholds != Some(true));
    let kind_of = |name: &str| {
        let own = script.metrics().iter().find(|(known, _, _)| known == name);
        own.map(|(_, kind, _)| *kind).or_else(|| built_in_kind(name))
    };
    let thresholds = compile(&asked.unwrap_or_default(), kind_of).map_err(|error| unusable(error.into()))?;
    options.check_part().map_err(unusable)?;
    let network = Arc::new(NetworkRules::of(&options.options).map_err(unusable)?);
    let values = value_files(&value_targets, &script, (&options.options, &thresholds))?;
    let output = values.as_ref().map(ValueFiles::output);
    let rate_limit = options.options.rps().map(|rps| Arc::new(RateLimit::per_second(rps, own, all)));
    let settings = settings(&options.options, &thresholds, &inputs);
    script.resolve(RunSettings { values: output, rate_limit, ..settings });
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
    }
}

/// What its virtual users do.
pub(super) fn behaviour(loaded: &LoadedScript, log: LogSink) -> CommandResult<Arc<dyn Behaviour>> {
    let scenarios = loaded.options.offered.iter().map(ScriptScenario::from).collect();
    let behaviour = ScriptBehaviour::new(loaded.script.clone(), scenarios, log);
    Ok(Arc::new(behaviour.map_err(|error| threw(&error))?))
}

/// The script as a workload without steps, in one phase unless a policy divides it.
pub(super) fn plan(loaded: &LoadedScript) -> CommandResult<LoadedPlan> {
    let inputs = &loaded.inputs;
    let stem = inputs.path.file_stem().filter(|stem| *stem != standard_input::STANDARD_INPUT);
    let name = stem.map_or_else(|| "script".into(), |stem| stem.to_string_lossy());
    let objectives = objectives::of(loaded);
    policy::applied(inputs, &*loaded.files, Workload { objectives, ..loaded.options.workload(&name) })
}
