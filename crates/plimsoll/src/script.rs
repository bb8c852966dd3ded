//! `plimsoll run SCRIPT`: a k6 script, through the stations of every run. `setup` is called before the archive begins,
//! `teardown` after the load; k6's summary and thresholds come before the verdict.

mod coloured;
mod command_line;
mod derived;
mod log;
mod metric_lines;
mod objectives;
mod outcome;
mod policy;
mod standard_input;
mod threshold_watch;
mod thresholds;
mod tick_values;
mod value_files;
mod value_output;
mod value_ticks;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use engine::{DryRun, Program};
use k6::options::thresholds::{MetricThresholds, built_in_kind, compile};
use k6::options::{ConsolidatedOptions, Flags, Layer, Options, OptionsError, consolidate};
use k6::{
    Bodies, CookieLife, Failures, HttpDefaults, LifecycleError, LogSink, NetworkRules, Once, RateLimit,
    RunSettings, Script, ScriptBehaviour, ScriptError, ScriptScenario, ScriptSource, SubMetric,
};
use workload::Workload;
use workload::plan::LoadedPlan;

use crate::arguments::ScriptArguments;
use crate::failure::{CommandResult, Failure};
use crate::prepare::prepare;
use crate::run;
use crate::run_file::Keep;
use crate::run_request::{Progress, RunRequest, ScriptRules};
use crate::signals::Listener;
use crate::{judged, outputs, writable};
use command_line::{accept, default_import_cache, show_header};
use log::ScriptLog;
use threshold_watch::ThresholdStop;
use value_files::ValueFiles;
use value_output::ValueTarget;
use values::{readers, value_files};

/// A script that threw.
const THREW: u8 = 107;
/// `setup` took longer than `setupTimeout`.
const SETUP_TIMED_OUT: u8 = 100;
/// `teardown` took longer than `teardownTimeout`.
const TEARDOWN_TIMED_OUT: u8 = 101;
/// A script without any function, or a `setup` whose result is no JSON, as k6 has it.
const NOTHING_TO_CALL: u8 = 255;

/// A script with its options.
pub(crate) struct LoadedScript {
    script: Script,
    options: ConsolidatedOptions,
    thresholds: Vec<MetricThresholds>,
    network: Arc<NetworkRules>,
    value_targets: Vec<ValueTarget>,
    /// Of every value, where outputs ask for them.
    values: Option<ValueFiles>,
    /// Whether thresholds have ended the run.
    threshold_stop: ThresholdStop,
}

pub(crate) fn script(mut arguments: ScriptArguments) -> CommandResult<u8> {
    accept(&mut arguments)?;
    let arguments = &arguments;
    let listener = Listener::ending_with(outcome::SIGNALLED)?;
    let log = ScriptLog::start()?;
    let mut loaded = load(arguments, &log.sink())?; // 1
    show_header(arguments, &loaded)?;
    let options = arguments.run_options();
    let request = RunRequest {
        keep: arguments.evidence.as_deref().map_or(Keep::ByName, Keep::At),
        progress: Progress::unless(arguments.quiet),
        options: &options,
        workers: 0,
        address_hint: |_| String::new(),
        script_rules: Some(ScriptRules {
            origins: loaded.network.clone(),
            body_budget: k6::BODY_BUDGET_BYTES,
        }),
    };
    request.require_writable()?;
    writable::require(arguments.summary_export.as_deref())?;
    let mut reachable = prepare(plan(arguments, &loaded)?, &request)?; // 2
    if loaded.options.options.no_setup != Some(true) {
        reachable.dry_run = loaded.script.set_up(reachable.dry_run, &log.sink()).map_err(failed)?;
    }
    let mut prepared = reachable.precheck_and_identify(request.options)?;
    let behaviour = ScriptBehaviour::new(loaded.script.clone(), scenarios(&loaded), log.sink());
    prepared.behaviour = Some(Arc::new(behaviour.map_err(|error| threw(&error))?));
    prepared.readers = Some(readers(&loaded, log.sink()));
    let program = prepared.program.clone();
    let mut sealed = run::record(&listener, prepared, &request)?; // 3 to 7
    listener.load_is_over();
    let torn_down = tear_down(&loaded, program, &log.sink());
    drop(loaded.values.take());
    let judged = judged::judge_file(sealed.path())?; // 8
    judged.append_to(sealed.path())?;
    let outcome = outcome::of(&sealed, &loaded)?; // 9
    if let Some(warning) = outcome.warning().filter(|_| !listener.interrupted()) {
        log.sink()(warning);
    }
    outcome.write(arguments, &loaded, &log.sink())?;
    log.end();
    let summary = judged.summary.with_files(&options.outputs.files(sealed.kept()));
    outputs::write_files(&summary, &options.outputs, &outputs::PreopenedReports::default())?;
    outputs::show(&outcome::without_own_metrics(summary), &options.outputs)?;
    sealed.completed()?;
    torn_down?;
    policy::note_violated(&judged.judgement);
    Ok(outcome.exit_code(&judged.judgement, listener.interrupted(), arguments.k6_exit_codes)) // 10
}

