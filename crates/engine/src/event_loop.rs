//! One loop: start each arrival when it is due, drive its iteration, fill ticks.
//!
//! Each cycle does what is due (arrivals, timers, time limits, the tick), sleeps until the next instant
//! or until a socket is ready, and handles the socket events. On Linux it sleeps on a timer descriptor with nanosecond
//! instants, never spins, and never waits for the recorder of its ticks.

mod alarm;
mod building;
mod completion;
mod deadlines;
mod run_delay;
mod sleep;
mod ticks;
mod timers;

use std::sync::Arc;
use std::time::Duration;

use evidence::tick_channel::TickSender;
use evidence::{Instant, Outcome, Perturbation, STALL};
use mio::{Events, Poll};

use crate::EngineError;
use crate::accounting::{Accounting, AccountingRow, DropReason, DueArrival, StallCause, Subject};
use crate::arrivals::ArrivalSource;
use crate::clock::{Clock, thread_cpu_ns};
use crate::control::{Command, Control};
use crate::exchange::CheckResult;
use crate::exemplars::Exemplars;
use crate::handover::HandedArrival;
use crate::index::{CheckIndex, OperationIndex, PhaseIndex, ScenarioIndex, ScenarioPhase, UserIndex};
use crate::iteration::{Event, IterationRequest, TimerKind};
use crate::metrics::LoopMetrics;
use crate::network::{GivingUp, Network, is_connection};
use crate::operation::Operations;
use crate::program::{Counters, MetNames, Program};
use crate::script_cpu::ScriptCpu;
use crate::users::{ActiveIteration, Users};
use crate::vu_slots::ScheduledArrival;
use crate::window::CurrentWindow;
pub use alarm::Wakeup;
use building::Ledger;
pub(crate) use building::{LoopLinks, LoopLoad, LoopShare, Shared, SingleIteration, early_users};
use deadlines::Deadlines;
use sleep::Sleeper;
use timers::Timers;

/// An arrival of an open model that could not be started this long after it was due is dropped, with the reason that
/// the generator was late: a generator that was stopped for a while must not send everything it missed in one burst.
pub const LATE_AFTER: Duration = Duration::from_secs(1);
/// Why a request is not sent that no connection could be opened for in its time.
const NO_PORT: &str = "not sent: no local port was free for its connection";
/// How many socket events are handled before the loop looks for due arrivals again.
const EVENTS_A_TURN: usize = 64;
/// So many requests that have ended are completed together, at one instant: each once the others were read.
const COMPLETED_AT_ONCE: usize = 16;
/// With so much time until something is due a virtual user is made ahead: scripts take up to about a millisecond.
const SPARE_TIME: Duration = Duration::from_millis(2);

/// What one loop adds to the totals of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LoopTotals {
    pub(crate) last_second: u32,
    pub(crate) requests_in_flight: u64,
    pub(crate) iterations_in_flight: u64,
    pub(crate) folded_ticks: u64,
    pub(crate) stopped_at: Option<Instant>,
}

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
    poll: Poll,
    sleeper: Sleeper,
    sources: Vec<ArrivalSource>,
    users: Users,
    operations: Operations,
    network: Network,
    accounting: Accounting,
    exemplars: Exemplars,
    perturbation: Perturbation,
    metrics: LoopMetrics,
    ledger: Ledger,
    counters: Counters,
    met_names: MetNames,
    timers: Timers,
    deadlines: Deadlines,
    in_flight: InFlight,
    window: CurrentWindow,
    outlet: Option<TickSender>,
    tick_began: Instant,
    cpu_ns: u64,
    script_cpu: ScriptCpu,
    folded: u32,
    folded_ticks: u64,
    applied_command: Command,
    /// From when on it started nothing more, because of a command.
    stopped_at: Option<Instant>,
    requests: Vec<IterationRequest>,
    /// The results of checks of the request that has just completed.
    checks: Vec<(CheckIndex, CheckResult)>,
    /// Virtual users that are resumed in the next turn, with the serial of their iteration.
    yielded: Vec<(UserIndex, u32)>,
    /// The memory of those that are resumed in this turn.
    resumed: Vec<(UserIndex, u32)>,
}

