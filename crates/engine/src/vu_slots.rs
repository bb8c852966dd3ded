//! The virtual users of a closed scenario, in one loop: who is ready since when, who comes and goes, and how
//! many iterations are left. A seat is what one of them sits in; it keeps its virtual user for good.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::Duration;

use evidence::Instant;
use workload::model::Executor;
use workload::schedule::Segment;
use workload::vu_ramp::{ChangeKind, VuRamp};

use crate::arrivals::Due;

/// The seats of one closed scenario, as far as they belong to this loop.
#[derive(Debug)]
pub(crate) struct VuSlots {
    seats: Vec<VuSlot>,
    /// VuSlots that are ready, the first to be ready first; some may have left since.
    ready: VecDeque<u32>,
    quota: Quota,
    numbers: Numbers,
    /// Arrivals that were taken.
    taken: u64,
    ramp: Option<Ramp>,
}

#[derive(Debug, Clone, Copy)]
struct VuSlot {
    /// Since when it is ready for its next iteration.
    ready_at: Instant,
    /// Iterations it has begun.
    begun: u64,
    is_wanted: bool,
    is_busy: bool,
    is_queued: bool,
    /// When its iteration is cancelled, because it has left.
    cancel_at: Instant,
}

/// What ends a scenario besides its time.
#[derive(Debug)]
enum Quota {
    Endless,
    /// So many iterations in each seat.
    EachSeat(u64),
    /// So many iterations in all of this loop's seats.
    Together(u64),
}

/// How arrivals are numbered, so that no two loops give the same number.
#[derive(Debug)]
enum Numbers {
    /// As they begin.
    AsTaken(Segment),
    /// By seat: the k-th iterations of all `vus` virtual users of the run stand next to each other, so that a
    /// virtual user has the same numbers, hence the same rows, however fast the others are.
    BySeat(Segment, u64),
}

#[derive(Debug)]
struct Ramp {
    changes: Peekable<VuRamp>,
    segment: Segment,
    start: Instant,
    grace: Duration,
    /// VuSlots that have left, with the instant at which their iteration is cancelled, in its order.
    leaving: VecDeque<(Instant, u32)>,
}

impl VuSlots {
    /// The share of `segment`; none of an open executor.
    pub(crate) fn new((executor, start): (&Executor, Instant), segment: Segment) -> Option<VuSlots> {
        let vus = u64::from(executor.peak_vus()?);
        let (mut quota, mut numbers, mut ramp) = (Quota::Endless, Numbers::AsTaken(segment), None);
        match executor {
            Executor::PerVuIterations { iterations, .. } => {
                quota = Quota::EachSeat(*iterations);
                numbers = Numbers::BySeat(segment, vus);
            }
            Executor::SharedIterations { iterations, .. } => {
                // Loops without a virtual user could never make their share.
                let count = u32::try_from(vus).unwrap_or(u32::MAX).min(segment.count);
                let part = Segment { count, ..segment };
                quota = Quota::Together(if segment.index < count { part.share(*iterations) } else { 0 });
                numbers = Numbers::AsTaken(part);
            }
            Executor::RampingVus { start_vus, stages, graceful_ramp_down } => {
                let changes = VuRamp::new(*start_vus, stages).peekable();
                let grace = *graceful_ramp_down;
                ramp = Some(Ramp { changes, segment, start, grace, leaving: VecDeque::new() });
            }
            _ => {}
        }
        let is_wanted = ramp.is_none();
        let seat = VuSlot {
            ready_at: start,
            begun: 0,
            is_wanted,
            is_busy: false,
            is_queued: is_wanted,
            cancel_at: Instant::NEVER,
        };
        let mine = segment.share(vus) as usize;
        let ready = if is_wanted { (0..mine as u32).collect() } else { VecDeque::with_capacity(mine) };
        Some(VuSlots { seats: vec![seat; mine], ready, quota, numbers, taken: 0, ramp })
    }

    /// How many seats there are.
    pub(crate) fn count(&self) -> u32 {
        self.seats.len() as u32
    }

    /// The arrival of the seat that is ready first.
    pub(crate) fn next(&mut self) -> Option<Due> {
        if self.is_used_up() {
            return None;
        }
        while let Some(place) = self.ready.front().copied() {
            let seat = &mut self.seats[place as usize];
            if seat.is_wanted {
                let number = self.numbers.number(self.taken, (place, seat.begun));
                return Some(Due { number, at: seat.ready_at, seat: Some(place) });
            }
            seat.is_queued = false;
            self.ready.pop_front();
        }
        None
    }

