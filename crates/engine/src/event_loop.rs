//! One loop: start each arrival when it is due, drive its iteration, fill ticks.
//!
//! A turn of the loop: what is due (arrivals, timers, time limits, the tick), then sleep until the next
//! instant or until a socket is ready, then what the sockets say. It sleeps on a timer descriptor with
//! nanosecond instants, never spins, and never waits for whoever reads its ticks.

mod settle;
mod sleep;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use evidence::exchange::{Offer, Outlet};
use evidence::tick::LoopState;
use evidence::{Instant, Outcome};
use mio::{Events, Poll, Waker};
use workload::schedule::Segment;

use crate::accounting::{Accounting, Drop, Subject};
use crate::arrivals::{Due, Source};
use crate::clock::{Clock, thread_cpu_ns};
use crate::control::{Command, Control};
use crate::exemplars::Keeper;
use crate::iteration::{Event, Opinion, Want};
use crate::network::Network;
use crate::operation::Operations;
use crate::program::{Counters, Program};
use crate::steps::PlanBehaviour;
use crate::users::{Active, Users};
use crate::{EngineError, RunOptions};
use sleep::{Sleeper, WAKER};

/// An arrival that could not be started this long after it was due is dropped as `late`: a generator that
/// was stopped for a while must not fire everything it missed in one burst.
pub const LATE_AFTER: Duration = Duration::from_secs(1);
/// How many socket events are handled before the loop looks for due arrivals again.
const EVENTS_A_TURN: usize = 64;

/// What a loop leaves behind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LoopEnd {
    pub(crate) last_second: u32,
    pub(crate) requests_in_flight: u64,
    pub(crate) iterations_in_flight: u64,
    pub(crate) folded_ticks: u64,
}

/// A timer an iteration asked for; the serial tells whether it still is that iteration.
type Timer = Reverse<(Instant, u32, u32, u32)>;

/// Requests in flight, over time.
#[derive(Debug, Default)]
struct InFlight {
    now: u32,
    since: Instant,
    integral: f64,
}

impl InFlight {
    fn change(&mut self, by: i32, at: Instant) {
        self.integral += at.since(self.since).as_nanos() as f64 * f64::from(self.now);
        self.since = self.since.max(at);
        self.now = self.now.saturating_add_signed(by);
    }
}

pub(crate) struct EventLoop {
    program: Arc<Program>,
    clock: Clock,
    control: Control,
    index: u16,
    poll: Poll,
    sleeper: Sleeper,
    sources: Vec<Source>,
    users: Users,
    operations: Operations,
    network: Network,
    books: Accounting,
    keeper: Keeper,
    counters: Counters,
    timers: BinaryHeap<Timer>,
    /// No open operation has an earlier time limit.
    earliest_deadline: Instant,
    in_flight: InFlight,
    outlet: Option<Outlet>,
    tick_began: Instant,
    cpu_ns: u64,
    folded: u32,
    folded_ticks: u64,
    obeyed: Command,
    wants: Vec<Want>,
    opinion: Opinion,
}

impl EventLoop {
    /// Segment `index` of `count` of the program's load.
    pub(crate) fn new(setting: &RunOptions, segment: Segment, outlet: Outlet) -> Result<Self, EngineError> {
        let RunOptions { program, clock, control, .. } = setting;
        let index = u16::try_from(segment.index).unwrap_or(u16::MAX);
        let poll = Poll::new().map_err(EngineError::Poll)?;
        let registry = poll.registry().try_clone().map_err(EngineError::Poll)?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(EngineError::Poll)?;
        control.register(Arc::new(waker));
        let sleeper = Sleeper::new(*clock, poll.registry()).map_err(EngineError::Poll)?;
        let mut users = Users::new((segment.index, segment.count));
        for (place, scenario) in program.scenarios.iter().enumerate() {
            let behaviour = match &setting.behaviour {
                Some(behaviour) => behaviour.clone(),
                None => Arc::new(PlanBehaviour::new(program.clone(), place)),
            };
            let cap = segment.share(u64::from(scenario.max_vus)) as u32;
            users.add_crew(scenario.name.clone(), behaviour, cap);
            users.prepare(place, segment.share(u64::from(scenario.preallocated_vus)) as u32);
        }
        Ok(EventLoop {
            clock: *clock,
            control: control.clone(),
            index,
            poll,
            sleeper,
            sources: (0..program.scenarios.len()).map(|place| Source::new(program, place, segment)).collect(),
            users,
            operations: Operations::default(),
            network: Network::new(program.clone(), *clock, registry),
            books: Accounting::new(program.clone(), index),
            keeper: Keeper::new(program.clone()),
            counters: program.names.counters_of(segment),
            timers: BinaryHeap::new(),
            earliest_deadline: Instant::NEVER,
            in_flight: InFlight::default(),
            outlet: Some(outlet),
            tick_began: Instant::EPOCH,
            cpu_ns: 0,
            folded: 0,
            folded_ticks: 0,
            obeyed: Command::Run,
            wants: Vec::new(),
            opinion: Opinion::default(),
            program: program.clone(),
        })
    }