impl EventLoop {
    /// Offer the load, from the clock's epoch until every scenario is over or stopped. What was measured is
    /// handed over also when the loop ends with an error.
    pub(crate) fn run(mut self) -> Result<LoopTotals, EngineError> {
        self.sleeper.prepare_thread();
        self.clock.wait_for_epoch();
        self.sleeper.begin();
        self.cpu_ns = thread_cpu_ns();
        if let Ledger::Once(_) = self.ledger {
            // Until now nothing was due: a dry run begins long after its clock.
            self.perturbation.woke(self.clock.now(), Duration::ZERO);
        }
        let offered = self.offer_load();
        let totals = self.finish();
        offered.and(totals)
    }

    fn offer_load(&mut self) -> Result<(), EngineError> {
        let mut events = Events::with_capacity(1024);
        loop {
            let now = self.clock.now();
            self.perturbation.looked(now, self.in_flight.now);
            self.apply_command(now);
            self.run_due_work(now)?;
            if self.is_over(now) {
                return Ok(());
            }
            let turn_ends = self.clock.now();
            self.record_stall(now, turn_ends);
            self.perturbation.looked(turn_ends, self.in_flight.now);
            let wake = self.next_wake(turn_ends);
            if wake.since(turn_ends) > SPARE_TIME && self.users.make_spare() {
                continue;
            }
            self.sleeper.sleep(&mut self.poll, &mut events, turn_ends, wake)?;
            self.perturbation.woke(self.sleeper.woke_at(), self.sleeper.lateness());
            self.handle_events(&events)?;
        }
    }

    /// Record how long this turn took, or how late it was: what scripts took of it apart from the rest.
    fn record_stall(&mut self, began: Instant, ended: Instant) {
        let busy = ended.since(self.sleeper.woke_at().min(began));
        let late = self.sleeper.take_lateness();
        let mut by_script = Duration::ZERO;
        let held = self.script_cpu.take_held().min(busy);
        if held > STALL {
            by_script = held.saturating_sub(self.sleeper.waited_at_most(ended));
            self.accounting.stalled(StallCause::Script, by_script);
        }
        self.accounting.stalled(StallCause::Other, (busy - by_script).max(late));
    }

    fn handle_events(&mut self, events: &Events) -> Result<(), EngineError> {
        self.network.woke(self.sleeper.woke_at());
        self.network.continue_resolved(&mut self.operations)?;
        if self.network.has_unread() {
            self.network.read_on(&mut self.operations)?;
            self.complete_ended()?;
        }
        for (count, event) in events.iter().enumerate() {
            if is_connection(event.token()) {
                self.network.ready(event, &mut self.operations)?;
                if self.network.ended.len() >= COMPLETED_AT_ONCE {
                    self.complete_ended()?;
                }
            }
            if count % EVENTS_A_TURN == EVENTS_A_TURN - 1 {
                self.complete_ended()?;
                let now = self.clock.now();
                self.start_due(now)?;
            }
        }
        self.complete_ended()?;
        self.flush()
    }

    /// Write what was begun, and complete what ends with it.
    fn flush(&mut self) -> Result<(), EngineError> {
        self.network.flush(&mut self.operations)?;
        self.complete_ended()
    }

    fn run_due_work(&mut self, now: Instant) -> Result<(), EngineError> {
        self.roll_tick(now)?;
        self.start_due(now)?;
        self.fire_timers(now)?;
        self.resume_yielded()?;
        self.expire(now)?;
        self.do_due_on_network(now)?;
        self.cancel_overdue(now)?;
        Ok(())
    }

    /// Start every arrival that is due, the earliest first.
    fn start_due(&mut self, now: Instant) -> Result<(), EngineError> {
        // Slots that become free while this runs are free after `now`, hence used in the next turn: a target
        // that refuses at once cannot keep a closed model's loop from its other duties.
        self.sources.iter_mut().for_each(|source| source.advance(now));
        loop {
            let earliest = self.sources.iter().enumerate().min_by_key(|(_, s)| s.next_due());
            let Some((scenario, _)) = earliest else { break };
            let Some(arrival) = self.sources[scenario].take(now) else { break };
            self.start(ScenarioIndex(scenario), arrival)?;
        }
        self.start_handed()?;
        self.flush()
    }

    fn start(&mut self, scenario: ScenarioIndex, arrival: ScheduledArrival) -> Result<(), EngineError> {
        let now = self.clock.now();
        if self.is_too_late(scenario, &arrival, now.since(arrival.due)) {
            self.drop_arrival(scenario, arrival, DropReason::GeneratorLate);
            if let Some(slot) = arrival.vu_slot {
                self.sources[scenario.0].release_slot(slot, now);
            }
            return Ok(());
        }
        match self.users.take(scenario, arrival.vu_slot, now) {
            Some(user) => self.begin(user, arrival, now),
            None if self.users.hand_over(HandedArrival { scenario, arrival }) => Ok(()),
            None => {
                self.drop_arrival(scenario, arrival, DropReason::VuLimit);
                Ok(())
            }
        }
    }

