//! `plimsoll run`, and the ten stations that every run passes, in this order: resolve the workload, prepare the
//! target, begin the archive, start the observers, offer the load, stop the observers, seal the archive, judge,
//! report, exit code. `http`, `grpc` and `quick` make their workload in another way and pass the same stations.

use workload::LoadedPlan;

use crate::arguments::RunArguments;
use crate::failure::CommandResult;
use crate::live::Live;
use crate::live_output::{self, LiveOutput};
use crate::making::Offering;
use crate::outputs::PreopenedReports;
use crate::prepare::{PreparedRun, prepare};
use crate::recording::{Recording, SealedRun, TickReaders, UnsealedRun};
use crate::run_file::Keep;
use crate::run_request::{Progress, RunRequest};
use crate::signals::Listener;
use crate::stop_watch::StopWatch;
use crate::tick_readers::MakeReaders;
use crate::workers::{self, ConnectedWorkers, ResolvedRun};
use crate::{judged, once, outputs};

pub(crate) fn run(arguments: &RunArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let ResolvedRun { plan, workers } = workers::resolve(arguments)?; // 1
    let request = RunRequest {
        keep: arguments.output.as_deref().map_or(Keep::ByName, Keep::At),
        progress: Progress::unless(arguments.quiet),
        options: &arguments.options,
        workers: workers.as_ref().map_or(0, ConnectedWorkers::count),
        address_hint: |name| format!(", or give its address: --target {name}=ADDRESS"),
        script_rules: None,
    };
    conduct_with(&listener, ResolvedRun { plan, workers }, &request)
}

/// From a workload to the exit code of its verdict.
pub(crate) fn conduct(listener: &Listener, plan: LoadedPlan, request: &RunRequest<'_>) -> CommandResult<u8> {
    conduct_with(listener, ResolvedRun { plan, workers: None }, request)
}

fn conduct_with(listener: &Listener, resolved: ResolvedRun, request: &RunRequest<'_>) -> CommandResult<u8> {
    let ResolvedRun { plan, workers } = resolved;
    if request.options.once {
        return once::once(&prepare(plan, request)?.dry_run);
    }
    request.require_writable()?;
    let mut prepared = prepare(plan, request)?.precheck_and_identify(request.options)?; // 2
    prepared.workers = workers;
    let mut sealed = record(listener, prepared, request)?; // 3 to 7
    let judged = judged::judge_file(sealed.path())?; // 8
    judged.append_to(sealed.path())?;
    let reports = request.options.outputs.files(sealed.kept());
    outputs::write(
        &judged.summary.with_files(&reports),
        &request.options.outputs,
        &PreopenedReports::default(),
    )?; // 9
    sealed.completed()?;
    Ok(outputs::exit_code(judged.judgement.verdict, request.options.outputs.reports.inconclusive)) // 10
}

/// From a workload to a sealed run file.
pub(crate) fn prepare_and_record(
    listener: &Listener,
    plan: LoadedPlan,
    request: &RunRequest<'_>,
) -> CommandResult<SealedRun> {
    request.require_writable()?;
    record(listener, prepare(plan, request)?.precheck_and_identify(request.options)?, request) // 2
}

/// Makes the readers that there are already, and those that send series elsewhere.
fn with_live_outputs(
    others: Option<MakeReaders>,
    prepared: &PreparedRun,
    request: &RunRequest<'_>,
) -> CommandResult<Option<MakeReaders>> {
    if request.options.outs.is_empty() {
        return Ok(others);
    }
    let destinations = live_output::destinations(&request.options.outs)?;
    let name = prepared.program.workload().name.clone();
    Ok(Some(Box::new(move |handles| {
        let mut readers = others.map(|make| make(handles)).unwrap_or_default();
        for destination in destinations {
            match LiveOutput::start(destination, &name, handles.clock) {
                Ok(output) => readers.push(Box::new(output)),
                Err(error) => outputs::note(format_args!("--out: nothing is sent: {error}")),
            }
        }
        readers
    })))
}

/// From a target that is ready to a sealed run file.
pub(crate) fn record(
    listener: &Listener,
    prepared: PreparedRun,
    request: &RunRequest<'_>,
) -> CommandResult<SealedRun> {
    offer(listener, prepared, request)?.seal() // 3 to 7
}

/// From a target that is ready to the end of the load.
pub(crate) fn offer(
    listener: &Listener,
    mut prepared: PreparedRun,
    request: &RunRequest<'_>,
) -> CommandResult<UnsealedRun> {
    let offering = Offering::ready(&mut prepared, request)?;
    let more = with_live_outputs(prepared.readers.take(), &prepared, request)?;
    let (workload, loops) = (prepared.program.workload(), request.loops());
    let live = (request.progress == Progress::Shown).then(|| Live::new(workload, loops));
    // Until here a signal ends the process as it ends any other, without a run file. From here on it drains the run.
    let control = listener.control_run();
    let stop_watch = StopWatch::new(workload, loops, control.clone());
    let workers = offering.workers(request.options.loops);
    let mut recording =
        Recording::begin(&prepared, request, TickReaders { live, stop_watch, more }, &workers)?; // 3
    let options = recording.run_options(&prepared, control);
    let watchers = prepared.watchers.start(recording.clock(), recording.observed())?; // 4
    let offered = offering.run(&options, recording.take_outlets(), &recording.observed().clone()); // 5
    recording.note_limits(&options.program, offered.folded_endpoints);
    watchers.stop(); // 6
    Ok(recording.end_load(offered.totals, listener.interrupted()))
}