    /// Offer the load, from the clock's epoch until every scenario has run its course or is stopped. What was
    /// measured is handed over also when it ends with an error.
    pub(crate) fn run(mut self) -> Result<LoopEnd, EngineError> {
        self.sleeper.prepare_thread();
        self.clock.wait_for_epoch();
        self.cpu_ns = thread_cpu_ns();
        let offered = self.offer_load();
        let end = self.finish();
        offered.and(end)
    }

    fn offer_load(&mut self) -> Result<(), EngineError> {
        let mut events = Events::with_capacity(1024);
        loop {
            let now = self.clock.now();
            self.obey(now);
            self.do_what_is_due(now)?;
            if self.is_over(now) {
                return Ok(());
            }
            let turn_ends = self.clock.now();
            self.note_stall(now, turn_ends);
            let wake = self.next_wake(turn_ends);
            self.sleeper.sleep(&mut self.poll, (&mut events, wake))?;
            self.handle(&events)?;
        }
    }

    fn note_stall(&mut self, began: Instant, ended: Instant) {
        let busy = ended.since(self.sleeper.woke_at().min(began));
        let late = self.sleeper.take_lateness();
        self.books.stalled(busy.max(late).as_nanos() as u64);
    }

    fn handle(&mut self, events: &Events) -> Result<(), EngineError> {
        self.network.woke(self.sleeper.woke_at());
        for (count, event) in events.iter().enumerate() {
            if event.token().0 >= crate::network::FIRST_CONNECTION {
                self.network.ready(event, &mut self.operations)?;
                self.settle_ended()?;
            }
            if count % EVENTS_A_TURN == EVENTS_A_TURN - 1 {
                let now = self.clock.now();
                self.start_due(now)?;
            }
        }
        self.network.flush(&mut self.operations)?;
        self.settle_ended()
    }

    fn do_what_is_due(&mut self, now: Instant) -> Result<(), EngineError> {
        self.roll(now)?;
        self.start_due(now)?;
        self.fire_timers(now)?;
        self.expire(now)?;
        self.cancel_overdue(now)?;
        Ok(())
    }

    /// Start every arrival that is due, the earliest first.
    fn start_due(&mut self, now: Instant) -> Result<(), EngineError> {
        // Users that become ready while this goes on are ready after `now`, hence for the next turn: a target
        // that refuses at once cannot keep a closed model's loop from its other duties.
        self.sources.iter_mut().for_each(|source| source.advance(now));
        loop {
            let earliest = self.sources.iter().enumerate().min_by_key(|(_, s)| s.next_due());
            let Some((scenario, _)) = earliest else { break };
            let Some(due) = self.sources[scenario].take(now) else { break };
            self.start(scenario, due)?;
        }
        self.network.flush(&mut self.operations)?;
        self.settle_ended()
    }

    fn start(&mut self, scenario: usize, due: Due) -> Result<(), EngineError> {
        let phase = self.program.phase_at(due.at);
        let drawn = self.users.behaviour(scenario).endpoint_of(due.number);
        let subject = drawn.map_or(Subject::Scenario(scenario), Subject::Endpoint);
        let now = self.clock.now();
        let when = (phase, due.at);
        self.books.scheduled(subject, when);
        let lag = now.since(due.at);
        if lag > LATE_AFTER && self.sources[scenario].is_open_model() {
            self.books.dropped(subject, when, Drop::Late);
            return Ok(());
        }
        let Some(user) = self.users.take((scenario, due.seat), now) else {
            self.books.dropped(subject, when, Drop::Cap);
            return Ok(());
        };
        self.books.started(subject, when, lag.as_nanos() as u64);
        let active = Active { due: due.at, phase, outcome: Outcome::Ok };
        let arrival = self.users.begin(user, (due.number, active));
        self.resume(user, (now, Event::Begin(arrival)))
    }

    fn fire_timers(&mut self, now: Instant) -> Result<(), EngineError> {
        while let Some(Reverse((at, user, serial, want))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let owner = self.users.get(user);
            if owner.serial == serial && owner.active.is_some() {
                self.resume(user, (self.clock.now(), Event::Fired(want)))?;
            }
        }
        self.network.flush(&mut self.operations)?;
        self.settle_ended()
    }

    /// End operations whose time limit has passed.
    fn expire(&mut self, now: Instant) -> Result<(), EngineError> {
        if now < self.earliest_deadline {
            return Ok(());
        }
        let is_over = |deadline: Instant| deadline <= now;
        let expired = self.operations.open_ones().filter(|(_, o)| is_over(o.draft.deadline));
        let expired: Vec<_> = expired.map(|(place, _)| self.operations.token(place)).collect();
        for operation in expired {
            self.give_up(operation, (Outcome::Timeout, now))?;
        }
        let next = self.operations.open_ones().map(|(_, o)| o.draft.deadline).min();
        // Looking through all operations takes time; once a millisecond is enough for a time limit.
        self.earliest_deadline = next.map_or(Instant::NEVER, |next| next.max(now + Duration::from_millis(1)));
        self.network.flush(&mut self.operations)?;
        self.settle_ended()
    }

