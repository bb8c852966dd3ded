//! How the loops of a process share the limit of an open scenario: an arrival for which its loop has no free virtual user is handed
//! to a loop that has one.
//!
//! Virtual users stay on the loop that made them, and each loop has a fixed share of the limit, so that never more are busy, or
//! exist, than the scenario may have. How many are free in each loop is known to all: a loop takes one of its own with one
//! atomic operation on a cache line that others touch only when theirs are used up, and then one of another loop, together with
//! the arrival. A loop with virtual users does not end before no arrival can be handed to it any more.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mio::Waker;
use workload::schedule::Segment;

use crate::index::ScenarioIndex;
use crate::program::Program;
use crate::vu_slots::ScheduledArrival;

/// How many further iterations of a scenario a loop could begin now: its share of the limit less those under way, and less the
/// arrivals that were handed to it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct FreeUsers(AtomicU32);

impl FreeUsers {
    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1)).is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// An arrival that another loop starts, for which a virtual user is taken already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandedArrival {
    pub(crate) scenario: ScenarioIndex,
    pub(crate) arrival: ScheduledArrival,
}

/// What was handed to a loop.
#[derive(Debug, Default)]
struct Inbox {
    has_any: AtomicBool,
    arrivals: Mutex<Vec<HandedArrival>>,
    /// None until the loop runs.
    waker: OnceLock<Arc<Waker>>,
}

impl Inbox {
    fn push(&self, handed: HandedArrival) {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(handed);
        if !self.has_any.swap(true, Ordering::AcqRel) {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            // A loop that has ended needs no waking.
            let _ = waker.wake();
        }
    }

