//! `plimsoll run SCRIPT`: a k6 script as a kind of run. `setup` is called before the archive begins, `teardown` between the load
//! and the seal; k6's summary and thresholds come before the verdict.

mod check;
mod coloured;
mod command_line;
mod exchanges;
mod for_pods;
mod inputs;
mod loading;
mod log;
mod log_line;
mod log_output;
mod outcome;
mod policy;
mod served;
mod standard_input;
mod unsent;
mod values;

use std::path::Path;
use std::sync::Arc;

use ::report::Reported as _;
use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::judged::Judged;
use conduct::live_page::LivePage;
use conduct::prepare::Additions;
use conduct::recording::{SealedRun, UnsealedRun};
use conduct::run_file::RunFilePolicy;
use conduct::run_request::{Progress, RunRequest, ScriptRules, overwrite};
use conduct::signals::Listener;
use conduct::worker_options::WorkerPlaces;
use conduct::workers::{ConnectedWorkers, NotedFiles};
use conduct::{RunKind, conduct, screen, standard_output};
use engine::{Control, DryRun, KeptExchanges, Program};
use evidence::{Exemplar, TerminalText, Tick, Verdict};
use k6::options::OptionsError;
use k6::{InitFailure, LifecycleError, LoadedScript, LogSink, Once, ScriptError};

use crate::arguments::{OnInconclusive, ScriptArguments};
use crate::outputs::{self, ReportOptions};
use crate::run::live_page;
use command_line::{accept, refused};
use exchanges::{ShownExchanges, exchanges_of};
pub(crate) use for_pods::{ScriptForPods, read as read_for_pods};
pub(crate) use inputs::default_import_cache;
use loading::{behaviour, here, load, plan};
use log::{DebugLines, ScriptLog};
use log_output::LogOutput;
pub(crate) use served::served;
use values::readers;

const THREW: u8 = 107;
/// `setup` took longer than `setupTimeout`.
const SETUP_TIMED_OUT: u8 = 100;
/// `teardown` took longer than `teardownTimeout`.
const TEARDOWN_TIMED_OUT: u8 = 101;
/// A script without any function, or a `setup` whose result is not JSON, as k6 has it.
const NOTHING_TO_CALL: u8 = 255;

pub(crate) fn script(mut arguments: ScriptArguments) -> CommandResult<u8> {
    accept(&mut arguments)?;
    if arguments.is_checked {
        return check::check(&arguments);
    }
    let listener = Listener::ending_with(outcome::SIGNALLED)?;
    let log = ScriptLog::start(debug_lines(&arguments), LogOutput::of(&arguments.log)?)?;
    let Resolved { loaded, workers } = resolve(&arguments, &log.sink())?; // 1
    show_header(&arguments, &loaded)?;
    if arguments.once && loaded.options.options.thresholds.as_ref().is_some_and(|all| !all.is_empty()) {
        screen::note("--once: one iteration proves nothing, so no threshold is judged");
    }
    let plan = plan(&loaded)?;
    let live_page = &live_page(&plan, arguments.live.as_ref(), &arguments.outputs)?;
    let live_page = live_page.as_ref();
    let request = RunRequest { live_page, ..request(&arguments, &loaded, workers.as_ref()) };
    let script = ScriptRun {
        exchanges: (arguments.once && !outputs_to_stdout(&arguments)).then(Arc::default),
        arguments: &arguments,
        loaded,
        log,
        workers,
        live_page,
        torn_down: Ok(()),
        after: None,
        teardown: Vec::new(),
    };
    conduct(&listener, plan, script, &request)
}

/// What becomes of `console.debug`.
fn debug_lines(arguments: &ScriptArguments) -> DebugLines {
    if arguments.outputs.verbose { DebugLines::Printed } else { DebugLines::LeftOut }
}

/// Whether standard output is for a report.
fn outputs_to_stdout(arguments: &ScriptArguments) -> bool {
    arguments.outputs.named().contains(&Some(Path::new("-")))
}

