//! When arrivals are due, in one loop: the schedules of open scenarios, the free VU slots of closed ones.

use std::time::Duration;

use evidence::Instant;
use workload::Timetable;
use workload::schedule::Segment;

use crate::index::{ScenarioIndex, VuSlotIndex};
use crate::program::{ONCE, Program};
use crate::shared_iterations::SharedIterations;
use crate::vu_slots::{BegunIterations, ScenarioShare, ScheduledArrival, VuSlots};

/// The arrivals of one scenario that this loop starts.
#[derive(Debug)]
pub(crate) struct ArrivalSource {
    model: LoadModel,
    start: Instant,
    /// From here on nothing is started.
    end: Instant,
    graceful_stop: Duration,
    next: Option<ScheduledArrival>,
}

#[derive(Debug)]
enum LoadModel {
    /// No timetable: the scenario has fewer virtual users than there are loops, and none is in this one.
    Open(Option<Timetable>),
    Closed(VuSlots),
}

impl ArrivalSource {
    pub(crate) fn new(program: &Program, scenario: ScenarioIndex, share: &ScenarioShare) -> ArrivalSource {
        let described = program.scenario(scenario);
        let start = Instant::at(described.start);
        let model = match VuSlots::new(&described.executor, start, share) {
            Some(slots) => LoadModel::Closed(slots),
            None => {
                let whole = described.timetable.as_ref().expect("what is not closed is open");
                let part = share.segment.among_first(described.max_vus);
                LoadModel::Open(part.map(|part| whole.of_segment(part)))
            }
        };
        let end = start + described.executor.duration();
        let graceful_stop = described.graceful_stop;
        let mut source = ArrivalSource { model, start, end, graceful_stop, next: None };
        source.look_ahead();
        source
    }

    /// The open scenarios of a load, with the arrivals that belong to this segment.
    pub(crate) fn open_in(program: &Program, segment: Segment) -> Vec<(ScenarioIndex, ArrivalSource)> {
        let share = ScenarioShare { segment, begun: BegunIterations::new(SharedIterations::WHOLE) };
        let is_open = |index: &ScenarioIndex| program.scenario(*index).executor.is_open();
        let source = |index| (index, ArrivalSource::new(program, index, &share));
        program.shape.load().filter(is_open).map(source).collect()
    }

    /// One arrival at `start`, whose iteration may take as long as it does, also where the load is drained meanwhile.
    pub(crate) fn once(start: Instant) -> ArrivalSource {
        let slots = VuSlots::new(&ONCE, start, &ScenarioShare::whole()).expect("it is a closed model");
        let end = start + ONCE.duration();
        let model = LoadModel::Closed(slots);
        let graceful_stop = ONCE.duration();
        let mut source = ArrivalSource { model, start, end, graceful_stop, next: None };
        source.look_ahead();
        source
    }

    /// When the next arrival is due; never, when there is none (yet).
    pub(crate) fn next_due(&self) -> Instant {
        self.next.map_or(Instant::NEVER, |arrival| arrival.due)
    }

    /// The next arrival, if it is due by `now`.
    pub(crate) fn take(&mut self, now: Instant) -> Option<ScheduledArrival> {
        let mut taken = Some(self.next.filter(|arrival| arrival.due <= now)?);
        if let LoadModel::Closed(slots) = &mut self.model {
            taken = slots.take();
        }
        self.look_ahead();
        taken
    }

    /// In a closed model: the iteration in this slot is over.
    pub(crate) fn release_slot(&mut self, slot: VuSlotIndex, at: Instant) {
        if let LoadModel::Closed(slots) = &mut self.model {
            slots.release(slot, at);
            // A slot that becomes free comes after those that are free already.
            if self.next.is_none() {
                self.look_ahead();
            }
        }
    }

    /// In a closed model: activate and deactivate slots as planned by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        if let LoadModel::Closed(slots) = &mut self.model
            && slots.next_change() <= now
        {
            slots.advance(now);
            self.look_ahead();
        }
    }

    /// In a closed model: a deactivated slot whose iteration did not end in time.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<VuSlotIndex> {
        match &mut self.model {
            LoadModel::Closed(slots) => slots.take_overdue(now),
            LoadModel::Open(_) => None,
        }
    }

    /// How many VU slots a closed model has in this loop; 0 of an open one.
    pub(crate) fn slot_count(&self) -> u32 {
        match &self.model {
            LoadModel::Closed(slots) => slots.count(),
            LoadModel::Open(_) => 0,
        }
    }

    pub(crate) fn is_open_model(&self) -> bool {
        matches!(self.model, LoadModel::Open(_))
    }

    /// Start nothing from `now` on, even where more is planned.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.end = self.end.min(now);
        self.next = self.next.filter(|arrival| arrival.due < self.end);
    }

    /// Whether nothing more will be started.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        match &self.model {
            LoadModel::Open(_) => self.next.is_none(),
            LoadModel::Closed(slots) => now >= self.end || slots.is_used_up(),
        }
    }

    /// When iterations still under way are cancelled.
    pub(crate) fn hard_end(&self) -> Instant {
        self.end + self.graceful_stop
    }

    /// When the loop must look at it next, apart from arrivals: for a change of its slots, or for its end.
    pub(crate) fn next_wake(&mut self, now: Instant) -> Instant {
        let end = if self.is_over(now) { self.hard_end() } else { self.end };
        let end = if end > now { end } else { Instant::NEVER };
        match &mut self.model {
            LoadModel::Closed(slots) => slots.next_change().min(end),
            LoadModel::Open(_) => end,
        }
    }

    fn look_ahead(&mut self) {
        let next = match &mut self.model {
            LoadModel::Open(timetable) => timetable
                .as_mut()
                .and_then(Timetable::next)
                .map(|(number, offset)| ScheduledArrival { number, due: self.start + offset, vu_slot: None }),
            LoadModel::Closed(slots) => slots.next(),
        };
        self.next = next.filter(|arrival| arrival.due < self.end);
    }
}