    /// Cancel iterations that their scenario's graceful stop or ramp-down does not wait for; all of them, when the run is
    /// abandoned: also those whose arrivals were due before it was, and have only just been started.
    fn cancel_overdue(&mut self, now: Instant) -> Result<(), EngineError> {
        let is_abandoned = self.obeyed == Command::Abandon;
        let mut cancelled = false;
        for scenario in 0..self.sources.len() {
            let source = &mut self.sources[scenario];
            let is_overdue = source.is_over(now) && now >= source.hard_end();
            let busy = if self.users.active_in(scenario) > 0 && (is_abandoned || is_overdue) {
                self.users.busy_in(scenario)
            } else {
                let seats = std::iter::from_fn(|| source.take_overdue(now));
                let mut left: Vec<u32> =
                    seats.filter_map(|seat| self.users.sitting_in(scenario, seat)).collect();
                left.sort_unstable();
                left
            };
            if !busy.is_empty() {
                self.cancel((scenario, busy), now)?;
                cancelled = true;
            }
        }
        if !cancelled {
            return Ok(());
        }
        self.network.flush(&mut self.operations)?;
        self.settle_ended()
    }

    /// Cancel the iterations of these virtual users, whose places ascend.
    fn cancel(&mut self, (scenario, busy): (usize, Vec<u32>), now: Instant) -> Result<(), EngineError> {
        let theirs = |owner: u32| busy.binary_search(&owner).is_ok();
        let open: Vec<u32> =
            self.operations.open_ones().filter(|(_, o)| theirs(o.owner)).map(|(place, _)| place).collect();
        for operation in open {
            self.network.abandon(operation, &mut self.operations)?;
            self.record(operation, (Outcome::Cancelled, now));
            self.operations.close(operation);
        }
        for user in busy {
            self.network.end_iteration(user, &mut self.operations)?;
            if let Some(active) = self.users.release(user, now) {
                self.books.iteration_cancelled(scenario, active.phase);
            }
        }
        Ok(())
    }

    fn obey(&mut self, now: Instant) {
        let command = self.control.command();
        if command == self.obeyed {
            return;
        }
        self.obeyed = command;
        for source in &mut self.sources {
            source.stop(now);
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.users.active() == 0 && self.sources.iter().all(|s| s.is_over(now))
    }

    fn next_wake(&mut self, now: Instant) -> Instant {
        let next_tick = Instant::at(Duration::from_secs(u64::from(self.books.second()) + 1));
        let timer = self.timers.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at);
        let mut wake = next_tick.min(timer).min(self.earliest_deadline);
        for source in &mut self.sources {
            wake = wake.min(source.next_due()).min(source.next_turn(now));
        }
        wake
    }

    /// Hand the tick over when its second has passed.
    fn roll(&mut self, now: Instant) -> Result<(), EngineError> {
        if now.second() <= self.books.second() {
            return Ok(());
        }
        let boundary = Instant::at(Duration::from_secs(u64::from(now.second())));
        let tick = self.close_tick(boundary);
        let Some(outlet) = &self.outlet else { return Ok(()) };
        let next = match outlet.offer(tick) {
            Offer::Taken(empty) => {
                self.folded = 0;
                self.begin_tick(boundary);
                empty
            }
            Offer::Later(full) => {
                self.folded += 1;
                self.folded_ticks += 1;
                full
            }
            Offer::Gone => return Err(EngineError::RecorderGone),
        };
        self.books.open(next, (self.index, now.second()));
        Ok(())
    }

    fn close_tick(&mut self, now: Instant) -> Box<evidence::Tick> {
        self.in_flight.change(0, now);
        for (origin, opening) in self.network.established.drain(..) {
            self.books.connected(origin, opening);
        }
        let covered = now.since(self.tick_began);
        let cpu_ns = thread_cpu_ns();
        let state = LoopState {
            in_flight_mean: self.in_flight.integral / covered.as_nanos().max(1) as f64,
            in_flight: self.in_flight.now,
            iterations: self.users.active(),
            virtual_users: self.users.count(),
            connections: self.network.open_connections() as u32,
            cpu_ns: cpu_ns - self.cpu_ns,
            covered_ns: covered.as_nanos() as u64,
            folded: self.folded,
        };
        let scenarios = self.users.states((self.tick_began, now));
        self.books.close(state, scenarios)
    }

    /// Measure the loop's own state afresh. Not done when a tick is folded: it then stands for all its seconds.
    fn begin_tick(&mut self, now: Instant) {
        self.users.begin_tick(now);
        self.cpu_ns = thread_cpu_ns();
        self.in_flight.integral = 0.0;
        self.tick_began = now;
    }

    fn finish(mut self) -> Result<LoopEnd, EngineError> {
        let now = self.clock.now();
        let end = LoopEnd {
            last_second: self.books.second(),
            requests_in_flight: self.operations.open_count() as u64,
            iterations_in_flight: u64::from(self.users.active()),
            folded_ticks: self.folded_ticks,
        };
        let tick = self.close_tick(now);
        let taken = self.outlet.take().is_some_and(|outlet| outlet.finish(tick));
        if taken { Ok(end) } else { Err(EngineError::RecorderGone) }
    }
}
