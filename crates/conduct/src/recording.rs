//! Stations 3 and 7: the run file from its beginning to its seal. One clock dates the run, set once when the archive
//! begins; during the run the recorder's thread alone writes.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use anyhow::anyhow;
use archive::{RecordError, Recorder, Sinks, Writer};
use engine::{Clock, EngineError, Program, Totals, teardown_tick};
use evidence::manifest::Worker;
use evidence::sink::Sink;
use evidence::tick_channel::{TickSender, tick_channel};
use evidence::{Ending, Instant, Notice, NoticeKind, Observed, RunEnd, Tick};
use jiff::Timestamp;
use workload::Workload;

use crate::clock::{now, rfc3339};
use crate::decider::Decider;
use crate::failure::{CommandResult, Failure};
use crate::live::Live;
use crate::live_page::Rendering;
use crate::manifest::{Identities, RunDescription, manifest};
use crate::marks::Marker;
use crate::observers::report_address_changes;
use crate::run_file::RunFile;
use crate::run_request::RunRequest;
use crate::screen;
use crate::setup_watch::SetupWatch;
use crate::stop_watch::{EarlyEnd, EndedBy, StopWatch};
use crate::tick_readers::{MakeReaders, RunHandles};

/// Between the time at which the archive exists and the run's epoch: long enough for every loop to be at its start.
const LEAD: Duration = Duration::from_millis(150);

/// The same, where workers must hear of it first.
const WORKERS_LEAD: Duration = Duration::from_secs(1);

/// Who reads the ticks of a run, besides its file.
pub(crate) struct TickReaders {
    pub(crate) live: Option<Live>,
    pub(crate) stop_watch: StopWatch,
    pub(crate) more: Option<MakeReaders>,
}

/// The run that a file is about.
pub(crate) struct RecordedRun<'a> {
    pub(crate) program: &'a Program,
    /// What answers at each target.
    pub(crate) identities: &'a Identities,
    /// The processes that offer the load; none if this one does.
    pub(crate) workers: &'a [Worker],
}

/// A run file that exists and has no clock yet.
pub(crate) struct UndatedRecording {
    file: RunFile,
    writer: Writer,
    /// The workload as it is stored.
    workload: Workload,
    lead: Duration,
}

impl UndatedRecording {
    /// Begin the archive: the manifest that never changes.
    pub(crate) fn create(
        recorded: &RecordedRun<'_>,
        request: &RunRequest<'_>,
    ) -> CommandResult<UndatedRecording> {
        let loops = request.all_loops();
        let RecordedRun { program, identities, workers } = *recorded;
        let workload = program.redactor().stored(program.workload());
        let manifest = manifest(&RunDescription { workload: &workload, identities, loops, workers })?;
        let manifest = manifest.dated(now());
        let file = request.keep.file(&manifest)?;
        let writer = Writer::create(file.path(), &manifest, request.overwrite).map_err(Failure::usage)?;
        let lead = if workers.is_empty() { LEAD } else { WORKERS_LEAD };
        Ok(UndatedRecording { file, writer, workload, lead })
    }

    /// The clock of a run that begins now. The file exists before the epoch is chosen: a slow disk makes no arrival late.
    pub(crate) fn clock(&self) -> Clock {
        Clock::starting_in(self.lead)
    }
}

/// A run file that is being written.
pub(crate) struct Recording {
    file: RunFile,
    recorder: Recorder,
    clock: Clock,
    outlets: Vec<TickSender>,
    /// Through which the observers' samples reach the recorder.
    observed: Sender<Observed>,
    marker: Marker,
    folded_endpoints: u64,
    /// What asked the loops to stop, if anything but a signal did.
    ended_by: EndedBy,
    /// Of a run that ends as soon as it is decided.
    decider: Option<Decider>,
    /// Of a run with a live page.
    rendering: Option<Rendering>,
}

/// A run whose load is over, and whose file is not sealed.
pub struct UnsealedRun {
    file: RunFile,
    recorder: Recorder,
    clock: Clock,
    end: RunEnd,
    ended_by: EndedBy,
}

/// A run that is over and in its file.
pub struct SealedRun {
    file: RunFile,
    /// Why nothing could be measured to the end, if that is so.
    aborted: Option<Failure>,
}

