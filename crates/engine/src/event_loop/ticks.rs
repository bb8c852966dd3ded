//! How a loop hands its ticks to the recorder, once a second.

use std::time::Duration;

use evidence::metric::MetricTick;
use evidence::tick::LoopState;
use evidence::tick_channel::Offer;
use evidence::{Instant, Tick};

use super::building::Ledger;
use super::{EventLoop, LoopTotals};
use crate::EngineError;
use crate::clock::thread_cpu_ns;
use crate::index::{EndpointPhase, ScenarioPhase};
use crate::network::OpenedConnection;
use crate::window::{CurrentWindow, LoadWindow};

impl EventLoop {
    /// Hand the tick over when its second has passed.
    pub(super) fn roll_tick(&mut self, now: Instant) -> Result<(), EngineError> {
        if now.second() <= self.accounting.second() {
            return Ok(());
        }
        let boundary = Instant::at(Duration::from_secs(u64::from(now.second())));
        self.look_at_window(boundary);
        let tick = self.close_tick(boundary);
        let Some(outlet) = &self.outlet else { return Ok(()) };
        let mut next = match outlet.offer(tick) {
            Offer::Accepted(empty) => {
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
        // A tick that the recorder did not take is filled on.
        self.metrics.exchange(std::mem::take(&mut next.metrics));
        self.accounting.open(next, now.second());
        Ok(())
    }

    /// Leave the windows of the phases that are over.
    #[inline]
    pub(super) fn look_at_window(&mut self, now: Instant) {
        while now >= self.window.ends {
            self.leave_window();
        }
    }

    /// Nothing that happens from now on is in the window of a phase.
    pub(super) fn leave_load(&mut self, now: Instant) {
        self.look_at_window(now);
        if self.ledger == Ledger::Load {
            self.leave_window();
            self.window = CurrentWindow::after();
        }
    }

    #[cold]
    fn leave_window(&mut self) {
        let LoadWindow::Phase(phase) = self.window.window else { return };
        self.accounting.window_left(phase, self.in_flight.now);
        self.window = CurrentWindow::next(phase, &self.program);
    }

    fn close_tick(&mut self, now: Instant) -> Box<Tick> {
        self.in_flight.change(0, now);
        for OpenedConnection { origin, setup } in self.network.opened.drain(..) {
            self.accounting.connected(origin, setup);
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
            script_cpu_ns: self.script_cpu.used_ns(),
            covered_ns: covered.as_nanos() as u64,
            folded: self.folded,
        };
        let scenarios = self.users.states(self.tick_began, now);
        self.accounting.add_exemplars(self.exemplars.take());
        let mut tick = self.accounting.close(state, scenarios);
        tick.metrics = self.metrics.exchange(MetricTick::default());
        tick
    }

    /// Begin to measure the loop's own state anew. Not done when a tick is folded, which then covers all its
    /// seconds.
    fn begin_tick(&mut self, now: Instant) {
        self.users.begin_tick(now);
        self.cpu_ns = thread_cpu_ns();
        self.script_cpu.reset();
        self.in_flight.integral = 0.0;
        self.tick_began = now;
    }

    /// How long what is left in flight has been under way.
    fn record_ages(&mut self, now: Instant) {
        for (_, operation) in self.operations.all_open().filter(|(_, o)| o.begun_at != Instant::NEVER) {
            let due = operation.draft.due;
            let at = EndpointPhase { endpoint: operation.draft.endpoint, phase: self.program.phase_at(due) };
            self.accounting.left_in_flight(at.into(), now.since(due));
        }
        for (scenario, active) in self.users.all_active() {
            let at = ScenarioPhase { scenario, phase: active.phase };
            self.accounting.left_in_flight(at.into(), now.since(active.due));
        }
    }

    /// Hand over the last tick.
    pub(super) fn finish(mut self) -> Result<LoopTotals, EngineError> {
        let now = self.clock.now();
        let totals = LoopTotals {
            last_second: self.accounting.second(),
            requests_in_flight: self.operations.open_count() as u64,
            iterations_in_flight: u64::from(self.users.active()),
            folded_ticks: self.folded_ticks,
            stopped_at: self.stopped_at,
        };
        self.record_ages(now);
        self.leave_load(now);
        let tick = self.close_tick(now);
        let is_taken = self.outlet.take().is_some_and(|outlet| outlet.finish(tick));
        if is_taken { Ok(totals) } else { Err(EngineError::RecorderGone) }
    }
}