/// Read the script and everything that says how it is run.
fn load(arguments: &ScriptArguments, log: &LogSink) -> CommandResult<LoadedScript> {
    let flags = flags(arguments);
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    let from_environment = Layer::of_environment(&variables).map_err(unusable)?;
    let value_targets = value_output::targets(&arguments.out, &variables)?;
    let mut env = if arguments.include_system_env_vars == Some(false) { BTreeMap::new() } else { variables };
    env.extend(flags.variables().map_err(unusable)?);
    let path = std::path::absolute(&arguments.script).map_err(Failure::usage)?;
    let files_under =
        arguments.files_under.as_ref().map(std::path::absolute).transpose().map_err(Failure::usage)?;
    let import_cache = arguments.import_cache.clone().or_else(default_import_cache);
    let files = standard_input::files(&arguments.script, &path)?;
    let source = ScriptSource { path, files, files_under, import_cache, env };
    let script = Script::load(source, log.clone()).map_err(|error| threw(&error))?;
    let mut layers = vec![Layer::of_script(script.options()).map_err(unusable)?, from_environment];
    layers.push(flags.layer().map_err(unusable)?);
    if let Some(config) = &arguments.config {
        let text = std::fs::read_to_string(config)
            .map_err(|error| Failure::usage(anyhow!("cannot read {}: {error}", config.display())))?;
        layers.push(Layer::of_config_file(&text).map_err(unusable)?);
    }
    let options = consolidate(layers).map_err(unusable)?;
    options.notes.iter().for_each(outputs::note);
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
    script.resolve(RunSettings { values: output, ..settings(&options.options, &thresholds) });
    let threshold_stop = ThresholdStop::default();
    Ok(LoadedScript { script, options, thresholds, network, value_targets, values, threshold_stop })
}

/// What options say of how a script is run.
fn settings(options: &Options, thresholds: &[MetricThresholds]) -> RunSettings {
    let defaults = HttpDefaults::default();
    let is_discarding = options.discard_response_bodies == Some(true);
    RunSettings {
        tags: options.tags.clone().unwrap_or_default(),
        sub_metrics: sub_metrics(thresholds),
        http: HttpDefaults {
            redirects: options.max_redirects(),
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
        rate_limit: options.rps().map(|rps| Arc::new(RateLimit::per_second(rps))),
        values: None,
    }
}

/// The parts of metrics that thresholds are about, and the one that the summary always shows.
fn sub_metrics(thresholds: &[MetricThresholds]) -> Vec<SubMetric> {
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

fn scenarios(loaded: &LoadedScript) -> Vec<ScriptScenario> {
    loaded.options.offered.iter().map(ScriptScenario::from).collect()
}

/// The script as a workload without steps, in one phase unless a policy divides it.
fn plan(arguments: &ScriptArguments, loaded: &LoadedScript) -> CommandResult<LoadedPlan> {
    let stem = arguments.script.file_stem().filter(|stem| *stem != standard_input::STANDARD_INPUT);
    let name = stem.map_or_else(|| "script".into(), |stem| stem.to_string_lossy());
    let objectives = objectives::of(loaded);
    policy::applied(arguments.policy.as_deref(), Workload { objectives, ..loaded.options.workload(&name) })
}

/// Call `teardown` after the load, whatever became of it.
fn tear_down(loaded: &LoadedScript, program: Arc<Program>, log: &LogSink) -> CommandResult<()> {
    if loaded.options.options.no_teardown == Some(true) {
        return Ok(());
    }
    loaded.script.tear_down(&DryRun::new(program), log).map_err(failed)
}

fn flags(arguments: &ScriptArguments) -> Flags {
    let set = |flag: bool| flag.then_some(true);
    let ScriptArguments { vus, iterations, rps, max_redirects, batch, batch_per_host, .. } = *arguments;
    let given = arguments;
    Flags {
        vus,
        duration: given.duration.clone(),
        iterations,
        stages: given.stages.clone(),
        execution_segment: given.execution_segment.clone(),
        execution_segment_sequence: given.execution_segment_sequence.clone(),
        paused: set(given.foreign.paused),
        http_debug: given.foreign.http_debug.clone(),
        stay_after_run: set(given.foreign.stay_after_run),
        no_setup: set(given.no_setup),
        no_teardown: set(given.no_teardown),
        max_redirects,
        batch,
        batch_per_host,
        rps,
        user_agent: given.user_agent.clone(),
        insecure_skip_tls_verify: set(given.insecure_skip_tls_verify),
        no_connection_reuse: set(given.no_connection_reuse),
        no_vu_connection_reuse: set(given.no_vu_connection_reuse),
        local_ips: given.local_ips.clone(),
        min_iteration_duration: given.min_iteration_duration.clone(),
        throw: set(given.throw),
        blacklist_ips: given.blacklist_ips.clone(),
        block_hostnames: given.block_hostnames.clone(),
        summary_trend_stats: given.summary_trend_stats.clone(),
        summary_time_unit: given.summary_time_unit.clone(),
        system_tags: given.system_tags.clone(),
        tags: given.tags.clone(),
        discard_response_bodies: set(given.discard_response_bodies),
        dns: given.dns.clone(),
        no_thresholds: set(given.no_thresholds),
        no_usage_report: set(given.no_usage_report),
        env: given.env.clone(),
    }
}

fn unusable(error: OptionsError) -> Failure {
    Failure::Script { code: error.exit_code(), error: error.into() }
}

fn threw(error: &ScriptError) -> Failure {
    let code = match error {
        ScriptError::NoFunctions => NOTHING_TO_CALL,
        ScriptError::Aborted(_) => outcome::ABORTED,
        _ => THREW,
    };
    Failure::Script { code, error: anyhow!("{error}") }
}

fn failed(error: LifecycleError) -> Failure {
    let own = |code: u8, error: LifecycleError| Failure::Script { code, error: error.into() };
    match error {
        LifecycleError::TimedOut(Once::Setup, _) => own(SETUP_TIMED_OUT, error),
        LifecycleError::TimedOut(Once::Teardown, _) => own(TEARDOWN_TIMED_OUT, error),
        LifecycleError::NoJson(_) => own(NOTHING_TO_CALL, error),
        LifecycleError::Script(error) => threw(&error),
        LifecycleError::Engine(error) => Failure::own(error),
    }
}
