//! The VU slots of a closed scenario, in one loop: since when each is free, which are active, and how many
//! iterations are left. A slot keeps its virtual user for the whole run.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evidence::Instant;
use workload::model::Executor;
use workload::schedule::Segment;
use workload::vu_ramp::{ChangeKind, VuRamp};

use crate::index::VuSlotIndex;
use crate::shared_iterations::SharedIterations;

/// One arrival of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScheduledArrival {
    pub(crate) number: u64,
    pub(crate) due: Instant,
    /// In a closed model: the slot whose virtual user makes it.
    pub(crate) vu_slot: Option<VuSlotIndex>,
}

/// This loop's share of the VU slots of one closed scenario.
#[derive(Debug)]
pub(crate) struct VuSlots {
    slots: Vec<VuSlot>,
    /// Free slots, the first to be free first; some may have been deactivated since.
    ready: VecDeque<VuSlotIndex>,
    quota: IterationQuota,
    numbering: ArrivalNumbering,
    /// How many arrivals were taken.
    taken: u64,
    ramp: Option<SlotRamp>,
}

#[derive(Debug, Clone, Copy)]
struct VuSlot {
    /// Since when it is free for its next iteration.
    ready_at: Instant,
    /// How many iterations it has begun.
    begun: u64,
    is_active: bool,
    is_busy: bool,
    is_queued: bool,
    /// When its iteration is cancelled, because it was deactivated.
    cancel_at: Instant,
}

/// How many iterations a scenario makes.
#[derive(Debug)]
enum IterationQuota {
    /// As many as its time allows.
    Unlimited,
    /// So many in each slot.
    PerSlot(u64),
    /// So many in all slots of all loops together; each process of a run makes a fixed share of them.
    Shared { iterations: u64, begun: BegunIterations },
}

/// How many iterations of a scenario the loops of this process have begun together, of its share of them.
#[derive(Debug, Clone)]
pub(crate) struct BegunIterations {
    count: Arc<AtomicU64>,
    /// Which of the shared iterations this process makes.
    process: SharedIterations,
}

impl BegunIterations {
    pub(crate) fn new(process: SharedIterations) -> Self {
        BegunIterations { count: Arc::default(), process }
    }

    /// Whether all of this process's share of so many iterations have begun.
    fn are_all(&self, iterations: u64) -> bool {
        self.count.load(Ordering::Relaxed) >= self.process.share(iterations)
    }

