//! One worker during the run: its ticks to the recorder, commands to it, its clock once a second.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use engine::{Command, EngineError, LimitsMet, LoopGroup, MergedNames, RunOptions};
use evidence::manifest::Worker;
use evidence::tick::LoopState;
use evidence::tick_channel::{Offer, TickSender};
use evidence::{Instance, Instant, Notice, NoticeKind, Observed, Sample, SeriesKey, Tick};

use super::absent::{LostLoop, Others, record_absence};
use super::drift::Drift;
use super::{Member, ask_for_clock, exchange};
use crate::ClusterError;
use crate::clock::{Exchange, OffsetEstimate};
use crate::frame::{Frame, FrameKind};
use crate::link::message;
use crate::message::{Begin, Ended, ToCoordinator, ToWorker, WorkerOver, WorkerTotals};
use crate::observed;
use crate::tick::{TickReader, loop_of};
use crate::worker::within;

/// Between two looks at commands.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Between two questions for the clock.
const CLOCK_INTERVAL_NS: u64 = 1_000_000_000;
/// Of so many the best is recorded.
const CLOCK_WINDOW: usize = 10;
/// How long the last message may take.
const BYE_LIMIT: Duration = Duration::from_secs(5);

/// How a worker's part of the run ended.
pub(super) struct WorkerEnd {
    pub(super) totals: WorkerTotals,
    pub(super) exit: WorkerExit,
}

/// How a worker has left the run.
pub(super) enum WorkerExit {
    /// At the end of its load, with what its command says of it.
    Ended(serde_json::Value),
    /// It vanished: its name and the reason.
    Vanished(String),
}

/// What takes what a worker hands over.
pub(super) struct Taker {
    /// One for each of its loops.
    pub(super) outlets: Vec<TickSender>,
    pub(super) observed: Sender<Observed>,
    pub(super) names: Arc<MergedNames>,
}

/// A loop of the worker.
struct LoopStream {
    outlet: TickSender,
    reader: TickReader,
    /// The tick whose parts arrive.
    arriving: Box<Tick>,
    /// The second after its last tick.
    next_second: u32,
    state: LoopState,
}

/// Why a worker is no longer there.
enum Stop {
    /// It ended as it should.
    Ended(Ended),
    /// It is gone, for this reason.
    Vanished(ClusterError),
    RecorderGone,
}

impl From<ClusterError> for Stop {
    fn from(error: ClusterError) -> Stop {
        Stop::Vanished(error)
    }
}

pub(super) struct Pump {
    member: Member,
    group: LoopGroup,
    loops: Vec<LoopStream>,
    observed: Sender<Observed>,
    names: Arc<MergedNames>,
    /// A tick that the recorder has not taken yet.
    waiting: Option<(usize, Box<Tick>)>,
    command: Command,
    asked_ns: u64,
    exchanges: Vec<Exchange>,
    drift: Drift,
}

impl Pump {
    pub(super) fn new(member: Member, group: LoopGroup, taker: Taker) -> Pump {
        let Taker { outlets, observed, names } = taker;
        let of_loop = |outlet| LoopStream {
            outlet,
            reader: TickReader::default(),
            arriving: Box::default(),
            next_second: 0,
            state: LoopState::default(),
        };
        Pump {
            member,
            group,
            loops: outlets.into_iter().map(of_loop).collect(),
            observed,
            names,
            waiting: None,
            command: Command::Run,
            asked_ns: 0,
            exchanges: Vec::new(),
            drift: Drift::default(),
        }
    }

    /// From the beginning of the load to its end in this worker.
    pub(super) fn work(
        mut self,
        options: &RunOptions,
        others: &Others,
        silence: Duration,
    ) -> Result<WorkerEnd, EngineError> {
        let stop = match self.relay(options, silence) {
            Ok(ended) => Stop::Ended(ended),
            Err(stop) => stop,
        };
        match stop {
            Stop::Ended(Ended::Over(over)) => {
                let WorkerOver { totals, folded_names, cut_bodies, unsent_for_origins, outcome } = over;
                self.names.add_folded(&folded_names);
                options.program.add_limits_met(LimitsMet { cut_bodies, unsent_for_origins });
                self.part(options);
                others.leave();
                Ok(WorkerEnd { totals, exit: WorkerExit::Ended(outcome) })
            }
            Stop::Ended(Ended::Failed(why)) => {
                options.control.abandon();
                others.leave();
                Err(EngineError::Loop(format!("{}: {why}", self.name())))
            }
            Stop::RecorderGone => {
                options.control.abandon();
                let _ = self.member.link.say(&ToWorker::Abandon);
                let _ = self.member.link.pump(Duration::ZERO);
                others.leave();
                Err(EngineError::RecorderGone)
            }
            Stop::Vanished(error) => self.vanish(&error, options, others),
        }
    }

