use proptest::prelude::*;

use super::*;

/// How long after the second observers date its sample.
const LATE_NS: u64 = 142_000;

fn sample(at_s: f64, value: f64) -> Sample {
    Sample { at: Instant::from_nanos((at_s * 1e9).round() as u64), value }
}

/// A sample at each of these seconds, dated late.
fn late(seconds: impl Iterator<Item = u64>, value: impl Fn(u64) -> f64) -> Vec<Sample> {
    seconds
        .map(|second| Sample { at: Instant::from_nanos(second * SECOND_NS + LATE_NS), value: value(second) })
        .collect()
}

fn rates(samples: &[Sample]) -> Coverage {
    Coverage::of_samples(SampleKind::Rate, samples)
}

/// The one range that there is.
fn only(ranges: &[Seconds]) -> Option<Seconds> {
    if let [one] = ranges { Some(one.clone()) } else { None }
}

fn values(coverage: &Coverage, seconds: Seconds) -> Vec<f64> {
    coverage.within(Window::new(&seconds)).iter().map(|sample| sample.value).collect()
}

#[test]
fn a_sample_dated_late_belongs_to_the_seconds_that_it_covers() {
    for kind in [SampleKind::Rate, SampleKind::Level] {
        let coverage = Coverage::of_samples(kind, &late(1..=12, |second| second as f64));
        assert_eq!(values(&coverage, 0..6), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{kind:?}");
        assert_eq!(values(&coverage, 6..12), [7.0, 8.0, 9.0, 10.0, 11.0, 12.0], "{kind:?}");
        assert_eq!(coverage.all()[5].second(), 5);
    }
}

#[test]
fn an_integral_takes_the_overlap() {
    let coverage = rates(&[sample(1.0, 2.0), sample(2.5, 4.0)]);
    let window =
        Window { begin: Instant::from_nanos(SECOND_NS / 2), end: Instant::from_nanos(2 * SECOND_NS) };
    assert_eq!(coverage.integral(window), Integral { sum: 1.0 + 4.0, covered_s: 1.5 });
}

#[test]
fn a_gap_is_not_filled_and_one_missing_sample_is_no_gap() {
    let coverage = rates(&late((1..=5).chain(50..=54), |_| 0.5));
    let all = coverage.integral(Window::new(&(0..60)));
    assert!((all.covered_s - 10.0).abs() < 1e-3 && (all.sum - 5.0).abs() < 1e-3, "{all:?}");
    assert_eq!(covered_seconds(&[coverage], &(0..60), 60), [0..5, 49..54]);
    let without_one = rates(&late((1..=5).chain(7..=9), |_| 0.5));
    assert_eq!(only(&covered_seconds(&[without_one], &(0..9), 60)), Some(0..9));
    assert_eq!(covered_seconds(&[], &(0..9), 60), []);
}

#[test]
fn a_level_represents_one_second_however_seldom_it_is_sampled() {
    let coverage =
        Coverage::of_samples(SampleKind::Level, &[sample(0.0, 1.0), sample(5.0, 2.0), sample(5.4, 3.0)]);
    let lengths: Vec<f64> = coverage.all().iter().map(CoveredSample::length_s).collect();
    assert_eq!(lengths, [0.0, 1.0, 0.4]);
    assert_eq!(
        values(&coverage, 0..1),
        [1.0],
        "a level at the first instant of the run is of its first second"
    );
}

#[test]
fn a_rate_over_a_few_milliseconds_is_joined_with_the_one_before() {
    let mut samples = late(1..=9, |_| 0.1);
    // One step of 10 ms in 5 ms.
    samples.push(sample(9.005, 2.0));
    let coverage = rates(&samples);
    assert_eq!(coverage.all().len(), 9);
    let last = coverage.all()[8];
    assert!(last.end == samples[9].at && last.value < 0.12, "{last:?}");
    let sum = coverage.integral(Window::new(&(0..10))).sum;
    assert!((sum - (9.0 * 0.1 + 0.005 * 2.0)).abs() < 1e-3, "{sum}");
    let lone = rates(&[sample(1.0, 0.1), sample(1.3, 0.2)]);
    assert!(
        (lone.all()[0].length_s() - 1.3).abs() < 1e-9,
        "a second sample that is early is the last of a watch"
    );
}

#[test]
fn the_last_second_of_a_run_is_covered_by_a_sample_at_the_end_of_the_watch() {
    let covered = |samples: &[Sample], run_s| only(&covered_seconds(&[rates(samples)], &(0..run_s), run_s));
    for closed_at_s in [9.05, 9.3, 9.7, 10.2] {
        let mut samples = late(1..=9, |_| 0.5);
        samples.push(sample(closed_at_s, 0.5));
        assert_eq!(covered(&samples, 10), Some(0..10), "closed at {closed_at_s}");
        assert_eq!(
            covered(&samples, 11),
            Some(if closed_at_s < 10.0 { 0..9 } else { 0..10 }),
            "another second"
        );
    }
    assert_eq!(covered(&late(1..=9, |_| 0.5), 10), Some(0..9), "without such a sample");
    let mut samples = late(1..=8, |_| 0.5);
    samples.push(sample(9.6, 0.5));
    assert_eq!(covered(&samples, 10), Some(0..9), "a sample that was taken late does not end the watch");
    assert_eq!(covered(&[sample(1.000_142, 0.5), sample(1.2, 0.5)], 2), Some(0..2));
    assert_eq!(covered(&[sample(0.485, 0.5)], 1), Some(0..1), "a run below a second has this sample alone");
    assert_eq!(covered(&[sample(0.485, 0.5)], 2), None, "a watch that ended before the run");
}

#[test]
fn a_gap_of_one_part_uncovers_its_seconds() {
    let whole = rates(&late(1..=10, |_| 0.5));
    let with_gap = rates(&late((1..=3).chain(8..=10), |_| 0.5));
    let later = rates(&late(7..=10, |_| 0.5));
    assert_eq!(covered_seconds(&[whole.clone(), with_gap], &(0..10), 20), [0..3, 7..10]);
    let seconds = covered_seconds(&[whole, later], &(0..10), 20);
    assert_eq!(only(&seconds), Some(0..10), "a part that begins later has no gap");
}

#[test]
fn values_that_are_not_finite_are_left_out() {
    let coverage = rates(&[sample(1.0, 1.0), sample(2.0, f64::NAN), sample(3.0, 3.0)]);
    assert_eq!(coverage.all().iter().map(|s| s.value).collect::<Vec<_>>(), [1.0, 3.0]);
    assert_eq!(coverage.all()[1].begin, Instant::from_nanos(2 * SECOND_NS));
    assert_eq!(mean([].iter()), None);
}

fn any_samples() -> impl Strategy<Value = Vec<Sample>> {
    let distance = prop_oneof![
        8 => 900_000_000..1_100_000_000_u64,
        2 => 0..3_000_000_000_u64,
        1 => 3_000_000_000..90_000_000_000_u64,
    ];
    proptest::collection::vec((distance, 0..1_000_u32), 0..60).prop_map(|steps| {
        let mut at = 0;
        let next = |(distance, value): (u64, u32)| {
            at += distance;
            Sample { at: Instant::from_nanos(at), value: f64::from(value) }
        };
        steps.into_iter().map(next).collect()
    })
}

fn any_kind() -> impl Strategy<Value = SampleKind> {
    prop_oneof![Just(SampleKind::Rate), Just(SampleKind::Level)]
}

/// Windows that follow each other from the first instant on.
fn any_windows() -> impl Strategy<Value = Vec<Window>> {
    proptest::collection::vec(1..20_000_000_000_u64, 1..20).prop_map(|lengths| {
        let mut begin = 0;
        let next = |length| {
            let window =
                Window { begin: Instant::from_nanos(begin), end: Instant::from_nanos(begin + length) };
            begin += length;
            window
        };
        lengths.into_iter().map(next).collect()
    })
}

proptest! {
    #[test]
    fn no_instant_is_covered_twice(kind in any_kind(), samples in any_samples()) {
        let coverage = Coverage::of_samples(kind, &samples);
        for sample in coverage.all() {
            prop_assert!(sample.begin <= sample.end);
        }
        for pair in coverage.all().windows(2) {
            prop_assert!(pair[0].end <= pair[1].begin, "{pair:?}");
        }
    }

    #[test]
    fn windows_that_follow_each_other_share_out_every_sample_and_all_time(
        kind in any_kind(), samples in any_samples(), windows in any_windows(),
    ) {
        let coverage = Coverage::of_samples(kind, &samples);
        let end = windows[windows.len() - 1].end;
        let all = Window { begin: Instant::EPOCH, end };
        let shared: Vec<_> = windows.iter().flat_map(|window| coverage.within(*window)).collect();
        prop_assert_eq!(shared, coverage.within(all).iter().collect::<Vec<_>>());
        let parts: Vec<Integral> = windows.iter().map(|window| coverage.integral(*window)).collect();
        let covered_s: f64 = parts.iter().map(|part| part.covered_s).sum();
        let sum: f64 = parts.iter().map(|part| part.sum).sum();
        let whole = coverage.integral(all);
        prop_assert!((covered_s - whole.covered_s).abs() < 1e-6);
        prop_assert!((sum - whole.sum).abs() < 1e-3);
        prop_assert!(whole.covered_s <= end.offset().as_secs_f64() + 1e-6);
        let lengths: f64 = coverage.all().iter().map(CoveredSample::length_s).sum();
        let everything = coverage.integral(Window { begin: Instant::EPOCH, end: Instant::NEVER });
        prop_assert!((lengths - everything.covered_s).abs() < 1e-6);
    }

    #[test]
    fn joining_changes_no_integral(samples in any_samples()) {
        let usual_ns = usual_interval_ns(&samples);
        let mut before = None;
        let mut sum = 0.0;
        for sample in &samples {
            let begin = beginning_of_rate(before, sample.at, usual_ns).min(sample.at);
            before = Some(sample.at);
            sum += sample.value * sample.at.since(begin).as_secs_f64();
        }
        let seen = rates(&samples).integral(Window { begin: Instant::EPOCH, end: Instant::NEVER }).sum;
        prop_assert!((seen - sum).abs() <= 1e-6 * sum.max(1.0), "{seen} {sum}");
    }

    #[test]
    fn a_mean_is_between_the_extremes(kind in any_kind(), samples in any_samples()) {
        let coverage = Coverage::of_samples(kind, &samples);
        let values = || coverage.all().iter().map(|sample| sample.value);
        if let Some(mean) = mean(coverage.all().iter()) {
            let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            prop_assert!(low - 1e-6 <= mean && mean <= high + 1e-6);
        }
    }
}