    fn is_empty(&self) -> bool {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// The loops of a process.
#[derive(Debug)]
struct Shared {
    /// By scenario, then loop; empty of closed scenarios.
    free: Vec<Box<[FreeUsers]>>,
    inboxes: Box<[Inbox]>,
    /// How many loops may still hand an arrival over.
    offering: AtomicU32,
}

/// What one loop has to do with the others.
#[derive(Debug)]
pub(crate) struct Handover {
    shared: Arc<Shared>,
    own: usize,
    /// Whether it has virtual users of open scenarios.
    takes_part: bool,
    is_offering: bool,
}

impl Handover {
    /// That of each loop of a process, by the segments of the load that they offer. A single loop shares with none.
    pub(crate) fn among(program: &Program, segments: &[Segment]) -> Vec<Option<Handover>> {
        if segments.len() < 2 {
            return segments.iter().map(|_| None).collect();
        }
        let users_of = |scenario: ScenarioIndex, segment: &Segment| {
            let described = program.scenario(scenario);
            let part = segment.among_first(described.max_vus).filter(|_| described.executor.is_open());
            part.map_or(0, |part| part.share(u64::from(described.max_vus)) as u32)
        };
        let free_in =
            |scenario| segments.iter().map(|segment| users_of(scenario, segment)).collect::<Vec<_>>();
        let free: Vec<Vec<u32>> = program.shape.load().map(free_in).collect();
        Self::of_free(&free, segments.len()).into_iter().map(Some).collect()
    }

    /// With so many free virtual users by scenario, then loop.
    fn of_free(free: &[Vec<u32>], loops: usize) -> Vec<Handover> {
        let takes_part = |own: usize| free.iter().any(|of_loops| of_loops[own] > 0);
        let taking_part = (0..loops).filter(|own| takes_part(*own)).count();
        let counted =
            |of_loops: &Vec<u32>| of_loops.iter().map(|free| FreeUsers(AtomicU32::new(*free))).collect();
        let shared = Arc::new(Shared {
            free: free.iter().map(counted).collect(),
            inboxes: (0..loops).map(|_| Inbox::default()).collect(),
            offering: AtomicU32::new(taking_part as u32),
        });
        let of_loop = |own| {
            let takes_part = takes_part(own);
            Handover { shared: shared.clone(), own, takes_part, is_offering: takes_part }
        };
        (0..loops).map(of_loop).collect()
    }

    /// What wakes the loop when an arrival is handed to it.
    pub(crate) fn wakes(&self, waker: &Arc<Waker>) {
        // A loop runs once.
        let _ = self.shared.inboxes[self.own].waker.set(waker.clone());
    }

    fn own_free(&self, scenario: ScenarioIndex) -> &FreeUsers {
        &self.shared.free[scenario.0][self.own]
    }

    /// Take one of the loop's own free virtual users.
    pub(crate) fn take_own(&self, scenario: ScenarioIndex) -> bool {
        self.own_free(scenario).take()
    }

    /// A virtual user of the loop is free again.
    pub(crate) fn give_back(&self, scenario: ScenarioIndex) {
        self.own_free(scenario).give_back();
    }

    /// Hand an arrival to a loop that has a free virtual user; false where none has.
    pub(crate) fn hand_over(&self, handed: HandedArrival) -> bool {
        let (free, loops) = (&self.shared.free[handed.scenario.0], self.shared.inboxes.len());
        let others = (1..loops).map(|step| (self.own + step) % loops);
        let Some(to) = others.into_iter().find(|other| free[*other].take()) else { return false };
        self.shared.inboxes[to].push(handed);
        true
    }

    /// What was handed to the loop.
    pub(crate) fn take_handed(&self) -> Vec<HandedArrival> {
        let inbox = &self.shared.inboxes[self.own];
        if !inbox.has_any.load(Ordering::Acquire) {
            return Vec::new();
        }
        inbox.has_any.store(false, Ordering::Release);
        std::mem::take(&mut inbox.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The loop has no further arrivals of open scenarios, and hands none over.
    pub(crate) fn stop_offering(&mut self) {
        if std::mem::take(&mut self.is_offering) && self.shared.offering.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.inboxes.iter().for_each(Inbox::wake);
        }
    }

    /// Whether nothing can be handed to the loop any more.
    pub(crate) fn is_handed_nothing_more(&self) -> bool {
        let is_offered_none = || self.shared.offering.load(Ordering::Acquire) == 0;
        !self.takes_part || is_offered_none() && self.shared.inboxes[self.own].is_empty()
    }
}

/// Others do not wait for a loop that has failed.
impl Drop for Handover {
    fn drop(&mut self) {
        self.stop_offering();
    }
}

#[cfg(test)]
mod tests {
    use evidence::Instant;
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Change {
        /// An arrival of this loop.
        Arrives(usize),
        /// The n-th iteration under way ends.
        Ends(usize),
        /// This loop looks at what was handed to it.
        Looks(usize),
    }

    fn changes(loops: usize) -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            // Arrivals fall to loops unevenly.
            4 => Just(Change::Arrives(0)),
            2 => (0..loops).prop_map(Change::Arrives),
            3 => any::<usize>().prop_map(Change::Ends),
            3 => (0..loops).prop_map(Change::Looks),
        ];
        prop::collection::vec(change, 0..300)
    }

    fn free() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0_u32..5, 2..5)
    }

    const SCENARIO: ScenarioIndex = ScenarioIndex(0);

    fn arrival(number: u64) -> HandedArrival {
        let arrival = ScheduledArrival { number, due: Instant::EPOCH, vu_slot: None };
        HandedArrival { scenario: SCENARIO, arrival }
    }

    proptest! {
        /// An arrival is dropped only where no virtual user of any loop is free, never more are busy than there are, and each
        /// arrival that was handed over is started once.
        #[test]
        fn no_arrival_is_dropped_while_a_virtual_user_is_free(
            (free, changes) in free().prop_flat_map(|free| { let loops = free.len(); (Just(free), changes(loops)) }),
        ) {
            let limit: u32 = free.iter().sum();
            let loops = Handover::of_free(std::slice::from_ref(&free), free.len());
            let (mut busy, mut handed, mut number): (Vec<usize>, Vec<u64>, u64) = (Vec::new(), Vec::new(), 0);
            for change in changes {
                match change {
                    Change::Arrives(own) => {
                        let has_free = busy.len() + handed.len() < limit as usize;
                        if loops[own].take_own(SCENARIO) {
                            busy.push(own);
                        } else if loops[own].hand_over(arrival(number)) {
                            handed.push(number);
                        } else {
                            prop_assert!(!has_free, "dropped with {} of {limit} busy", busy.len());
                        }
                        number += 1;
                    }
                    Change::Ends(_) if busy.is_empty() => {}
                    Change::Ends(nth) => {
                        let own = busy.swap_remove(nth % busy.len());
                        loops[own].give_back(SCENARIO);
                    }
                    Change::Looks(own) => {
                        for one in loops[own].take_handed() {
                            let at = handed.iter().position(|number| *number == one.arrival.number);
                            handed.swap_remove(at.unwrap());
                            busy.push(own);
                        }
                    }
                }
                prop_assert!(busy.len() + handed.len() <= limit as usize);
                for (own, share) in free.iter().enumerate() {
                    prop_assert!(busy.iter().filter(|of| **of == own).count() <= *share as usize);
                }
            }
        }
    }

    #[test]
    fn a_loop_ends_when_nothing_can_be_handed_to_it() {
        let mut loops = Handover::of_free(&[vec![1, 2, 0]], 3);
        assert!(loops[2].is_handed_nothing_more(), "it has no virtual users");
        assert!(loops[0].take_own(SCENARIO) && loops[0].hand_over(arrival(7)));
        loops[1].stop_offering();
        loops[1].stop_offering();
        assert!(!loops[1].is_handed_nothing_more() && !loops[0].is_handed_nothing_more());
        drop(loops.remove(0));
        assert!(!loops[0].is_handed_nothing_more(), "one is still to be started");
        assert_eq!(loops[0].take_handed().len(), 1);
        assert!(loops[0].is_handed_nothing_more());
    }
}
