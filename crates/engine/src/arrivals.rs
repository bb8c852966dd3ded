//! When arrivals are due, in one loop: the schedules of open scenarios, the readiness of closed ones.

use std::time::Duration;

use evidence::Instant;
use workload::schedule::{Schedule, Segment};
use workload::timetable::{ArrivalSpacing, Timetable};

use crate::program::Program;
use crate::vu_slots::VuSlots;

/// One arrival that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    /// In a closed model: the seat whose virtual user makes it.
    pub(crate) seat: Option<u32>,
}

/// The arrivals of one scenario, as far as they belong to this loop.
#[derive(Debug)]
pub(crate) struct Source {
    kind: Kind,
    start: Instant,
    /// From here on nothing is started.
    end: Instant,
    graceful_stop: Duration,
    next: Option<Due>,
}

#[derive(Debug)]
enum Kind {
    Open(Timetable),
    Closed(VuSlots),
}

impl Source {
    pub(crate) fn new(program: &Program, place: usize, segment: Segment) -> Source {
        let scenario = &program.scenarios[place];
        let start = Instant::at(scenario.start);
        let kind = match VuSlots::new((&scenario.executor, start), segment) {
            Some(seats) => Kind::Closed(seats),
            None => {
                let schedule = Schedule::new(&scenario.executor).expect("what is not closed is open");
                let (arrivals, seed) = (scenario.arrivals, program.seed);
                let spacing = ArrivalSpacing { arrivals, seed, scenario: place.into() };
                Kind::Open(Timetable::along(schedule, spacing, segment))
            }
        };
        let end = start + scenario.executor.duration();
        let graceful_stop = scenario.graceful_stop;
        let mut source = Source { kind, start, end, graceful_stop, next: None };
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
        if let Kind::Closed(seats) = &mut self.kind {
            seats.take();
        }
        self.look_ahead();
        Some(due)
    }

    /// In a closed model: the iteration in this seat is over.
    pub(crate) fn seat_is_free(&mut self, seat: u32, at: Instant) {
        if let Kind::Closed(seats) = &mut self.kind {
            seats.is_free(seat, at);
            self.look_ahead();
        }
    }

    /// In a closed model: let virtual users come and go as planned by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        if let Kind::Closed(seats) = &mut self.kind
            && seats.next_change() <= now
        {
            seats.advance(now);
            self.look_ahead();
        }
    }

    /// In a closed model: a seat whose virtual user has left, but was not done in time.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<u32> {
        match &mut self.kind {
            Kind::Closed(seats) => seats.take_overdue(now),
            Kind::Open(_) => None,
        }
    }

    /// How many virtual users of a closed model have a seat in this loop; none of an open one.
    pub(crate) fn seats(&self) -> u32 {
        match &self.kind {
            Kind::Closed(seats) => seats.count(),
            Kind::Open(_) => 0,
        }
    }

    pub(crate) fn is_open_model(&self) -> bool {
        matches!(self.kind, Kind::Open(_))
    }

    /// Nothing will be started from `now` on, earlier than planned.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.end = self.end.min(now.max(self.start));
        self.next = self.next.filter(|due| due.at < self.end);
    }

    /// Whether nothing more will be started.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        match &self.kind {
            Kind::Open(_) => self.next.is_none(),
            Kind::Closed(seats) => now >= self.end || seats.is_used_up(),
        }
    }

    /// When iterations still under way are cancelled.
    pub(crate) fn hard_end(&self) -> Instant {
        self.end + self.graceful_stop
    }

    /// When it needs the loop next, if not for an arrival: for somebody who comes or goes, or for its end.
    pub(crate) fn next_turn(&mut self, now: Instant) -> Instant {
        let end = if self.is_over(now) { self.hard_end() } else { self.end };
        let end = if end > now { end } else { Instant::NEVER };
        match &mut self.kind {
            Kind::Closed(seats) => seats.next_change().min(end),
            Kind::Open(_) => end,
        }
    }

    fn look_ahead(&mut self) {
        let next = match &mut self.kind {
            Kind::Open(timetable) => {
                let next = timetable.next();
                next.map(|(number, offset)| Due { number, at: self.start + offset, seat: None })
            }
            Kind::Closed(seats) => seats.next(),
        };
        self.next = next.filter(|due| due.at < self.end);
    }
}
