//! Conducts a run: from a workload to a sealed and judged file, through the stations that every run passes, in this order:
//! resolve the workload, prepare the target, begin the archive, start the observers, offer the load, stop the observers, seal
//! the archive, judge, report, exit code.
//!
//! Start reading at [`conduct`], which lists them. Plans, scripts, requests of a command line and experiments make their
//! workload in another way and pass the same stations. What is said meanwhile goes through [`screen`].

mod checking;
pub mod clock;
#[cfg_attr(not(target_os = "linux"), path = "without_landlock.rs")]
mod code_waits;
pub mod confine;
mod decider;
pub mod environment;
pub mod failure;
pub mod file_kind;
pub mod integrity;
pub mod judged;
#[cfg(not(feature = "full"))]
pub mod lean;
mod live;
pub mod live_address;
#[cfg(feature = "full")]
mod live_output;
#[cfg(feature = "full")]
pub mod live_page;
mod load_source;
pub mod manifest;
pub mod marks;
mod observers;
pub mod once;
pub mod plan;
pub mod prepare;
mod ready;
pub mod recording;
pub mod reflection;
pub mod run_file;
pub mod run_request;
pub mod screen;
mod setup_watch;
pub mod signals;
pub mod standard_output;
pub mod stop_watch;
pub mod tick_readers;
pub mod untrusted;
pub mod watched;
#[cfg(feature = "full")]
pub mod web_agent;
#[cfg(feature = "full")]
pub mod worker;
pub mod worker_options;
#[cfg(feature = "full")]
pub mod workers;
pub mod writable;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use engine::iteration::Behaviour;
use engine::{Clock, Control, DryRun, Program, RunOptions, Wakeup};
use workload::LoadedPlan;

use failure::CommandResult;
use judged::Judged;
#[cfg(not(feature = "full"))]
use lean::live_output;
#[cfg(not(feature = "full"))]
pub use lean::{live_page, workers};
use live::Live;
use load_source::LoadSource;
use manifest::Identities;
use observers::{RunningWatchers, Watchers};
use prepare::{Additions, PreparedRun, prepare};
use recording::{RecordedRun, Recording, SealedRun, TickReaders, UndatedRecording, UnsealedRun};
use run_request::{Progress, RunRequest};
use signals::Listener;
use stop_watch::StopWatch;
use tick_readers::MakeReaders;

/// What a kind of run does at the stations of all.
pub trait RunKind {
    /// Station 2, when the target is reachable: sends what this kind sends before its load.
    fn set_up(&mut self, dry_run: DryRun) -> CommandResult<(DryRun, Additions)>;

    /// Between stations 6 and 7: sends what this kind sends after its load, whatever became of it.
    fn tear_down(&mut self, _program: Arc<Program>, _run: &UnsealedRun, _listener: &Listener) {}

    /// Stations 9 and 10: reports, and returns the exit code.
    fn report(self, sealed: SealedRun, judged: Judged, listener: &Listener) -> CommandResult<u8>;
}

/// From a workload to the exit code of its verdict.
pub fn conduct(
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

/// From a workload to a sealed run file, without a verdict.
pub fn record(listener: &Listener, plan: LoadedPlan, request: &RunRequest<'_>) -> CommandResult<SealedRun> {
    let reachable = prepare(plan, request)?; // 2
    let prepared = reachable.precheck_and_identify(request.precheck, Additions::default())?;
    offer(listener, prepared, request)?.seal() // 3 to 7
}

/// From a target that is ready to the end of the load.
pub fn offer(
    listener: &Listener,
    prepared: PreparedRun,
    request: &RunRequest<'_>,
) -> CommandResult<UnsealedRun> {
    let ready = ReadyRun::new(prepared, request)?;
    // Until here a signal ends the process as it ends any other, without a run file. From here on it drains the run.
    let control = listener.control_run();
    let undated = ready.create_file(request)?;
    let clock = undated.clock();
    Ok(ready.begin(undated, clock, control, request)?.run(listener))
}

/// The same for two targets whose loads are offered at the same moment: by one clock, and drained together.
pub fn offer_together(
    listener: &Listener,
    [first, second]: [PreparedRun; 2],
    requests: [&RunRequest<'_>; 2],
) -> CommandResult<[UnsealedRun; 2]> {
    let [first, second] = [ReadyRun::new(first, requests[0])?, ReadyRun::new(second, requests[1])?];
    let control = listener.control_run();
    let files = [first.create_file(requests[0])?, second.create_file(requests[1])?];
    let clock = files[1].clock();
    let [file_of_first, file_of_second] = files;
    let first = first.begin(file_of_first, clock, control.clone(), requests[0])?;
    let second = second.begin(file_of_second, clock, control, requests[1])?;
    Ok(thread::scope(|scope| {
        let second = scope.spawn(|| second.run(listener));
        let first = first.run(listener);
        [first, second.join().unwrap_or_else(|panic| resume_unwind(panic))]
    }))
}

/// A run whose virtual users are there.
struct ReadyRun {
    program: Arc<Program>,
    watchers: Watchers,
    identities: Identities,
    behaviour: Option<Arc<dyn Behaviour>>,
    source: LoadSource,
    more: Option<MakeReaders>,
}

/// A run that is recorded and observed, and offers no load yet.
struct BegunRun {
    recording: Recording,
    options: RunOptions,
    watchers: RunningWatchers,
    source: LoadSource,
}

impl ReadyRun {
    fn new(prepared: PreparedRun, request: &RunRequest<'_>) -> CommandResult<ReadyRun> {
        let PreparedRun { program, watchers, identities, additions } = prepared;
        let Additions { behaviour, readers, workers } = additions;
        let source = match workers {
            None => LoadSource::local(&program, behaviour.as_ref(), request)?,
            Some(workers) => LoadSource::workers(workers, &program, request)?,
        };
        let more = live_output::with_readers(readers, request.outs, &program.workload().name)?;
        Ok(ReadyRun { program, watchers, identities, behaviour, source, more })
    }

    fn create_file(&self, request: &RunRequest<'_>) -> CommandResult<UndatedRecording> {
        let workers = self.source.described();
        let recorded =
            RecordedRun { program: &self.program, identities: &self.identities, workers: &workers };
        UndatedRecording::create(&recorded, request)
    }

    fn begin(
        self,
        undated: UndatedRecording,
        clock: Clock,
        control: Control,
        request: &RunRequest<'_>,
    ) -> CommandResult<BegunRun> {
        let ReadyRun { program, watchers, behaviour, source, more, .. } = self;
        let (workload, loops) = (program.workload(), request.all_loops());
        let live = match request.progress {
            Progress::Quiet => None,
            shown => Some(Live::new(workload, loops, &control, shown)),
        };
        let stop_watch = StopWatch::new(workload, loops, control.clone());
        let readers = TickReaders { live, stop_watch, more };
        let recording = Recording::begin(undated, clock, request, readers)?; // 3
        let options = RunOptions { program, clock, control, behaviour, wakeup: Wakeup::default() };
        let watchers = watchers.start(clock, recording.observed())?; // 4
        Ok(BegunRun { recording, options, watchers, source })
    }
}

impl BegunRun {
    fn run(self, listener: &Listener) -> UnsealedRun {
        let BegunRun { mut recording, options, watchers, source } = self;
        let offered = source.run(&options, recording.take_outlets(), &recording.observed().clone()); // 5
        recording.note_limits(&options.program, offered.folded_endpoints);
        watchers.stop(); // 6
        recording.end_load(offered.totals, listener.interrupted())
    }
}
