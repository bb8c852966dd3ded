//! When arrivals are due, in one loop: the schedules of open scenarios, the readiness of closed ones.

use std::collections::VecDeque;
use std::time::Duration;

use evidence::Instant;
use workload::model::Executor;
use workload::schedule::{Schedule, Segment};

use crate::program::ScenarioProgram;

/// One arrival that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) number: u64,
    pub(crate) at: Instant,
}

/// The arrivals of one scenario, as far as they belong to this loop.
#[derive(Debug)]
pub(crate) struct Source {
    kind: Kind,
    segment: Segment,
    start: Instant,
    /// From here on nothing is started.
    end: Instant,
    graceful_stop: Duration,
    /// How many arrivals this loop has had of it.
    taken: u64,
    next: Option<Due>,
}

#[derive(Debug)]
enum Kind {
    Open(Schedule),
    /// Virtual users that are ready, since when.
    Closed(VecDeque<Instant>),
}

impl Source {
    pub(crate) fn new(scenario: &ScenarioProgram, segment: Segment) -> Source {
        let kind = match (&scenario.executor, Schedule::new(&scenario.executor)) {
            (_, Some(schedule)) => Kind::Open(schedule),
            (Executor::ConstantVus { vus, .. }, None) => {
                let mine = segment.share(u64::from(*vus)) as usize;
                Kind::Closed(vec![Instant::at(scenario.start); mine].into())
            }
            (_, None) => Kind::Closed(VecDeque::new()),
        };
        let start = Instant::at(scenario.start);
        let end = start + scenario.executor.duration();
        let graceful_stop = scenario.graceful_stop;
        let mut source = Source { kind, segment, start, end, graceful_stop, taken: 0, next: None };
        source.look_ahead();
        source
    }

    /// When the next arrival is due; never, when there is none (yet).
    pub(crate) fn next_due(&self) -> Instant {
        self.next.map_or(Instant::NEVER, |due| due.at)
    }

    /// The next arrival, if it is due by `now`.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Due> {
        let due = self.next.filter(|due| due.at <= now)?;
        self.taken += 1;
        if let Kind::Closed(ready) = &mut self.kind {
            ready.pop_front();
        }
        self.look_ahead();
        Some(due)
    }

    /// In a closed model: a virtual user became ready for its next iteration.
    pub(crate) fn user_is_ready(&mut self, at: Instant) {
        if let Kind::Closed(ready) = &mut self.kind {
            ready.push_back(at);
            self.look_ahead();
        }
    }

    pub(crate) fn is_open_model(&self) -> bool {
        matches!(self.kind, Kind::Open(_))
    }

    /// Nothing will be started from `now` on, earlier than planned.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.end = self.end.min(now.max(self.start));
        self.look_ahead();
    }

    /// Whether nothing more will be started.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        match self.kind {
            Kind::Open(_) => self.next.is_none(),
            Kind::Closed(_) => now >= self.end,
        }
    }

    /// When iterations still under way are cancelled.
    pub(crate) fn hard_end(&self) -> Instant {
        self.end + self.graceful_stop
    }

    /// When it ends, for waking up in time.
    pub(crate) fn end(&self) -> Instant {
        self.end
    }

    fn look_ahead(&mut self) {
        let number = self.segment.nth(self.taken);
        let at = match &self.kind {
            Kind::Open(schedule) => schedule.due(number).map(|offset| self.start + offset),
            Kind::Closed(ready) => ready.front().copied(),
        };
        self.next = at.filter(|at| *at < self.end).map(|at| Due { number, at });
    }
}