impl Recording {
    /// Date the run by this clock, and begin the thread that records.
    pub(crate) fn begin(
        undated: UndatedRecording,
        clock: Clock,
        request: &RunRequest<'_>,
        readers: TickReaders,
    ) -> CommandResult<Recording> {
        let UndatedRecording { file, mut writer, ref workload, .. } = undated;
        let loops = request.all_loops();
        let epoch = Timestamp::from_nanosecond(clock.epoch_unix_ns()).map_err(Failure::own)?;
        writer.date(&rfc3339(epoch)).map_err(Failure::own)?;
        let TickReaders { live, stop_watch, more } = readers;
        let ended_by = stop_watch.ended_by();
        let (observed, samples) = channel();
        let marker = Marker::new(clock, observed.clone());
        let rendering = request.live_page.map(|page| page.begin(file.path(), marker.clone())).transpose()?;
        live.iter().for_each(|live| live.mark_by(marker.clone()));
        let handles = RunHandles { clock, control: stop_watch.control(), ended_by: ended_by.clone(), loops };
        let more = more.map(|make| make(&handles)).unwrap_or_default();
        let decider = until_decided(file.path(), workload, &stop_watch)?;
        let timer = decider
            .as_ref()
            .zip(workload.until_decided.as_ref())
            .map(|(decider, until)| Box::new(decider.timer(&until.looks, loops)) as Box<dyn Sink + Send>);
        let shown = rendering.as_ref().map(|page| Box::new(page.watch(loops)) as Box<dyn Sink + Send>);
        let drawing = live.map(|live| Box::new(live) as _).into_iter().collect();
        let setup_watch = SetupWatch::new(workload, stop_watch.control(), ended_by.clone());
        let recording: [Box<dyn Sink + Send>; 3] =
            [Box::new(writer), Box::new(stop_watch), Box::new(setup_watch)];
        let sinks = Sinks {
            recording: recording.into_iter().chain(timer).chain(shown).chain(more).collect(),
            drawing,
        };
        let (outlets, inlets) = (0..loops).map(|_| tick_channel()).unzip();
        let recorder = Recorder::start(sinks, inlets, samples).map_err(Failure::own)?;
        Ok(Recording {
            file,
            recorder,
            clock,
            outlets,
            observed,
            marker,
            folded_endpoints: 0,
            ended_by,
            decider,
            rendering,
        })
    }

    /// Where observers send what they see.
    pub(crate) fn observed(&self) -> &Sender<Observed> {
        &self.observed
    }

    /// Records how many names of endpoints were folded, how addresses of targets changed, and that checks failed for lack of memory
    /// or requests were not sent: nothing else shows that the generator was the reason.
    pub(crate) fn note_limits(&mut self, program: &Program, folded_endpoints: u64) {
        self.folded_endpoints = folded_endpoints;
        report_address_changes(program, &self.observed);
        let cut = program.cut_bodies().map(|(count, why)| {
            format!("{count} bodies or extracted values were cut, and checks of them failed: {why}")
        });
        let unsent = program.unsent_for_origins().map(|(count, why)| {
            format!(
                "{count} requests were not sent, and are in no number: {why}, which is a limit of plimsoll's"
            )
        });
        for text in cut.into_iter().chain(unsent) {
            let (at, observer) = (self.clock.now(), "generator".to_owned());
            self.note(Notice { at, observer, instance: None, kind: NoticeKind::Unreadable, text });
        }
    }

    /// Record when a run was stopped before its planned end, and why: `interrupted` where nothing here asked for it.
    fn note_stop(&self, at: Option<Instant>, ending: &Ending, interrupted: &str) {
        let text = match (ending, self.ended_by.get()) {
            (Ending::Interrupted, Some(EarlyEnd::Crossed(metrics))) => {
                format!("ended early by the script's thresholds on {metrics}")
            }
            (Ending::Interrupted, _) => interrupted.to_owned(),
            (Ending::Decided, _) => "ended early: it was decided".to_owned(),
            (Ending::Stopped(_), Some(EarlyEnd::Violated(violation))) => {
                format!("ended early by the plan's stop rule for {violation}")
            }
            _ => return,
        };
        let (observer, at) = ("generator".to_owned(), at.unwrap_or_else(|| self.clock.now()));
        self.note(Notice { at, observer, instance: None, kind: NoticeKind::Stopped, text });
    }

    fn note(&self, notice: Notice) {
        // A recorder that is gone has reported why itself.
        let _ = self.observed.send(Observed { notices: vec![notice], ..Observed::default() });
    }

    /// One outlet for each loop; none is left afterwards.
    pub(crate) fn take_outlets(&mut self) -> Vec<TickSender> {
        std::mem::take(&mut self.outlets)
    }

    /// The load and the observers are over. One that the engine broke off is still judged and reported.
    pub(crate) fn end_load(
        mut self,
        totals: Result<Totals, EngineError>,
        was_interrupted: bool,
    ) -> UnsealedRun {
        self.rendering = None;
        if let Some(decider) = self.decider.take() {
            decider.end();
        }
        let stopped_at = totals.as_ref().ok().and_then(|totals| totals.stopped_at);
        let end = self.end(totals, was_interrupted);
        let asked = if was_interrupted { "interrupted by a signal" } else { "ended early by the script" };
        self.note_stop(stopped_at, &end.ending, asked);
        self.marker.close();
        let Recording { file, recorder, clock, ended_by, .. } = self;
        UnsealedRun { file, recorder, clock, end, ended_by }
    }

