//! `plimsoll run`, and the ten stations that every run passes, in this order: resolve the workload, prepare the
//! target, begin the archive, start the observers, offer the load, stop the observers, seal the archive, judge,
//! report, exit code. `http`, `grpc`, `quick`, experiments and scripts make their workload in another way and pass the same
//! stations.

use std::sync::Arc;

use engine::{DryRun, Program, RunOptions};
use workload::LoadedPlan;

use crate::arguments::{OutputArguments, RunArguments, RunOptionArguments};
use crate::failure::CommandResult;
use crate::judged::{self, Judged};
use crate::live::Live;
use crate::live_output;
use crate::load_source::LoadSource;
use crate::once;
use crate::outputs::{self, PreopenedReports};
use crate::prepare::{Additions, PreparedRun, prepare};
use crate::recording::{RecordedRun, Recording, SealedRun, TickReaders, UnsealedRun};
use crate::run_file::Keep;
use crate::run_request::{Precheck, Progress, RunRequest, overwrite};
use crate::signals::Listener;
use crate::stop_watch::StopWatch;
use crate::workers::{self, ConnectedWorkers, ResolvedRun};

pub(crate) fn run(arguments: &RunArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let resolved = workers::resolve(arguments)?; // 1
    let keep = arguments.output.as_deref().map_or(Keep::ByName, Keep::At);
    let request = RunRequest {
        workers: resolved.workers.as_ref().map_or(0, ConnectedWorkers::weight),
        address_hint: |name| format!(", or give its address: --target {name}=ADDRESS"),
        ..request(keep, arguments.quiet, &arguments.options)
    };
    conduct_plan(&listener, resolved, &arguments.options, &request)
}

/// The request of a run with these options.
pub(crate) fn request<'a>(keep: Keep<'a>, is_quiet: bool, options: &'a RunOptionArguments) -> RunRequest<'a> {
    RunRequest {
        overwrite: overwrite(options.force),
        loops: options.loops,
        precheck: if options.no_precheck { Precheck::Skipped } else { Precheck::AsPlanned },
        outs: &options.outs,
        reports: options.outputs.named().into_iter().flatten().collect(),
        ..RunRequest::new(keep, Progress::unless(is_quiet))
    }
}

/// From a plan to the exit code of its verdict; with `--once` each step is sent once instead.
pub(crate) fn conduct_plan(
    listener: &Listener,
    resolved: ResolvedRun,
    options: &RunOptionArguments,
    request: &RunRequest<'_>,
) -> CommandResult<u8> {
    let ResolvedRun { plan, workers } = resolved;
    if options.once {
        return once::once(&prepare(plan, request)?.dry_run);
    }
    conduct(listener, plan, PlanRun { workers, outputs: &options.outputs }, request)
}

/// What a kind of run does at the stations of all.
pub(crate) trait RunKind {
    /// Station 2, when the target is reachable: sends what this kind sends before its load.
    fn set_up(&mut self, dry_run: DryRun) -> CommandResult<(DryRun, Additions)>;

    /// Between stations 6 and 7: sends what this kind sends after its load, whatever became of it.
    fn tear_down(&mut self, _program: Arc<Program>, _run: &UnsealedRun, _listener: &Listener) {}

    /// Stations 9 and 10: reports, and returns the exit code.
    fn report(self, sealed: SealedRun, judged: Judged, listener: &Listener) -> CommandResult<u8>;
}

/// From a workload to the exit code of its verdict.
pub(crate) fn conduct(
    listener: &Listener,
    plan: LoadedPlan,
    mut kind: impl RunKind,
    request: &RunRequest<'_>,
) -> CommandResult<u8> {
    request.require_writable()?;
    let mut reachable = prepare(plan, request)?; // 2
    let (dry_run, additions) = kind.set_up(reachable.dry_run)?;
    reachable.dry_run = dry_run;
    let prepared = reachable.precheck_and_identify(request.precheck, additions)?;
    let program = prepared.program.clone();
    let unsealed = offer(listener, prepared, request)?; // 3 to 6
    kind.tear_down(program, &unsealed, listener);
    let sealed = unsealed.seal()?; // 7
    listener.run_is_sealed();
    let judged = judged::judge_file(sealed.path())?; // 8
    judged.append_to(sealed.path())?;
    kind.report(sealed, judged, listener) // 9 and 10
}

/// A run of a plan.
struct PlanRun<'a> {
    workers: Option<ConnectedWorkers>,
    outputs: &'a OutputArguments,
}

impl RunKind for PlanRun<'_> {
    fn set_up(&mut self, dry_run: DryRun) -> CommandResult<(DryRun, Additions)> {
        Ok((dry_run, Additions { workers: self.workers.take(), ..Additions::default() }))
    }

    fn report(self, mut sealed: SealedRun, judged: Judged, _: &Listener) -> CommandResult<u8> {
        let summary = judged.summary.with_files(&self.outputs.files(sealed.kept()));
        outputs::write(
            &summary,
            &self.outputs.reports.files,
            self.outputs.detail(),
            &PreopenedReports::default(),
        )?;
        sealed.completed()?;
        Ok(outputs::exit_code(judged.judgement.verdict, self.outputs.reports.inconclusive))
    }
}

/// From a workload to a sealed run file, without a verdict.
pub(crate) fn record(
    listener: &Listener,
    plan: LoadedPlan,
    request: &RunRequest<'_>,
) -> CommandResult<SealedRun> {
    let reachable = prepare(plan, request)?; // 2
    let prepared = reachable.precheck_and_identify(request.precheck, Additions::default())?;
    offer(listener, prepared, request)?.seal() // 3 to 7
}

/// From a target that is ready to the end of the load.
pub(crate) fn offer(
    listener: &Listener,
    prepared: PreparedRun,
    request: &RunRequest<'_>,
) -> CommandResult<UnsealedRun> {
    let PreparedRun { program, watchers, identities, additions } = prepared;
    let Additions { behaviour, readers, workers } = additions;
    let source = match workers {
        None => LoadSource::local(&program, behaviour.as_ref(), request)?,
        Some(workers) => LoadSource::workers(workers, &program, request)?,
    };
    let more = live_output::with_readers(readers, request.outs, &program.workload().name)?;
    let (workload, loops) = (program.workload(), request.all_loops());
    let live = (request.progress == Progress::Shown).then(|| Live::new(workload, loops));
    // Until here a signal ends the process as it ends any other, without a run file. From here on it drains the run.
    let control = listener.control_run();
    let stop_watch = StopWatch::new(workload, loops, control.clone());
    let described = source.described();
    let recorded = RecordedRun { program: &program, identities: &identities, workers: &described };
    let mut recording = Recording::begin(&recorded, request, TickReaders { live, stop_watch, more })?; // 3
    let options = RunOptions { program, clock: recording.clock(), control, behaviour };
    let watchers = watchers.start(recording.clock(), recording.observed())?; // 4
    let offered = source.run(&options, recording.take_outlets(), &recording.observed().clone()); // 5
    recording.note_limits(&options.program, offered.folded_endpoints);
    watchers.stop(); // 6
    Ok(recording.end_load(offered.totals, listener.interrupted()))
}