    /// `worker 2 (127.0.0.1:7400)`
    fn name(&self) -> String {
        Worker::name_of(self.group.index + 1, &self.member.facts.address)
    }

    fn relay(&mut self, options: &RunOptions, silence: Duration) -> Result<Ended, Stop> {
        let epoch_ns = self.member.facts.clock.on_worker(options.clock.monotonic_ns(Instant::EPOCH));
        let epoch_unix_ns = i64::try_from(options.clock.epoch_unix_ns()).unwrap_or(i64::MAX);
        self.member.link.say(&ToWorker::Begin(Begin { epoch_ns, epoch_unix_ns }))?;
        self.record_clock(Instant::EPOCH, self.member.facts.clock);
        loop {
            self.pass_commands(options)?;
            self.ask_for_clock(options)?;
            self.offer_waiting()?;
            while self.waiting.is_none()
                && let Some(frame) = self.member.link.take()?
            {
                if let Some(ended) = self.receive(&frame, options)? {
                    return Ok(ended);
                }
            }
            if self.member.link.silence() > silence {
                return Err(Stop::Vanished(ClusterError::Silent(silence.as_secs())));
            }
            self.member.link.pump(LOOK_INTERVAL)?;
        }
    }

    fn pass_commands(&mut self, options: &RunOptions) -> Result<(), ClusterError> {
        let command = options.control.command();
        if command == self.command {
            return Ok(());
        }
        self.command = command;
        match command {
            Command::Run => Ok(()),
            Command::Drain => self.member.link.say(&ToWorker::Drain),
            Command::Abandon => self.member.link.say(&ToWorker::Abandon),
        }
    }

    fn ask_for_clock(&mut self, options: &RunOptions) -> Result<(), ClusterError> {
        let now = options.clock.now();
        let ns = options.clock.monotonic_ns(now);
        if ns.saturating_sub(self.asked_ns) < CLOCK_INTERVAL_NS {
            return Ok(());
        }
        self.asked_ns = ns;
        if self.exchanges.len() >= CLOCK_WINDOW
            && let Some(estimate) = OffsetEstimate::from_exchanges(&std::mem::take(&mut self.exchanges))
        {
            self.record_clock(now, estimate);
            self.drift.measured(&self.member.facts.clock, &estimate);
        }
        ask_for_clock(&mut self.member.link)
    }

    /// Record by how much the clock has moved against what the run assumes, and how sure that is.
    fn record_clock(&self, at: Instant, estimate: OffsetEstimate) {
        let series = |name| SeriesKey::new(name, SeriesKey::GENERATOR, "s").instance(self.group.place);
        let seconds = |ns: f64| ns / 1e9;
        let drift = seconds(self.member.facts.clock.drift_ns(&estimate) as f64);
        let error = seconds(estimate.error_ns as f64);
        let samples = vec![
            (series(SeriesKey::CLOCK_DRIFT), Sample { at, value: drift }),
            (series(SeriesKey::CLOCK_ERROR), Sample { at, value: error }),
        ];
        // A recorder that is gone has reported why itself.
        let _ = self.observed.send(Observed { samples, ..Observed::default() });
    }

    fn offer_waiting(&mut self) -> Result<(), Stop> {
        let Some((of_loop, tick)) = self.waiting.take() else { return Ok(()) };
        match self.loops[of_loop].outlet.offer(tick) {
            Offer::Accepted(empty) => self.loops[of_loop].arriving = empty,
            Offer::Later(tick) => self.waiting = Some((of_loop, tick)),
            Offer::Gone => return Err(Stop::RecorderGone),
        }
        Ok(())
    }