    /// Begin one more; its number in the run, from 0.
    fn begin(&self) -> u64 {
        self.process.nth(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

/// The part of a scenario that one loop offers.
#[derive(Debug, Clone)]
pub(crate) struct ScenarioShare {
    pub(crate) segment: Segment,
    pub(crate) begun: BegunIterations,
}

impl ScenarioShare {
    /// All of a scenario, in one loop.
    pub(crate) fn whole() -> ScenarioShare {
        ScenarioShare { segment: Segment::WHOLE, begun: BegunIterations::new(SharedIterations::WHOLE) }
    }
}

/// How arrivals are numbered, so that no two loops use the same number. Shared iterations are numbered as they begin.
#[derive(Debug)]
enum ArrivalNumbering {
    /// In the order in which they begin.
    AsTaken(Segment),
    /// By slot: the k-th iterations of all `vus` virtual users of the run have consecutive numbers, so that a
    /// virtual user has the same numbers, hence the same rows, however fast the others are.
    BySlot { segment: Segment, vus: u64 },
}

#[derive(Debug)]
struct SlotRamp {
    changes: Peekable<VuRamp>,
    segment: Segment,
    start: Instant,
    grace: Duration,
    /// Busy slots that were deactivated, by the instant at which their iteration is cancelled.
    leaving: VecDeque<(Instant, VuSlotIndex)>,
}

/// A slot is activated or deactivated.
#[derive(Debug, Clone, Copy)]
struct SlotChange {
    at: Instant,
    slot: VuSlotIndex,
    kind: ChangeKind,
}

impl VuSlots {
    /// The slots of this share; none of an open executor.
    pub(crate) fn new(executor: &Executor, start: Instant, share: &ScenarioShare) -> Option<VuSlots> {
        let segment = share.segment;
        let vus = u64::from(executor.peak_vus()?);
        let (mut quota, mut ramp) = (IterationQuota::Unlimited, None);
        let mut numbering = ArrivalNumbering::AsTaken(segment);
        match executor {
            Executor::PerVuIterations { iterations, .. } => {
                quota = IterationQuota::PerSlot(*iterations);
                numbering = ArrivalNumbering::BySlot { segment, vus };
            }
            Executor::SharedIterations { iterations, .. } => {
                quota = IterationQuota::Shared { iterations: *iterations, begun: share.begun.clone() };
            }
            Executor::RampingVus { start_vus, stages, graceful_ramp_down } => {
                let changes = VuRamp::new(*start_vus, stages).peekable();
                let grace = *graceful_ramp_down;
                ramp = Some(SlotRamp { changes, segment, start, grace, leaving: VecDeque::new() });
            }
            _ => {}
        }
        let is_active = ramp.is_none();
        let slot = VuSlot {
            ready_at: start,
            begun: 0,
            is_active,
            is_busy: false,
            is_queued: is_active,
            cancel_at: Instant::NEVER,
        };
        let own = segment.share(vus) as usize;
        let ready = match is_active {
            true => (0..own as u32).map(VuSlotIndex).collect(),
            false => VecDeque::with_capacity(own),
        };
        Some(VuSlots { slots: vec![slot; own], ready, quota, numbering, taken: 0, ramp })
    }

    /// How many slots there are.
    pub(crate) fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The arrival of the slot that has been free for longest. The number of a shared iteration is known when it is
    /// taken.
    pub(crate) fn next(&mut self) -> Option<ScheduledArrival> {
        if self.is_used_up() {
            return None;
        }
        while let Some(index) = self.ready.front().copied() {
            let slot = &mut self.slots[index.0 as usize];
            if slot.is_active {
                let number = self.numbering.number(self.taken, index, slot.begun);
                return Some(ScheduledArrival { number, due: slot.ready_at, vu_slot: Some(index) });
            }
            slot.is_queued = false;
            self.ready.pop_front();
        }
        None
    }

    /// Begin the arrival that [`VuSlots::next`] returned. None where other loops have begun all that were left.
    pub(crate) fn take(&mut self) -> Option<ScheduledArrival> {
        let mut arrival = self.next()?;
        if let IterationQuota::Shared { iterations, begun } = &self.quota {
            arrival.number = Some(begun.begin()).filter(|number| number < iterations)?;
        }
        let index = self.ready.pop_front()?;
        let slot = self.slot_mut(index);
        (slot.is_queued, slot.is_busy) = (false, true);
        slot.begun += 1;
        self.taken += 1;
        Some(arrival)
    }

    /// The slot's iteration is over.
    pub(crate) fn release(&mut self, index: VuSlotIndex, at: Instant) {
        let slot = self.slot_mut(index);
        slot.is_busy = false;
        slot.cancel_at = Instant::NEVER;
        if slot.is_active {
            self.queue(index, at);
        }
    }

    fn slot_mut(&mut self, index: VuSlotIndex) -> &mut VuSlot {
        &mut self.slots[index.0 as usize]
    }

    fn queue(&mut self, index: VuSlotIndex, at: Instant) {
        let slot = &mut self.slots[index.0 as usize];
        if matches!(self.quota, IterationQuota::PerSlot(each) if slot.begun >= each) {
            return;
        }
        slot.ready_at = at;
        if !slot.is_queued {
            slot.is_queued = true;
            self.ready.push_back(index);
        }
    }

    /// Whether the whole quota of iterations has begun.
    pub(crate) fn is_used_up(&self) -> bool {
        match &self.quota {
            IterationQuota::Unlimited => false,
            IterationQuota::PerSlot(each) => self.taken >= each.saturating_mul(self.slots.len() as u64),
            // A loop without slots has nothing to wait for.
            IterationQuota::Shared { iterations, begun } => {
                self.slots.is_empty() || begun.are_all(*iterations)
            }
        }
    }

    /// Activate and deactivate slots as the ramp asks until `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(change) = self.ramp.as_mut().and_then(|ramp| ramp.take_due(now)) {
            match change.kind {
                ChangeKind::Comes => self.activate(change.slot, change.at),
                ChangeKind::Goes => self.deactivate(change.slot, change.at),
            }
        }
    }

    fn activate(&mut self, index: VuSlotIndex, at: Instant) {
        let slot = self.slot_mut(index);
        slot.is_active = true;
        slot.cancel_at = Instant::NEVER;
        // A slot whose last iteration is still under way continues after it, as if it had never been deactivated.
        if !slot.is_busy {
            self.queue(index, at);
        }
    }

    fn deactivate(&mut self, index: VuSlotIndex, at: Instant) {
        let slot = &mut self.slots[index.0 as usize];
        slot.is_active = false;
        if let Some(ramp) = self.ramp.as_mut().filter(|_| slot.is_busy) {
            slot.cancel_at = at + ramp.grace;
            ramp.leaving.push_back((slot.cancel_at, index));
        }
    }

    /// A deactivated slot whose iteration did not end in time; it is free from now on.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<VuSlotIndex> {
        let ramp = self.ramp.as_mut()?;
        while let Some((at, index)) = ramp.leaving.front().copied().filter(|(at, _)| *at <= now) {
            ramp.leaving.pop_front();
            let slot = &mut self.slots[index.0 as usize];
            // It may have been activated again meanwhile, or its iteration may be over.
            if slot.cancel_at == at {
                (slot.is_busy, slot.cancel_at) = (false, Instant::NEVER);
                return Some(index);
            }
        }
        None
    }

    /// When a slot is activated, deactivated or cancelled next.
    pub(crate) fn next_change(&mut self) -> Instant {
        let Some(ramp) = &mut self.ramp else { return Instant::NEVER };
        let cancel = ramp.leaving.front().map_or(Instant::NEVER, |(at, _)| *at);
        ramp.peek().map_or(cancel, |change| change.at.min(cancel))
    }
}

impl SlotRamp {
    /// The next change of a slot of this loop.
    fn peek(&mut self) -> Option<SlotChange> {
        let segment = self.segment;
        while self.changes.next_if(|change| !segment.owns(u64::from(change.user))).is_some() {}
        let change = self.changes.peek()?;
        let slot = VuSlotIndex(change.user / segment.count);
        Some(SlotChange { at: self.start + change.at, slot, kind: change.kind })
    }

    /// Take the next change, if it is due by `now`.
    fn take_due(&mut self, now: Instant) -> Option<SlotChange> {
        let change = self.peek().filter(|change| change.at <= now)?;
        self.changes.next();
        Some(change)
    }
}

impl ArrivalNumbering {
    fn number(&self, taken: u64, slot: VuSlotIndex, begun: u64) -> u64 {
        match self {
            ArrivalNumbering::AsTaken(segment) => segment.nth(taken),
            ArrivalNumbering::BySlot { segment, vus } => {
                begun.saturating_mul(*vus).saturating_add(segment.nth(u64::from(slot.0)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
