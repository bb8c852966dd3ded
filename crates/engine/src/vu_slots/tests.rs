use std::collections::BTreeSet;

use proptest::prelude::*;
use workload::model::VuStage;

use super::*;

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn slots(executor: &Executor, segment: Segment) -> VuSlots {
    shared_slots(executor, segment, &BegunIterations::new(SharedIterations::WHOLE))
}

fn shared_slots(executor: &Executor, segment: Segment, begun: &BegunIterations) -> VuSlots {
    let share = ScenarioShare { segment, begun: begun.clone() };
    VuSlots::new(executor, Instant::EPOCH, &share).unwrap()
}

fn ramp(start_vus: u32, stages: &[(u32, u64)]) -> VuSlots {
    let stages = stages.iter().map(|(to, over)| VuStage { to: *to, over: ms(*over) }).collect();
    let executor = Executor::RampingVus { start_vus, stages, graceful_ramp_down: ms(300) };
    slots(&executor, Segment::WHOLE)
}

/// Begin everything that is due by `now`; returns the slots.
fn begin(slots: &mut VuSlots, now: Instant) -> Vec<u32> {
    slots.advance(now);
    let mut begun = Vec::new();
    while slots.next().is_some_and(|arrival| arrival.due <= now) {
        let arrival = slots.take().unwrap();
        begun.extend(arrival.vu_slot.map(|slot| slot.0));
    }
    begun
}

/// Let the loops use up a quota in turns, with iterations that end at once; returns the numbers of the arrivals.
fn numbers_of(executor: &Executor, loops: u32) -> Vec<u64> {
    let begun = BegunIterations::new(SharedIterations::WHOLE);
    let segments = (0..loops).map(|index| Segment { index, count: loops });
    let mut all: Vec<VuSlots> = segments.map(|segment| shared_slots(executor, segment, &begun)).collect();
    let mut numbers = Vec::new();
    while all.iter().any(|slots| !slots.is_used_up()) {
        for slots in &mut all {
            let Some(arrival) = slots.take() else { continue };
            numbers.push(arrival.number);
            slots.release(arrival.vu_slot.unwrap(), arrival.due + ms(1));
        }
    }
    numbers
}

#[test]
fn a_deactivated_slot_ends_its_iteration_and_begins_no_other() {
    let mut slots = ramp(2, &[(2, 1_000), (1, 0), (1, 1_000)]);
    assert_eq!(begin(&mut slots, at(0)), [0, 1]);
    assert!(begin(&mut slots, at(1_000)).is_empty(), "both are busy");
    slots.release(VuSlotIndex(1), at(1_100));
    slots.release(VuSlotIndex(0), at(1_100));
    assert_eq!(begin(&mut slots, at(1_200)), [0]);
    assert_eq!(slots.take_overdue(at(9_000)), None, "its iteration ended in time");
}

#[test]
fn an_iteration_that_outlives_the_ramp_down_is_overdue_once() {
    let mut slots = ramp(3, &[(3, 1_000), (1, 0), (1, 5_000)]);
    assert_eq!(begin(&mut slots, at(0)), [0, 1, 2]);
    slots.advance(at(1_000));
    assert_eq!(slots.next_change(), at(1_300));
    assert_eq!(slots.take_overdue(at(1_299)), None);
    let overdue: Vec<_> = std::iter::from_fn(|| slots.take_overdue(at(1_300))).collect();
    assert_eq!(overdue, [VuSlotIndex(2), VuSlotIndex(1)]);
    assert_eq!((slots.next(), slots.next_change()), (None, Instant::NEVER));
}

#[test]
fn a_slot_that_is_activated_again_during_the_ramp_down_continues() {
    let mut slots = ramp(1, &[(1, 100), (0, 0), (0, 100), (1, 0), (1, 1_000)]);
    assert_eq!(begin(&mut slots, at(0)), [0]);
    slots.advance(at(200));
    assert_eq!(slots.take_overdue(at(5_000)), None);
    slots.release(VuSlotIndex(0), at(600));
    assert_eq!(begin(&mut slots, at(600)), [0]);
}

#[test]
fn a_slot_is_due_when_the_ramp_activates_it() {
    let mut slots = ramp(0, &[(2, 1_000)]);
    assert_eq!((slots.next(), slots.next_change()), (None, at(500)));
    slots.advance(at(2_000));
    let arrival = slots.next().unwrap();
    assert_eq!((arrival.due, arrival.vu_slot), (at(500), Some(VuSlotIndex(0))));
}

proptest! {
    #[test]
    fn loops_share_all_iterations_and_their_numbers(vus in 1..20u32, each in 1..8u64, count in 1..6u32) {
        let max_duration = ms(1_000);
        let per_vu = Executor::PerVuIterations { vus, iterations: each, max_duration };
        let all = each * u64::from(vus);
        let shared = Executor::SharedIterations { vus, iterations: all, max_duration };
        for executor in [per_vu, shared] {
            let numbers = numbers_of(&executor, count);
            prop_assert_eq!(numbers.len() as u64, all);
            prop_assert!(numbers.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..all));
        }
    }

    #[test]
    fn a_slot_makes_the_same_iterations_in_any_number_of_loops(vus in 1..20u32, count in 1..6u32) {
        let executor = Executor::PerVuIterations { vus, iterations: 3, max_duration: ms(1_000) };
        for index in 0..count {
            let segment = Segment { index, count };
            let mut slots = slots(&executor, segment);
            while let Some(arrival) = slots.take() {
                let slot = arrival.vu_slot.unwrap();
                prop_assert_eq!(arrival.number % u64::from(vus), segment.nth(u64::from(slot.0)));
                slots.release(slot, arrival.due + ms(1));
            }
        }
    }

    #[test]
    fn loops_together_have_as_many_active_slots_as_the_ramp_asks(
        start_vus in 0..20u32,
        stages in proptest::collection::vec((0..30u32, 0..2_000u64), 1..5),
        (count, cut) in (1..6u32, 0..5_000u64),
    ) {
        let stages: Vec<_> = stages.iter().map(|(to, over)| VuStage { to: *to, over: ms(*over) }).collect();
        let expected = VuRamp::new(start_vus, &stages).vus_at(ms(cut));
        let executor = Executor::RampingVus { start_vus, stages, graceful_ramp_down: ms(0) };
        let mut busy = 0;
        for index in 0..count {
            let mut slots = slots(&executor, Segment { index, count });
            let mut active = BTreeSet::new();
            // Iterations never end by themselves: those of deactivated slots are cancelled at once.
            for now in (0..cut).step_by(7).chain([cut]) {
                active.extend(begin(&mut slots, at(now)));
                while let Some(slot) = slots.take_overdue(at(now)) {
                    active.remove(&slot.0);
                }
            }
            busy += active.len();
        }
        prop_assert_eq!(busy as u32, expected);
    }
}
