use proptest::prelude::*;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn constant(rate: f64, duration: Duration) -> Schedule {
    Schedule::new(&Executor::ConstantArrivalRate { rate, duration }).expect("it is open")
}

fn ramp(start_rate: f64, stages: &[(f64, f64)]) -> Schedule {
    let stages =
        stages.iter().map(|(to, seconds)| Stage { to: *to, over: Duration::from_secs_f64(*seconds) });
    Schedule::new(&Executor::RampingArrivalRate { start_rate, stages: stages.collect() }).expect("it is open")
}

#[test]
fn a_constant_rate_is_exact_and_does_not_drift_in_a_day() {
    let schedule = constant(300.0, DAY);
    assert_eq!(schedule.count(), 300 * 24 * 3600);
    for second in [0, 1, 3_599, 86_399] {
        assert_eq!(schedule.due(300 * second), Some(Duration::from_secs(second)));
    }
    assert_eq!(schedule.due(schedule.count()), None);
    assert_eq!(schedule.due(100), Some(Duration::from_nanos(333_333_334)));
    // A rate that is not a whole number a second is exact too.
    let slow = constant(100.0 / 60.0, DAY);
    assert_eq!(slow.count(), 100 * 24 * 60);
    assert_eq!(slow.due(100 * 60 * 23), Some(Duration::from_secs(23 * 3600)));
}

#[test]
fn ramps_follow_the_parabola() {
    // From 0 to 300/s in 10 s: n arrivals after sqrt(n / 15) seconds.
    let up = ramp(0.0, &[(300.0, 10.0)]);
    assert_eq!(up.count(), 1_500);
    assert_eq!(up.due(0), Some(Duration::ZERO));
    assert_eq!(up.due(15), Some(Duration::from_secs(1)));
    assert_eq!(up.due(375), Some(Duration::from_secs(5)));
    // Downwards is the mirror image.
    let down = ramp(300.0, &[(0.0, 10.0)]);
    assert_eq!(down.count(), 1_500);
    assert_eq!(down.due(1_500 - 15), Some(Duration::from_secs(9)));
    assert_eq!(down.due(1_500 - 375), Some(Duration::from_secs(5)));
}

#[test]
fn no_arrival_is_due_where_the_rate_is_0() {
    let schedule =
        ramp(0.0, &[(0.0, 5.0), (10.0, 0.0), (10.0, 1.0), (0.0, 0.0), (0.0, 5.0), (10.0, 0.0), (10.0, 1.0)]);
    assert_eq!(schedule.count(), 20);
    assert_eq!(schedule.due(0), Some(Duration::from_secs(5)));
    assert_eq!(schedule.due(10), Some(Duration::from_secs(11)));
    assert_eq!(schedule.arrivals_between(Duration::from_secs(6), Duration::from_secs(11)), 0);
    assert_eq!(ramp(0.0, &[(0.0, 5.0)]).count(), 0);
    assert_eq!(ramp(5.0, &[]).due(0), None);
}

#[test]
fn the_rate_is_the_planned_one_at_every_instant() {
    let schedule = ramp(0.0, &[(300.0, 10.0), (100.0, 10.0)]);
    let at = |seconds: f64| schedule.rate_at(Duration::from_secs_f64(seconds));
    assert_eq!((at(0.0), at(5.0), at(10.0), at(15.0), at(20.0)), (0.0, 150.0, 300.0, 200.0, 0.0));
}

#[test]
fn closed_models_have_no_schedule() {
    assert_eq!(Schedule::new(&Executor::ConstantVus { vus: 3, duration: DAY }), None);
}

/// A schedule of a few stages, and the integral of its rate.
fn schedules() -> impl Strategy<Value = (Schedule, f64)> {
    let rate = prop_oneof![Just(0.0), 0.001..5_000.0f64, (1..2_000u32).prop_map(f64::from)];
    let seconds = prop_oneof![Just(0.0), 0.001..20.0f64, (1..20u32).prop_map(f64::from)];
    (rate.clone(), proptest::collection::vec((rate, seconds), 1..5)).prop_map(|(start, stages)| {
        let mut from = start;
        let mut integral = 0.0;
        for (to, seconds) in &stages {
            integral += (from + to) / 2.0 * seconds;
            from = *to;
        }
        (ramp(start, &stages), integral)
    })
}

proptest! {
    #[test]
    fn the_count_is_the_integral((schedule, integral) in schedules()) {
        prop_assert!((schedule.count() as f64 - integral).abs() <= 1.0 + integral * 1e-9, "{} {integral}", schedule.count());
    }

    #[test]
    fn arrivals_ascend_within_the_duration((schedule, _) in schedules(), from in 0.0..1.0f64) {
        let from = (schedule.count() as f64 * from) as u64;
        let mut last = Duration::ZERO;
        for n in from..schedule.count().min(from + 300) {
            let due = schedule.due(n).expect("n is below the count");
            prop_assert!(last <= due && due <= schedule.duration());
            last = due;
        }
        prop_assert_eq!(schedule.due(schedule.count()), None);
    }

    #[test]
    fn each_arrival_is_counted_where_it_is_due((schedule, _) in schedules(), cut in 0.0..1.2f64) {
        let cut = schedule.duration().mul_f64(cut);
        let before = schedule.arrivals_between(Duration::ZERO, cut);
        prop_assert!(before == 0 || schedule.due(before - 1).is_some_and(|due| due < cut));
        prop_assert!(schedule.due(before).is_none_or(|due| due >= cut));
        let after = schedule.arrivals_between(cut, Duration::MAX);
        prop_assert_eq!(before + after, schedule.count());
    }

    #[test]
    fn the_nth_arrival_is_where_the_integral_reaches_n(rates in (0.0..2_000.0f64, 0.0..2_000.0f64), n in 0.0..1.0f64) {
        let (low, high) = rates;
        let schedule = ramp(low, &[(high, 10.0)]);
        let n = (schedule.count() as f64 * n) as u64;
        if let Some(due) = schedule.due(n) {
            let t = due.as_secs_f64();
            let integral = low * t + (high - low) * t * t / 20.0;
            prop_assert!((integral - n as f64).abs() < 1e-4, "{integral} {n}");
        }
    }

    #[test]
    fn segments_share_all_arrivals_once(count in 1..9u32, total in 0..1_000u64) {
        let segments: Vec<_> = (0..count).map(|index| Segment { index, count }).collect();
        let shares: u64 = segments.iter().map(|s| s.share(total)).sum();
        prop_assert_eq!(shares, total);
        for n in 0..total.min(50) {
            prop_assert_eq!(segments.iter().filter(|s| s.owns(n)).count(), 1);
        }
        for segment in segments {
            for k in 0..segment.share(total) {
                prop_assert!(segment.owns(segment.nth(k)) && segment.nth(k) < total);
            }
        }
    }
}