    /// Start the arrivals that other loops have no free virtual user for. Here they are counted, too.
    fn start_handed(&mut self) -> Result<(), EngineError> {
        for HandedArrival { scenario, arrival } in self.users.handed() {
            let now = self.clock.now();
            if self.is_too_late(scenario, &arrival, now.since(arrival.due)) {
                self.users.refuse_handed(scenario);
                self.drop_arrival(scenario, arrival, DropReason::GeneratorLate);
            } else if let Some(user) = self.users.take_handed(scenario, now) {
                self.begin(user, arrival, now)?;
            }
        }
        Ok(())
    }

    /// Begin an arrival's iteration with a virtual user that was taken for it.
    fn begin(&mut self, user: UserIndex, arrival: ScheduledArrival, now: Instant) -> Result<(), EngineError> {
        let ScheduledArrival { number, due, .. } = arrival;
        let counted = self.count_scheduled(self.users.get(user).scenario, arrival);
        self.accounting.started(counted, now.since(due).as_nanos() as u64);
        let active = ActiveIteration { due, phase: counted.row.phase, outcome: Outcome::Ok };
        let arrival = self.users.begin(user, number, active);
        self.resume(user, now, Event::Begin(arrival))
    }

    fn drop_arrival(&mut self, scenario: ScenarioIndex, arrival: ScheduledArrival, reason: DropReason) {
        let counted = self.count_scheduled(scenario, arrival);
        self.accounting.dropped(counted, reason);
    }

    fn count_scheduled(&mut self, scenario: ScenarioIndex, arrival: ScheduledArrival) -> DueArrival {
        let ScheduledArrival { number, due, .. } = arrival;
        let drawn = self.users.maker(scenario).endpoint_of(number);
        let subject = drawn.map_or(Subject::Scenario(scenario), Subject::Endpoint);
        let counted = DueArrival { row: AccountingRow { subject, phase: self.phase_at(due) }, due };
        self.accounting.scheduled(counted);
        counted
    }

    /// Whether an arrival is dropped because it could not be started in time, or could not be sent because there is no local port: its
    /// wait would hold a virtual user, and the target would be blamed for the scenario's limit.
    fn is_too_late(&self, scenario: ScenarioIndex, arrival: &ScheduledArrival, lag: Duration) -> bool {
        let has_no_time_left =
            || self.users.time_limit_of(scenario, arrival).is_some_and(|limit| lag >= limit);
        let is_missed =
            (lag > LATE_AFTER || self.network.lacks_ports()) && self.sources[scenario.0].is_open_model();
        is_missed || lag >= deadlines::RESOLUTION && has_no_time_left()
    }

    fn fire_timers(&mut self, now: Instant) -> Result<(), EngineError> {
        while let Some(timer) = self.timers.take(now) {
            let owner = self.users.get(timer.user);
            let Some(active) = owner.active.filter(|_| owner.serial == timer.serial) else { continue };
            let at = ScenarioPhase { scenario: owner.scenario, phase: active.phase };
            let fired_at = self.clock.now();
            if timer.kind == TimerKind::Scheduled {
                self.accounting.resumed_late(at, fired_at.since(timer.at).as_nanos() as u64);
            }
            self.resume(timer.user, fired_at, Event::TimerFired(timer.name))?;
        }
        self.flush()
    }

    /// Resume the iterations that yielded in the turn before.
    fn resume_yielded(&mut self) -> Result<(), EngineError> {
        if self.yielded.is_empty() {
            return Ok(());
        }
        let mut resumed = std::mem::take(&mut self.resumed);
        std::mem::swap(&mut resumed, &mut self.yielded);
        for (user, serial) in resumed.drain(..) {
            let owner = self.users.get(user);
            if owner.serial == serial && owner.active.is_some() {
                self.resume(user, self.clock.now(), Event::TurnBegan)?;
            }
        }
        self.resumed = resumed;
        self.flush()
    }