    fn end(&self, totals: Result<Totals, EngineError>, was_interrupted: bool) -> RunEnd {
        let (ending, totals) = match totals {
            Ok(totals) => {
                let ended = self.ended_by.get().map(|why| match why {
                    EarlyEnd::Violated(violation) => Ending::Stopped(violation.objective.clone()),
                    EarlyEnd::Decided => Ending::Decided,
                    EarlyEnd::Crossed(_) => Ending::Interrupted,
                    EarlyEnd::NotSetUp(why) => Ending::Aborted(why.clone()),
                });
                let asked = ended.or(was_interrupted.then_some(Ending::Interrupted));
                (ending(asked, &totals), totals)
            }
            Err(error) => {
                let last_second = self.clock.now().second();
                (Ending::Aborted(error.to_string()), Totals { last_second, ..Totals::default() })
            }
        };
        RunEnd {
            ending,
            last_second: totals.last_second,
            requests_in_flight: totals.requests_in_flight,
            iterations_in_flight: totals.iterations_in_flight,
            folded_endpoints: self.folded_endpoints,
            folded_ticks: totals.folded_ticks,
        }
    }
}

/// What ends the run of this workload as soon as it is decided, where that is asked for and can be before its end.
fn until_decided(path: &Path, workload: &Workload, stop_watch: &StopWatch) -> CommandResult<Option<Decider>> {
    let Some(until) = &workload.until_decided else { return Ok(None) };
    screen::note(until);
    if until.looks.is_empty() {
        return Ok(None);
    }
    Decider::start(path.to_owned(), workload, stop_watch.control(), stop_watch.ended_by()).map(Some)
}

/// How a run has ended that was asked to end in this way. What is asked for when every loop is over changes nothing. One
/// that was cut short and not asked to end was so by its own script.
fn ending(asked: Option<Ending>, totals: &Totals) -> Ending {
    match totals.stopped_at {
        Some(_) => asked.unwrap_or(Ending::Interrupted),
        None => Ending::Completed,
    }
}

/// A target at which no setup succeeds is an input that cannot be used; else the engine could not measure.
fn broken_off(reason: &str, ended_by: Option<&EarlyEnd>) -> Failure {
    let error = anyhow!("the run was broken off: {reason}");
    match ended_by {
        Some(EarlyEnd::NotSetUp(_)) => Failure::Usage(error),
        _ => Failure::Own(error),
    }
}

fn not_recorded(error: &RecordError, file: &RunFile) -> anyhow::Error {
    let see = file.kept().map(|path| format!("; see `plimsoll report {}`", path.display()));
    anyhow!("the run was not recorded to its end: {error}{}", see.unwrap_or_default())
}

impl UnsealedRun {
    /// The clock that dates everything in this run.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Add what the run's teardown has counted, in the last second of the load.
    pub fn add_teardown(&self, ticks: Vec<Tick>) {
        if !ticks.is_empty() {
            self.recorder.add(teardown_tick(ticks, self.end.last_second));
        }
    }

    /// Record how the run ended and seal the file. A failure to record always fails the run.
    pub fn seal(self) -> CommandResult<SealedRun> {
        let UnsealedRun { file, recorder, end, ended_by, .. } = self;
        let recorded = recorder.finish(&end).map_err(|error| Failure::own(not_recorded(&error, &file)))?;
        recorded.drawing_failures.iter().for_each(screen::note);
        let aborted = match end.ending {
            Ending::Aborted(reason) => Some(broken_off(&reason, ended_by.get())),
            Ending::Completed | Ending::Interrupted | Ending::Stopped(_) | Ending::Decided => None,
        };
        Ok(SealedRun { file, aborted })
    }
}

impl SealedRun {
    /// Where its file is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Its path, if it stays.
    pub fn kept(&self) -> Option<&Path> {
        self.file.kept()
    }

    /// Fails where the run could not be measured to its end.
    pub fn completed(&mut self) -> CommandResult<()> {
        self.aborted.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_no_loop_cut_short_is_completed() {
        let asked = || Some(Ending::Stopped("strict".to_owned()));
        let whole = Totals::default();
        assert_eq!(ending(asked(), &whole), Ending::Completed);
        assert_eq!(ending(Some(Ending::Interrupted), &whole), Ending::Completed);
        let cut = Totals { stopped_at: Some(Instant::EPOCH), ..whole };
        assert_eq!(ending(asked(), &cut), Ending::Stopped("strict".to_owned()));
        assert_eq!(ending(None, &cut), Ending::Interrupted);
    }
}