    /// Hand on what was received; how it ended, if it did.
    fn receive(&mut self, frame: &Frame, options: &RunOptions) -> Result<Option<Ended>, Stop> {
        match frame.kind {
            FrameKind::Tick => self.receive_part(&frame.content)?,
            FrameKind::Observed => {
                let mut seen = observed::read(&frame.content, self.group.place)?;
                self.drift.correct_observed(&mut seen);
                let _ = self.observed.send(seen);
            }
            FrameKind::Pong => self.exchanges.push(exchange(&frame.content)?),
            _ => match message(frame)? {
                ToCoordinator::Ended(ended) => return Ok(Some(ended)),
                ToCoordinator::Stops => options.control.abandon(),
                _ => return Err(ClusterError::malformed("the end of its load was expected").into()),
            },
        }
        Ok(None)
    }

    fn receive_part(&mut self, content: &[u8]) -> Result<(), Stop> {
        let of_loop = usize::from(loop_of(content)?);
        let own = self.loops.get_mut(of_loop);
        let own = own.ok_or_else(|| ClusterError::malformed(format!("it has no loop {of_loop}")))?;
        if !own.reader.read(content, self.group.place, &mut own.arriving)? {
            return Ok(());
        }
        let mut tick = std::mem::take(&mut own.arriving);
        self.names.fold(&mut tick);
        self.drift.correct_tick(&mut tick);
        own.next_second = tick.second.saturating_add(1);
        own.state = tick.state;
        if tick.state.covered_ns > 0 {
            let begun = own.reader.begun(&tick) as f64 / (tick.state.covered_ns as f64 / 1e9);
            let series =
                SeriesKey::new(SeriesKey::OFFERED, SeriesKey::GENERATOR, "1/s").instance(tick.instance);
            let sample = Sample { at: tick.last_instant(), value: begun };
            let _ = self.observed.send(Observed { samples: vec![(series, sample)], ..Observed::default() });
        }
        self.waiting = Some((of_loop, tick));
        self.offer_waiting()
    }

    /// The load of this worker is over: look at its clock once more, and let it go.
    fn part(&mut self, options: &RunOptions) {
        // What it measured is here. A worker that is lost from now on loses nothing.
        if let Ok(estimate) = self.member.measure_clock() {
            self.record_clock(options.clock.now(), estimate);
        }
        let _ = self.member.link.say(&ToWorker::Bye);
        let _ = self.member.link.drain(within(BYE_LIMIT));
    }

    fn vanish(
        self,
        error: &ClusterError,
        options: &RunOptions,
        others: &Others,
    ) -> Result<WorkerEnd, EngineError> {
        let from_second = self.loops.iter().map(|of_loop| of_loop.next_second).min().unwrap_or(0);
        let name = self.name();
        let text = format!(
            "{name} vanished: {error}; what it had from second {from_second} on is lost, and its arrivals of an open \
             model count as dropped by the generator"
        );
        self.note(options.clock.now(), &text);
        others.leave();
        let states = self.loops.iter().map(|of_loop| &of_loop.state);
        let totals = WorkerTotals {
            last_second: from_second.saturating_sub(1),
            requests_in_flight: states.clone().map(|state| u64::from(state.in_flight)).sum(),
            iterations_in_flight: states.map(|state| u64::from(state.iterations)).sum(),
            folded_ticks: 0,
            stopped_at: None,
        };
        let lost = |of_loop: LoopStream| LostLoop {
            from: Instant::at(Duration::from_secs(of_loop.next_second.into())),
            first_key: of_loop.reader.known_keys(),
            outlet: of_loop.outlet,
        };
        let lost = self.loops.into_iter().map(lost).collect();
        record_absence(lost, &self.group, options, others)?;
        Ok(WorkerEnd { totals, exit: WorkerExit::Vanished(format!("{name}: {error}")) })
    }

    fn note(&self, at: Instant, text: &str) {
        let instance: Option<Instance> = Some(self.group.place);
        let (observer, kind) = (SeriesKey::GENERATOR.to_owned(), NoticeKind::Gone);
        let notice = Notice { at, observer, instance, kind, text: text.to_owned() };
        let _ = self.observed.send(Observed { notices: vec![notice], ..Observed::default() });
    }
}
