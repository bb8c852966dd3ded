//! `plimsoll run SCRIPT`: a k6 script, through the stations of every run. `setup` is called before the archive begins,
//! `teardown` between the load and the seal; k6's summary and thresholds come before the verdict.

mod coloured;
mod command_line;
mod derived;
mod for_pods;
mod inputs;
mod loaded;
mod loading;
mod log;
mod metric_lines;
mod objectives;
mod outcome;
mod policy;
mod served;
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
use engine::DryRun;
use k6::options::OptionsError;
use k6::{LifecycleError, LogSink, Once, ScriptError};

use crate::arguments::ScriptArguments;
use crate::failure::{CommandResult, Failure};
use crate::prepare::prepare;
use crate::recording::UnsealedRun;
use crate::run;
use crate::run_file::Keep;
use crate::run_request::{Progress, RunRequest, ScriptRules};
use crate::signals::Listener;
use crate::workers::{ConnectedWorkers, NotedFiles};
use crate::{judged, outputs, writable};
use command_line::{accept, show_header};
pub(crate) use for_pods::{ScriptForPods, read as read_for_pods};
use inputs::ScriptInputs;
use loaded::{LoadedScript, sub_metrics};
use loading::{ReadingProcess, behaviour, load, plan};
use log::ScriptLog;
pub(crate) use served::served;
use values::readers;

/// A script that threw.
const THREW: u8 = 107;
/// `setup` took longer than `setupTimeout`.
const SETUP_TIMED_OUT: u8 = 100;
/// `teardown` took longer than `teardownTimeout`.
const TEARDOWN_TIMED_OUT: u8 = 101;
/// A script without any function, or a `setup` whose result is no JSON, as k6 has it.
const NOTHING_TO_CALL: u8 = 255;

pub(crate) fn script(mut arguments: ScriptArguments) -> CommandResult<u8> {
    accept(&mut arguments)?;
    let arguments = &arguments;
    let listener = Listener::ending_with(outcome::SIGNALLED)?;
    let log = ScriptLog::start()?;
    let Resolved { mut loaded, workers } = resolve(arguments, &log.sink())?; // 1
    show_header(arguments, &loaded)?;
    let options = arguments.run_options();
    let request = RunRequest {
        keep: arguments.evidence.as_deref().map_or(Keep::ByName, Keep::At),
        progress: Progress::unless(arguments.quiet),
        options: &options,
        workers: workers.as_ref().map_or(0, ConnectedWorkers::count),
        address_hint: |_| String::new(),
        script_rules: Some(ScriptRules {
            origins: loaded.network.clone(),
            body_budget: k6::BODY_BUDGET_BYTES,
        }),
    };
    request.require_writable()?;
    writable::require(arguments.summary_export.as_deref())?;
    let mut reachable = prepare(plan(&loaded)?, &request)?; // 2
    if loaded.options.options.no_setup != Some(true) {
        reachable.dry_run = loaded.script.set_up(reachable.dry_run, &log.sink()).map_err(failed)?;
    }
    let mut prepared = reachable.precheck_and_identify(request.options)?;
    prepared.behaviour = Some(behaviour(&loaded, log.sink())?);
    prepared.workers = workers.map(|workers| served::set_up(workers, &loaded));
    prepared.readers = Some(readers(&loaded, log.sink()));
    let program = prepared.program.clone();
    let unsealed = run::offer(&listener, prepared, &request)?; // 3 to 6
    let once = DryRun::timed(program, unsealed.clock(), listener.control_teardown());
    let torn_down = tear_down(&loaded, &unsealed, once, &log.sink());
    let mut sealed = unsealed.seal()?; // 7
    listener.run_is_sealed();
    drop(loaded.values.take());
    let judged = judged::judge_file(sealed.path())?; // 8
    judged.append_to(sealed.path())?;
    let own = judged.beyond_k6().filter(|_| !arguments.k6_exit_codes);
    let outcome = outcome::of(&sealed, &loaded)?; // 9
    if let Some(warning) = outcome.warning().filter(|_| !listener.interrupted()) {
        log.sink()(warning);
    }
    outcome.write(arguments, &loaded, &log.sink())?;
    log.end();
    let summary = judged.summary.with_files(&options.outputs.files(sealed.kept()));
    outputs::write_files(&summary, &options.outputs, &outputs::PreopenedReports::default())?;
    if arguments.mark_report {
        outputs::print_document(&format!("{}\n", outputs::REPORT_BEGINS))?;
    }
    outputs::show(&outcome::without_own_metrics(summary), &options.outputs)?;
    sealed.completed()?;
    torn_down?;
    policy::note_violated(&judged.judgement);
    Ok(outcome.exit_code(&judged.judgement, listener.interrupted(), own)) // 10
}

/// A script, and the workers that are to offer its load, if there are any.
struct Resolved {
    loaded: LoadedScript,
    workers: Option<ConnectedWorkers>,
}

/// The script that the command line names, and its workers.
fn resolve(arguments: &ScriptArguments, log: &LogSink) -> CommandResult<Resolved> {
    let inputs = ScriptInputs::of(arguments)?;
    let value_targets = value_output::targets(&arguments.out, &inputs.variables)?;
    let disk = standard_input::files(&arguments.script, &inputs.path)?;
    let read = |files, value_targets| {
        let shared_arrays = BTreeMap::new();
        let process = ReadingProcess { files, shared_arrays, processes: 1, value_targets };
        let loaded = load(inputs, process, log)?;
        loaded.options.notes.iter().for_each(outputs::note);
        Ok::<_, Failure>(loaded)
    };
    if !arguments.workers.are_asked_for() {
        return Ok(Resolved { loaded: read(disk, value_targets)?, workers: None });
    }
    if !value_targets.is_empty() {
        return Err(value_output::unusable(
            "-o writes every value by itself, and workers hand on what each second came to: leave out one of them",
        ));
    }
    let noted = Arc::new(NotedFiles::over(disk));
    let loaded = read(noted.clone(), value_targets)?;
    // What a policy is read from is noted too.
    plan(&loaded)?;
    let hand_over = served::hand_over(&loaded, &noted)?;
    let workers = ConnectedWorkers::connect(&arguments.workers, hand_over)?;
    Ok(Resolved { loaded, workers: Some(workers) })
}

/// Call `teardown` after the load, whatever became of it. What it counts belongs to the run.
fn tear_down(loaded: &LoadedScript, run: &UnsealedRun, once: DryRun, log: &LogSink) -> CommandResult<()> {
    if loaded.options.options.no_teardown == Some(true) {
        return Ok(());
    }
    let (ticks, torn_down) = loaded.script.tear_down(&once, log);
    run.add_teardown(ticks);
    torn_down.map_err(failed)
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
        LifecycleError::Interrupted(_) => own(outcome::SIGNALLED, error),
        LifecycleError::NoJson(_) => own(NOTHING_TO_CALL, error),
        LifecycleError::Script(error) => threw(&error),
        LifecycleError::Engine(error) => Failure::own(error),
    }
}
