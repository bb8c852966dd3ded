use proptest::prelude::*;

use super::*;
use crate::executor::{Executor, Stage};

const SECOND: Duration = Duration::from_secs(1);

fn poisson(executor: &Executor, seed: u64, segment: Segment) -> Timetable {
    let schedule = Schedule::new(executor).expect("it is open");
    Timetable::along(schedule, spacing(Arrivals::Poisson, seed, 0), segment)
}

fn spacing(arrivals: Arrivals, seed: u64, scenario: usize) -> ArrivalSpacing {
    ArrivalSpacing { arrivals, seed, scenario: ScenarioIndex(scenario) }
}

fn constant(rate: f64, seconds: u32) -> Executor {
    Executor::ConstantArrivalRate { rate, duration: SECOND * seconds }
}

fn ramp(start_rate: f64, stages: &[(f64, f64)]) -> Executor {
    let stage = |(to, seconds): &(f64, f64)| Stage { to: *to, over: Duration::from_secs_f64(*seconds) };
    Executor::RampingArrivalRate { start_rate, stages: stages.iter().map(stage).collect() }
}

/// Arrivals in each of `seconds` seconds.
fn counts(executor: &Executor, seed: u64, seconds: usize) -> Vec<f64> {
    let mut counts = vec![0.0; seconds];
    for (_, due) in poisson(executor, seed, Segment::WHOLE) {
        counts[due.as_secs() as usize] += 1.0;
    }
    counts
}

/// Pearson's statistic of pairs of observed and expected counts, in standard deviations from its mean. With so many
/// degrees of freedom k it is normal within a few percent; its mean is k and its variance 2k.
fn deviation(counts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut freedom, mut sum) = (0.0, 0.0);
    for (seen, expected) in counts {
        freedom += 1.0;
        sum += (seen - expected).powi(2) / expected;
    }
    (sum - freedom) / f64::sqrt(2.0 * freedom)
}

#[test]
fn the_variance_of_counts_a_second_equals_their_mean() {
    // With 20 seeds a correct process stays within four standard deviations; even arrivals (variance 0), and
    // arrivals with too much variance, are hundreds of them away.
    for seed in 0..20 {
        let counts = counts(&constant(50.0, 2_000), seed, 2_000);
        let all = deviation(counts.iter().map(|seen| (*seen, 50.0)));
        assert!(all.abs() < 4.0, "seed {seed}: {all} standard deviations");
        // Neighbouring seconds are independent: the correlation of 2,000 pairs is within 4/√2000 of 0.
        let pairs = counts.windows(2).map(|pair| (pair[0] - 50.0) * (pair[1] - 50.0));
        let correlation = pairs.sum::<f64>() / (50.0 * 1_999.0);
        assert!(correlation.abs() < 0.09, "seed {seed}: {correlation}");
    }
}

#[test]
fn gaps_are_exponential() {
    let mut dues = poisson(&constant(1_000.0, 100), 3, Segment::WHOLE).map(|(_, due)| due.as_secs_f64());
    let mut last = dues.next().expect("there is one");
    // Ten classes of equal probability: their bounds are at −ln(1 − k/10).
    let mut classes = [0.0; 10];
    let mut all = 0.0;
    for due in dues {
        let share = 1.0 - f64::exp(-(due - last) * 1_000.0);
        classes[((share * 10.0) as usize).min(9)] += 1.0;
        (last, all) = (due, all + 1.0);
    }
    let statistic: f64 = classes.iter().map(|seen| (seen - all / 10.0_f64).powi(2) / (all / 10.0)).sum();
    // The chi-square of 9 degrees of freedom exceeds 33.7 once in 10,000 times.
    assert!(statistic < 33.7, "{classes:?}: {statistic}");
}

#[test]
fn random_arrivals_follow_a_ramp() {
    let executor = ramp(0.0, &[(400.0, 100.0), (0.0, 0.0), (0.0, 50.0), (100.0, 50.0)]);
    let schedule = Schedule::new(&executor).expect("it is open");
    for seed in 0..20 {
        let counts = counts(&executor, seed, 200);
        let expected = |second: usize| {
            let (from, to) = (SECOND * second as u32, SECOND * (second as u32 + 1));
            (schedule.rate_at(from) + schedule.rate_at(to - Duration::from_nanos(1))) / 2.0
        };
        assert!((100..150).all(|second| counts[second] == 0.0), "at a rate of 0 there are no arrivals");
        let steep = (3..100).chain(160..200);
        let all = deviation(steep.map(|second| (counts[second], expected(second))));
        assert!(all.abs() < 4.0, "seed {seed}: {all} standard deviations");
    }
}

#[test]
fn a_day_of_random_arrivals_does_not_drift() {
    let table = poisson(&constant(50.0, 86_400), 1, Segment::WHOLE);
    let expected = 50.0 * 86_400.0;
    let planned = table.planned();
    assert!((planned.count as f64 - expected).abs() < 4.0 * f64::sqrt(expected), "{planned:?}");
    assert_eq!(table.count() as u64, planned.count);
}

#[test]
fn of_too_many_arrivals_the_expected_number_is_planned() {
    let table = poisson(&constant(1e6, 1_000), 1, Segment::WHOLE);
    assert_eq!(table.planned(), PlannedArrivals { count: 1_000_000_000, is_exact: false });
}

#[test]
fn arrivals_differ_between_scenarios_and_between_seeds() {
    let first = |seed, scenario| {
        let schedule = Schedule::new(&constant(10.0, 10)).expect("it is open");
        Timetable::along(schedule, spacing(Arrivals::Poisson, seed, scenario), Segment::WHOLE).next()
    };
    assert_eq!(first(1, 0), first(1, 0));
    assert_ne!(first(1, 0), first(2, 0));
    assert_ne!(first(1, 0), first(1, 1));
}

proptest! {
    #[test]
    fn segments_share_all_arrivals(
        (rates, seconds) in ((0.0..500.0f64, 1.0..500.0f64), 0.1..4.0f64),
        (seed, count) in (any::<u64>(), 1..6u32),
        is_even in any::<bool>(),
    ) {
        let executor = ramp(rates.0, &[(rates.1, seconds)]);
        let arrivals = if is_even { Arrivals::Even } else { Arrivals::Poisson };
        let table = |segment| {
            let schedule = Schedule::new(&executor).expect("it is open");
            Timetable::along(schedule, spacing(arrivals, seed, 0), segment)
        };
        let whole: Vec<_> = table(Segment::WHOLE).collect();
        prop_assert_eq!(whole.len() as u64, table(Segment::WHOLE).planned().count);
        prop_assert!(whole.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        let mut shared: Vec<_> = (0..count).flat_map(|index| table(Segment { index, count })).collect();
        shared.sort_unstable();
        prop_assert_eq!(whole, shared);
    }
}