/// What k6 shows of the load before it begins, unless standard output is for something else.
fn show_header(arguments: &ScriptArguments, loaded: &LoadedScript) -> CommandResult<()> {
    if arguments.quiet || outputs_to_stdout(arguments) {
        return Ok(());
    }
    let mut text = TerminalText::default();
    let outputs = k6::outputs::described(&loaded.value_targets);
    let script = arguments.script.display();
    let execution = match arguments.workers.asked().map(|asked| asked.places) {
        None => "local".to_owned(),
        Some(WorkerPlaces::Here(count)) => {
            format!("{} of this machine", report::number::counted(count as u64, "worker"))
        }
        Some(WorkerPlaces::At { workers, .. }) => report::number::counted(workers.len() as u64, "worker"),
    };
    let head =
        format!("     execution: {execution}\n        script: {script}\n        output: {outputs}\n\n");
    text.quote("", &format!("\n{head}{}\n", loaded.options.header().join("\n")));
    standard_output::print(&text)
}

fn request<'a>(
    arguments: &'a ScriptArguments,
    loaded: &LoadedScript,
    workers: Option<&ConnectedWorkers>,
) -> RunRequest<'a> {
    let is_kept = !arguments.once && !arguments.no_evidence;
    let unnamed = if is_kept { RunFilePolicy::ByName } else { RunFilePolicy::Temporary };
    let keep = arguments.evidence.as_deref().map_or(unnamed, RunFilePolicy::At);
    let reports = arguments.outputs.named().into_iter().chain([arguments.summary_export.as_deref()]);
    RunRequest {
        overwrite: overwrite(arguments.force),
        loops: arguments.loops,
        workers: workers.map_or(0, ConnectedWorkers::weight),
        reports: reports.flatten().collect(),
        script_rules: Some(ScriptRules {
            origins: loaded.network.clone(),
            body_budget: loaded.script.budget().clone(),
            kept_exchanges: if arguments.once { KeptExchanges::All } else { KeptExchanges::Examples },
        }),
        ..RunRequest::new(keep, Progress::unless(arguments.quiet || arguments.once))
    }
}

struct ScriptRun<'a> {
    arguments: &'a ScriptArguments,
    loaded: LoadedScript,
    log: ScriptLog,
    workers: Option<ConnectedWorkers>,
    live_page: Option<&'a LivePage>,
    /// What became of `teardown`.
    torn_down: CommandResult<()>,
    /// Calls functions of the script after the load.
    after: Option<DryRun>,
    /// With `--once`: what is shown of its exchanges.
    exchanges: Option<Arc<ShownExchanges>>,
    /// With `--once`: the exchanges of `teardown`, which are shown after the iterations.
    teardown: Vec<Exemplar>,
}

impl RunKind for ScriptRun<'_> {
    fn set_up(&mut self, mut dry_run: DryRun) -> CommandResult<(DryRun, Additions)> {
        let (loaded, log) = (&self.loaded, self.log.sink());
        if loaded.options.options.no_setup != Some(true) {
            let read = |ticks: &[Tick]| {
                if let Some(exchanges) = &self.exchanges {
                    exchanges.show(exchanges_of(ticks), Some("setup"));
                }
            };
            dry_run = loaded.script.set_up(dry_run, &log, read).map_err(failed)?;
        }
        let additions = Additions {
            behaviour: Some(behaviour(loaded, log.clone())?),
            readers: Some(readers(loaded, log, self.exchanges.clone())),
            workers: self.workers.take().map(|workers| served::set_up(workers, loaded)),
        };
        Ok((dry_run, additions))
    }

    /// What `teardown` counts belongs to the run.
    fn tear_down(&mut self, program: Arc<Program>, run: &UnsealedRun, listener: &Listener) {
        // Later signals end the process.
        self.after = Some(DryRun::timed(program.clone(), run.clock(), Control::new()));
        if self.loaded.options.options.no_teardown == Some(true) {
            return;
        }
        let once = DryRun::timed(program, run.clock(), listener.control_teardown());
        let (ticks, torn_down) = self.loaded.script.tear_down(&once, &self.log.sink());
        if self.exchanges.is_some() {
            self.teardown = exchanges_of(&ticks).cloned().collect();
        }
        run.add_teardown(ticks);
        self.torn_down = torn_down.map_err(failed);
    }

    /// k6's summary and thresholds, then the report.
    fn report(mut self, mut sealed: SealedRun, judged: Judged, listener: &Listener) -> CommandResult<u8> {
        let ScriptRun { arguments, loaded, log, after, exchanges, teardown, .. } = &mut self;
        values::finish(loaded.values.take());
        if let Some(exchanges) = exchanges {
            exchanges.show(&*teardown, Some("teardown"));
        }
        if let Some(failure) = loaded.script.requests().init_failure() {
            return Err(not_made(failure));
        }
        let is_undecided = judged.judgement.verdict == Verdict::Inconclusive;
        let asked = arguments.outputs.reports.inconclusive;
        let undecided =
            (is_undecided && asked == Some(OnInconclusive::Fail)).then_some(Verdict::Inconclusive);
        let own = judged.beyond_k6().or(undecided).filter(|_| !arguments.k6_exit_codes);
        let outcome = outcome::of(&sealed, loaded)?;
        let exit = outcome.exit(&judged.judgement, listener.interrupted(), own);
        if let Some(warning) = outcome.warning().filter(|_| !listener.interrupted()) {
            log.sink()(warning);
        }
        outcome.write(arguments, loaded, after.as_ref(), &log.sink())?;
        drop(self.log);
        let outputs = &self.arguments.outputs;
        let summary = outputs.reported(judged.summary, &outputs.files(sealed.kept()));
        let document = summary.document();
        if let Some(page) = self.live_page {
            page.finish(&document);
        }
        let options = ReportOptions::from(&outputs.reports).ending_with(exit.code);
        outputs::write_files(&summary, &document, options, &outputs::PreopenedReports::default())?;
        outputs::write_card(&summary, outputs, &outputs::PreopenedReports::default())?;
        if self.arguments.mark_report {
            standard_output::print_document(&format!("{}\n", kubernetes::REPORT_BEGINS))?;
        }
        match &self.exchanges {
            Some(exchanges) => exchanges.note(),
            None => outputs::show(
                &outcome::without_own_metrics(summary).document(),
                &outputs.reports.files,
                outputs.detail(),
            )?,
        }
        sealed.completed()?;
        self.torn_down?;
        policy::note_violated(&judged.judgement);
        unsent::note(&self.loaded, self.arguments);
        exit.because.iter().for_each(screen::note);
        if is_undecided && exit.code == 0 {
            screen::note(outputs::OF_K6);
        }
        Ok(exit.code)
    }
}