    /// The arrival that [`VuSlots::next`] spoke of begins.
    pub(crate) fn take(&mut self) {
        let Some(place) = self.ready.pop_front() else { return };
        let seat = &mut self.seats[place as usize];
        (seat.is_queued, seat.is_busy) = (false, true);
        seat.begun += 1;
        self.taken += 1;
    }

    /// The seat's iteration is over.
    pub(crate) fn is_free(&mut self, place: u32, at: Instant) {
        let seat = &mut self.seats[place as usize];
        seat.is_busy = false;
        seat.cancel_at = Instant::NEVER;
        if seat.is_wanted {
            self.queue(place, at);
        }
    }

    fn queue(&mut self, place: u32, at: Instant) {
        let seat = &mut self.seats[place as usize];
        if matches!(self.quota, Quota::EachSeat(each) if seat.begun >= each) {
            return;
        }
        seat.ready_at = at;
        if !seat.is_queued {
            seat.is_queued = true;
            self.ready.push_back(place);
        }
    }

    /// Whether all iterations that were asked for have begun.
    pub(crate) fn is_used_up(&self) -> bool {
        match self.quota {
            Quota::Endless => false,
            Quota::EachSeat(each) => self.taken >= each.saturating_mul(self.seats.len() as u64),
            Quota::Together(all) => self.taken >= all,
        }
    }

    /// Let come and go who comes and goes by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some((at, place, kind)) = self.ramp.as_mut().and_then(|ramp| ramp.next_by(now)) {
            match kind {
                ChangeKind::Comes => self.come(place, at),
                ChangeKind::Goes => self.go(place, at),
            }
        }
    }

    fn come(&mut self, place: u32, at: Instant) {
        let seat = &mut self.seats[place as usize];
        seat.is_wanted = true;
        seat.cancel_at = Instant::NEVER;
        // Whoever is still in the middle of an iteration goes on after it, as if it had never left.
        if !seat.is_busy {
            self.queue(place, at);
        }
    }

    fn go(&mut self, place: u32, at: Instant) {
        let seat = &mut self.seats[place as usize];
        seat.is_wanted = false;
        if let Some(ramp) = self.ramp.as_mut().filter(|_| seat.is_busy) {
            seat.cancel_at = at + ramp.grace;
            ramp.leaving.push_back((seat.cancel_at, place));
        }
    }

    /// A seat that has left and whose iteration was not over in time; it is free now.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<u32> {
        let ramp = self.ramp.as_mut()?;
        while let Some((at, place)) = ramp.leaving.front().copied().filter(|(at, _)| *at <= now) {
            ramp.leaving.pop_front();
            let seat = &mut self.seats[place as usize];
            // It may have come back meanwhile, or be done.
            if seat.cancel_at == at {
                (seat.is_busy, seat.cancel_at) = (false, Instant::NEVER);
                return Some(place);
            }
        }
        None
    }

    /// When somebody comes or goes next, or is cancelled.
    pub(crate) fn next_change(&mut self) -> Instant {
        let Some(ramp) = &mut self.ramp else { return Instant::NEVER };
        let cancel = ramp.leaving.front().map_or(Instant::NEVER, |(at, _)| *at);
        ramp.peek().map_or(cancel, |(at, ..)| at.min(cancel))
    }
}

impl Ramp {
    /// The next coming or going in this loop, and in which seat.
    fn peek(&mut self) -> Option<(Instant, u32, ChangeKind)> {
        let segment = self.segment;
        while self.changes.next_if(|change| !segment.owns(u64::from(change.user))).is_some() {}
        let change = self.changes.peek()?;
        Some((self.start + change.at, change.user / segment.count, change.kind))
    }

    /// The same, taken, if it is due by `now`.
    fn next_by(&mut self, now: Instant) -> Option<(Instant, u32, ChangeKind)> {
        let change = self.peek().filter(|(at, ..)| *at <= now)?;
        self.changes.next();
        Some(change)
    }
}

impl Numbers {
    fn number(&self, taken: u64, (place, begun): (u32, u64)) -> u64 {
        match self {
            Numbers::AsTaken(segment) => segment.nth(taken),
            Numbers::BySeat(segment, vus) => {
                begun.saturating_mul(*vus).saturating_add(segment.nth(u64::from(place)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
