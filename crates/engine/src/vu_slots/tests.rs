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

fn seats(executor: &Executor, segment: Segment) -> VuSlots {
    VuSlots::new((executor, Instant::EPOCH), segment).unwrap()
}

fn ramp(start_vus: u32, stages: &[(u32, u64)]) -> VuSlots {
    let stages = stages.iter().map(|(to, over)| VuStage { to: *to, over: ms(*over) }).collect();
    let executor = Executor::RampingVus { start_vus, stages, graceful_ramp_down: ms(300) };
    seats(&executor, Segment::WHOLE)
}

/// Begin everything that is ready by `now`; yields the seats.
fn begin(seats: &mut VuSlots, now: Instant) -> Vec<u32> {
    seats.advance(now);
    let mut begun = Vec::new();
    while let Some(due) = seats.next().filter(|due| due.at <= now) {
        seats.take();
        begun.extend(due.seat);
    }
    begun
}

/// Run a quota to its end, each iteration ending at once; yields the numbers given out.
fn numbers_of(executor: &Executor, segment: Segment) -> Vec<u64> {
    let mut seats = seats(executor, segment);
    let mut numbers = Vec::new();
    while let Some(due) = seats.next() {
        seats.take();
        numbers.push(due.number);
        seats.is_free(due.seat.unwrap(), due.at + ms(1));
    }
    assert!(seats.is_used_up());
    numbers
}

#[test]
fn whoever_leaves_ends_the_iteration_and_begins_no_other() {
    let mut seats = ramp(2, &[(2, 1_000), (1, 0), (1, 1_000)]);
    assert_eq!(begin(&mut seats, at(0)), [0, 1]);
    assert!(begin(&mut seats, at(1_000)).is_empty(), "both are busy");
    seats.is_free(1, at(1_100));
    seats.is_free(0, at(1_100));
    assert_eq!(begin(&mut seats, at(1_200)), [0]);
    assert_eq!(seats.take_overdue(at(9_000)), None, "who left was done in time");
}

#[test]
fn an_iteration_that_outlives_the_ramp_down_is_overdue_once() {
    let mut seats = ramp(3, &[(3, 1_000), (1, 0), (1, 5_000)]);
    assert_eq!(begin(&mut seats, at(0)), [0, 1, 2]);
    seats.advance(at(1_000));
    assert_eq!(seats.next_change(), at(1_300));
    assert_eq!(seats.take_overdue(at(1_299)), None);
    let overdue: Vec<_> = std::iter::from_fn(|| seats.take_overdue(at(1_300))).collect();
    assert_eq!(overdue, [2, 1]);
    assert_eq!((seats.next(), seats.next_change()), (None, Instant::NEVER));
}

#[test]
fn who_comes_back_before_the_end_of_the_ramp_down_goes_on() {
    let mut seats = ramp(1, &[(1, 100), (0, 0), (0, 100), (1, 0), (1, 1_000)]);
    assert_eq!(begin(&mut seats, at(0)), [0]);
    seats.advance(at(200));
    assert_eq!(seats.take_overdue(at(5_000)), None);
    seats.is_free(0, at(600));
    assert_eq!(begin(&mut seats, at(600)), [0]);
}

#[test]
fn who_comes_is_due_when_the_ramp_says_so() {
    let mut seats = ramp(0, &[(2, 1_000)]);
    assert_eq!((seats.next(), seats.next_change()), (None, at(500)));
    seats.advance(at(2_000));
    let due = seats.next().unwrap();
    assert_eq!((due.at, due.seat), (at(500), Some(0)));
}

proptest! {
    #[test]
    fn loops_share_all_iterations_and_their_numbers(vus in 1..20u32, each in 1..8u64, count in 1..6u32) {
        let max_duration = ms(1_000);
        let per_vu = Executor::PerVuIterations { vus, iterations: each, max_duration };
        let all = each * u64::from(vus);
        let shared = Executor::SharedIterations { vus, iterations: all, max_duration };
        for executor in [per_vu, shared] {
            let segments = (0..count).map(|index| Segment { index, count });
            let numbers: Vec<u64> = segments.flat_map(|segment| numbers_of(&executor, segment)).collect();
            prop_assert_eq!(numbers.len() as u64, all);
            prop_assert!(numbers.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..all));
        }
    }

    #[test]
    fn a_seat_makes_the_same_iterations_in_any_number_of_loops(vus in 1..20u32, count in 1..6u32) {
        let executor = Executor::PerVuIterations { vus, iterations: 3, max_duration: ms(1_000) };
        for index in 0..count {
            let segment = Segment { index, count };
            let mut mine = seats(&executor, segment);
            while let Some(due) = mine.next() {
                mine.take();
                let seat = due.seat.unwrap();
                prop_assert_eq!(due.number % u64::from(vus), segment.nth(u64::from(seat)));
                mine.is_free(seat, due.at + ms(1));
            }
        }
    }

    #[test]
    fn loops_together_have_who_is_wanted(
        start_vus in 0..20u32,
        stages in proptest::collection::vec((0..30u32, 0..2_000u64), 1..5),
        (count, cut) in (1..6u32, 0..5_000u64),
    ) {
        let stages: Vec<_> = stages.iter().map(|(to, over)| VuStage { to: *to, over: ms(*over) }).collect();
        let wanted = VuRamp::new(start_vus, &stages).vus_at(ms(cut));
        let executor = Executor::RampingVus { start_vus, stages, graceful_ramp_down: ms(0) };
        let mut busy = 0;
        for index in 0..count {
            let mut seats = seats(&executor, Segment { index, count });
            let mut there = BTreeSet::new();
            // Iterations never end by themselves: who leaves is cancelled at once.
            for now in (0..cut).step_by(7).chain([cut]) {
                there.extend(begin(&mut seats, at(now)));
                while let Some(seat) = seats.take_overdue(at(now)) {
                    there.remove(&seat);
                }
            }
            busy += there.len();
        }
        prop_assert_eq!(busy as u32, wanted);
    }
}
