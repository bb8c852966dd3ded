use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::executor::{Arrivals, Executor, Stage};
use crate::index::ScenarioIndex;
use crate::model::{Flow, Scenario};
use crate::schedule::{Schedule, Segment};
use crate::timetable::Timetable;

fn workload(executors: Vec<Executor>, arrivals: Arrivals, seed: u64) -> Workload {
    let scenario = |(index, executor): (usize, Executor)| Scenario {
        name: format!("s{index}"),
        executor,
        arrivals,
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 10,
        graceful_stop: Duration::ZERO,
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow: Flow::Sequence(Vec::new()),
    };
    let scenarios = executors.into_iter().enumerate().map(scenario).collect();
    Workload { seed, scenarios, ..Workload::named("both") }
}

fn constant(rate: f64, seconds: u64) -> Executor {
    Executor::ConstantArrivalRate { rate, duration: Duration::from_secs(seconds) }
}

/// The workloads of both arms.
fn arms(plan: &Workload, seed: u64, shares: [u32; 2], load: SharedLoad) -> [Workload; 2] {
    [false, true].map(|is_second| {
        let mut arm = plan.clone();
        arm.interleave(Turns { seed, is_second, shares }, load, 1.0);
        arm
    })
}

fn dues(workload: &Workload, segment: Segment) -> Vec<(u64, Duration)> {
    Timetable::new(workload, 0, segment).expect("it is open").collect()
}

#[test]
fn each_of_two_arrivals_goes_to_another_arm_and_a_fair_coin_decides_which() {
    let plan = workload(vec![constant(1_000.0, 20)], Arrivals::Even, 3);
    let [a, b] = arms(&plan, 5, [1, 1], SharedLoad::Half).map(|arm| dues(&arm, Segment::WHOLE));
    assert_eq!((a.len(), b.len()), (10_000, 10_000));
    let is_apart =
        |(a, b): (&(u64, Duration), &(u64, Duration))| a.1.abs_diff(b.1) == Duration::from_millis(1);
    assert!(a.iter().zip(&b).all(is_apart));
    let a_is_first = a.iter().zip(&b).filter(|(a, b)| a.1 < b.1).count();
    // A fair coin is within four standard deviations, 50 each.
    assert!((4_800..5_200).contains(&a_is_first), "{a_is_first}");
    let repeated = a.windows(2).zip(b.windows(2)).filter(|(a, b)| (a[0].1 < b[0].1) == (a[1].1 < b[1].1));
    let repeated = repeated.count();
    assert!((4_800..5_200).contains(&repeated), "neighbouring blocks are independent: {repeated}");
}

#[test]
fn scenarios_and_seeds_have_coins_of_their_own() {
    let turns = |seed| Turns { seed, is_second: false, shares: [1, 1] };
    let coins = |seed, scenario| {
        let turns = turns(seed).of_scenario(ScenarioIndex(scenario));
        (0..64).map(|block| turns.owns(2 * block)).collect::<Vec<_>>()
    };
    assert_eq!(coins(1, 0), coins(1, 0));
    assert_ne!(coins(1, 0), coins(2, 0));
    assert_ne!(coins(1, 0), coins(1, 1));
}

#[test]
fn an_arm_is_offered_half_of_the_plan_or_all_of_it() {
    let plan = workload(vec![constant(60.0, 10)], Arrivals::Even, 1);
    for (load, shares, rates) in [
        (SharedLoad::Half, [1, 1], [30.0, 30.0]),
        (SharedLoad::Full, [1, 1], [60.0, 60.0]),
        (SharedLoad::Half, [2, 3], [24.0, 36.0]),
        (SharedLoad::Full, [3, 2], [72.0, 48.0]),
    ] {
        for (arm, rate) in arms(&plan, 7, shares, load).iter().zip(rates) {
            assert_eq!(arm.scenarios[0].executor, constant(rate, 10));
            let expected = Schedule::new(&arm.scenarios[0].executor).unwrap().count();
            assert_eq!(Timetable::new(arm, 0, Segment::WHOLE).unwrap().planned().count, expected);
        }
    }
}

/// What reads the schedule of an arm's own executor, second by second, sees what its arrivals are but for one block.
#[test]
fn every_second_has_the_arrivals_of_the_arms_own_rate_but_for_a_block() {
    let ramp = Executor::RampingArrivalRate {
        start_rate: 20.0,
        stages: vec![Stage { to: 300.0, over: Duration::from_secs(12) }],
    };
    let plan = workload(vec![ramp], Arrivals::Even, 1);
    for arm in arms(&plan, 11, [1, 1], SharedLoad::Half) {
        let schedule = Schedule::new(&arm.scenarios[0].executor).unwrap();
        let dues = dues(&arm, Segment::WHOLE);
        for second in 0..12 {
            let [from, to] = [second, second + 1].map(Duration::from_secs);
            let planned = schedule.arrivals_between(from, to);
            let offered = dues.iter().filter(|(_, due)| (from..to).contains(due)).count() as u64;
            assert!(planned.abs_diff(offered) <= 1, "second {second}: {offered} of {planned}");
        }
    }
}

proptest! {
    /// Together the arms have the arrivals of both, each has its own once, and loops share those of an arm.
    #[test]
    fn the_arms_share_all_arrivals(
        (rates, seconds) in ((0.0..300.0f64, 1.0..300.0f64), 0.1..4.0f64),
        (seed, coin, count) in (any::<u64>(), any::<u64>(), 1..5u32),
        (first, second) in (1..5u32, 1..5u32),
        (is_even, is_half) in (any::<bool>(), any::<bool>()),
    ) {
        let stages = vec![Stage { to: rates.1, over: Duration::from_secs_f64(seconds) }];
        let executor = Executor::RampingArrivalRate { start_rate: rates.0, stages };
        let arrivals = if is_even { Arrivals::Even } else { Arrivals::Poisson };
        let plan = workload(vec![executor], arrivals, seed);
        let load = if is_half { SharedLoad::Half } else { SharedLoad::Full };
        let arms = arms(&plan, coin, [first, second], load);
        let whole = {
            let mut both = plan.clone();
            both.scenarios[0].executor.scale_rate(load.factor());
            dues(&both, Segment::WHOLE)
        };
        let mut shared = Vec::new();
        let mut counts = Vec::new();
        for arm in &arms {
            let own = dues(arm, Segment::WHOLE);
            let planned = Timetable::new(arm, 0, Segment::WHOLE).unwrap().planned();
            prop_assert_eq!(own.len() as u64, planned.count);
            prop_assert!(own.iter().zip(0..).all(|((number, _), expected)| *number == expected));
            let mut of_loops: Vec<_> =
                (0..count).flat_map(|index| dues(arm, Segment { index, count })).collect();
            of_loops.sort_unstable();
            prop_assert_eq!(&of_loops, &own);
            counts.push(own.len() as f64);
            shared.extend(own.into_iter().map(|(_, due)| due));
        }
        shared.sort_unstable();
        prop_assert_eq!(shared, whole.into_iter().map(|(_, due)| due).collect::<Vec<_>>());
        let blocks = counts[0] / f64::from(first) - counts[1] / f64::from(second);
        prop_assert!(blocks.abs() <= 1.0, "{counts:?}");
    }
}