    /// End operations whose time limit has passed.
    fn expire(&mut self, now: Instant) -> Result<(), EngineError> {
        let mut is_any = false;
        while let Some(index) = self.deadlines.next_passed(now, &self.operations) {
            let outcome = self.outcome_of_expired(index);
            self.give_up(self.operations.token(index), outcome, now)?;
            is_any = true;
        }
        if is_any { self.flush() } else { Ok(()) }
    }

    /// How a request ends whose time limit has passed. One that waited for a local port was never sent: it says nothing of
    /// the target.
    fn outcome_of_expired(&mut self, index: OperationIndex) -> Outcome {
        if self.network.waits_for_port(index, &self.operations) {
            self.operations.get_mut(index).unsendable = Some(NO_PORT.to_owned());
            return Outcome::Cancelled;
        }
        Outcome::Timeout
    }

    fn do_due_on_network(&mut self, now: Instant) -> Result<(), EngineError> {
        if now < self.network.next_due() {
            return Ok(());
        }
        self.network.do_due(now, &mut self.operations)?;
        self.flush()
    }

    /// Cancel iterations that their scenario's graceful stop or ramp-down does not wait for; all of them, when
    /// the run is abandoned: also those whose arrivals were due before and have only just been started.
    fn cancel_overdue(&mut self, now: Instant) -> Result<(), EngineError> {
        let is_abandoned = self.applied_command == Command::Abandon;
        let mut cancelled = false;
        for scenario in (0..self.sources.len()).map(ScenarioIndex) {
            let source = &mut self.sources[scenario.0];
            let is_overdue = source.is_over(now) && now >= source.hard_end();
            let busy = if self.users.active_in(scenario) > 0 && (is_abandoned || is_overdue) {
                self.users.busy_in(scenario)
            } else {
                let slots = std::iter::from_fn(|| source.take_overdue(now));
                slots.filter_map(|slot| self.users.assigned_to(scenario, slot)).collect()
            };
            if !busy.is_empty() {
                self.cancel(scenario, busy, now)?;
                cancelled = true;
            }
        }
        if cancelled { self.flush() } else { Ok(()) }
    }

    /// Cancel the iterations of these virtual users of a scenario.
    fn cancel(
        &mut self,
        scenario: ScenarioIndex,
        busy: Vec<UserIndex>,
        now: Instant,
    ) -> Result<(), EngineError> {
        let of_owner = |user: &UserIndex| self.operations.of_owner(*user);
        let open: Vec<OperationIndex> = busy.iter().flat_map(of_owner).collect();
        for operation in open {
            self.network.abandon(operation, GivingUp::Cancelled, &mut self.operations)?;
            self.checks.clear();
            self.record(operation, Outcome::Cancelled, "", now);
            self.operations.close(operation);
        }
        for user in busy {
            self.network.end_iteration(user);
            if let Some(active) = self.users.release(user, now) {
                self.users.get_mut(user).iteration.cancelled();
                self.accounting.iteration_cancelled(
                    ScenarioPhase { scenario, phase: active.phase },
                    now.since(active.due),
                );
            }
        }
        Ok(())
    }

    /// The phase that something due at this instant is counted for.
    fn phase_at(&self, due: Instant) -> PhaseIndex {
        match self.ledger {
            Ledger::Load => self.program.phase_at(due),
            Ledger::Once(phase) => phase,
        }
    }

    fn apply_command(&mut self, now: Instant) {
        let command = self.control.command();
        if command == self.applied_command {
            return;
        }
        self.applied_command = command;
        self.stopped_at.get_or_insert(now);
        self.leave_load(now);
        for source in &mut self.sources {
            source.stop(now);
        }
    }

    fn is_over(&mut self, now: Instant) -> bool {
        let mut running = self.sources.iter().filter(|source| !source.is_over(now)).peekable();
        let is_last = running.peek().is_none();
        if running.all(|source| !source.is_open_model()) {
            self.users.hand_over_no_more();
        }
        is_last && self.users.active() == 0 && self.users.is_handed_nothing_more()
    }

    fn next_wake(&mut self, now: Instant) -> Instant {
        if self.network.has_unread() || !self.yielded.is_empty() {
            return now;
        }
        let next_tick = Instant::at(Duration::from_secs(u64::from(self.accounting.second()) + 1));
        let mut wake = next_tick.min(self.timers.next()).min(self.network.next_due());
        for source in &mut self.sources {
            wake = wake.min(source.next_due()).min(source.next_wake(now));
        }
        self.deadlines.next_before(wake, &self.operations)
    }
}