/// A script, and the workers that are to offer its load, if there are any.
struct Resolved {
    loaded: LoadedScript,
    workers: Option<ConnectedWorkers>,
}

/// The script that the command line names, and its workers.
fn resolve(arguments: &ScriptArguments, log: &LogSink) -> CommandResult<Resolved> {
    let inputs = inputs::of(arguments)?;
    let value_targets = values::targets(&arguments.out, &inputs.variables)?;
    let disk = standard_input::files(&arguments.script, &inputs.path)?;
    let load_from = |files, value_targets| {
        let loaded = load(inputs, here(files, true, value_targets), log)?;
        loaded.options.notes.iter().for_each(screen::note);
        Ok::<_, Failure>(loaded)
    };
    let Some(asked) = arguments.workers.asked() else {
        return Ok(Resolved { loaded: load_from(disk, value_targets)?, workers: None });
    };
    if !value_targets.is_empty() {
        return Err(refused(
            "-o writes every single value, but workers send totals of each second: leave out one of them",
        ));
    }
    let noted = Arc::new(NotedFiles::over(disk));
    let loaded = load_from(noted.clone(), value_targets)?;
    // What a policy is read from is noted too.
    let policy = plan(&loaded)?.env;
    let hand_over = served::hand_over(&loaded, &policy, &noted)?;
    let workers = ConnectedWorkers::connect(&asked, hand_over)?;
    Ok(Resolved { loaded, workers: Some(workers) })
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

/// What the script threw while it was evaluated for a virtual user.
fn not_made(failure: InitFailure) -> Failure {
    let code = if failure.is_abort { outcome::ABORTED } else { THREW };
    Failure::Script { code, error: anyhow!("{}", failure.message) }
}

fn failed(error: LifecycleError) -> Failure {
    let own = |code: u8, error: LifecycleError| Failure::Script { code, error: error.into() };
    match error {
        LifecycleError::TimedOut(Once::Setup, _) => own(SETUP_TIMED_OUT, error),
        LifecycleError::TimedOut(Once::Teardown | Once::HandleSummary, _) => own(TEARDOWN_TIMED_OUT, error),
        LifecycleError::Interrupted(_) => own(outcome::SIGNALLED, error),
        LifecycleError::NoJson(_) => own(NOTHING_TO_CALL, error),
        LifecycleError::Script(error) => threw(&error),
        LifecycleError::Engine(error) => Failure::own(error),
    }
}
