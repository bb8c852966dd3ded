use proptest::prelude::*;

use super::*;

fn sums(kind: MetricKind, values: &[f64]) -> MetricSums {
    let mut sums = MetricSums::default();
    for (at, value) in (0..).zip(values) {
        sums.add(kind, *value, Instant::from_nanos(at));
    }
    sums
}

#[test]
fn a_metric_of_each_kind_has_its_numbers() {
    let counter = sums(MetricKind::Counter, &[0.5, 2.0, 0.25]);
    assert_eq!((counter.sum, counter.count), (2.75, 3));
    let gauge = sums(MetricKind::Gauge, &[3.0, -7.5, 1.0]);
    assert_eq!((gauge.last, gauge.min, gauge.max), (1.0, -7.5, 3.0));
    let rate = sums(MetricKind::Rate, &[0.0, 1.0, 0.0, 5.0]);
    assert_eq!((rate.nonzero, rate.count), (2, 4));
    let trend = sums(MetricKind::Trend, &[-2.0, 0.0, 1e9]);
    assert_eq!([0.0, 0.5, 1.0].map(|q| trend.quantile(q).unwrap().round()), [-2.0, 0.0, 1e9]);
    assert_eq!((MetricSums::default().quantile(0.5), counter.buckets), (None, Buckets::default()));
}

#[test]
fn a_trend_of_zeros_is_zero() {
    let trend = sums(MetricKind::Trend, &[0.0, 0.0, 18.0]);
    assert_eq!([0.0, 0.5].map(|q| trend.quantile(q)), [Some(0.0); 2]);
}

#[test]
fn the_last_value_of_a_gauge_is_the_later_one_whichever_loop_is_merged_first() {
    let (mut early, mut late) = (MetricSums::default(), MetricSums::default());
    early.add(MetricKind::Gauge, 9.0, Instant::from_nanos(1));
    late.add(MetricKind::Gauge, 2.0, Instant::from_nanos(5));
    let mut other = late.clone();
    other.merge(&early);
    early.merge(&late);
    assert_eq!((early.last, &early), (2.0, &other));
}

#[test]
fn of_values_that_are_added_at_one_instant_the_last_one_counts() {
    let mut sums = MetricSums::default();
    for value in [4.0, -1.0] {
        sums.add(MetricKind::Gauge, value, Instant::EPOCH);
    }
    assert_eq!(sums.last, -1.0);
}

#[test]
fn buckets_that_no_value_has_are_refused() {
    assert_eq!(Buckets::of([(LAST_BUCKET, 1)]).map(|b| b.iter().count()), Some(1));
    for wrong in [vec![(LAST_BUCKET + 1, 1)], vec![(-2 - LAST_BUCKET, 1)], vec![(3, 0)], vec![(3, 1), (3, 1)]]
    {
        assert_eq!(Buckets::of(wrong), None);
    }
}

#[test]
fn every_kind_survives_its_name() {
    for (kind, name) in MetricKind::ALL {
        assert_eq!((kind.to_string(), name.parse()), (name.to_owned(), Ok(kind)));
    }
    assert!("sum".parse::<MetricKind>().is_err());
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![-1e3..1e3, prop::num::f64::NORMAL, Just(0.0), Just(-0.0), Just(f64::MAX), Just(f64::MIN)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_bucket_holds_its_value_within_the_stated_error(value in value()) {
        let read = sums(MetricKind::Trend, &[value, value]).quantile(0.5).unwrap();
        prop_assert_eq!(read, value);
        let middle = middle_of(bucket_of(value));
        let tolerance = value.abs() * Buckets::RELATIVE_ERROR + 1e-307;
        prop_assert!((middle - value).abs() <= tolerance, "{} for {}", middle, value);
    }

    #[test]
    fn values_apart_are_in_buckets_in_their_order(a in value(), b in value()) {
        prop_assert_eq!(bucket_of(a.min(b)) <= bucket_of(a.max(b)), true);
    }

    #[test]
    fn parts_are_merged_exactly_in_any_order(values in prop::collection::vec(value(), 0..40), cut in 0..40usize) {
        let cut = cut.min(values.len());
        let whole = sums(MetricKind::Trend, &values).buckets;
        let [left, right] = [&values[..cut], &values[cut..]].map(|part| sums(MetricKind::Trend, part).buckets);
        let mut one = left.clone();
        one.merge(&right);
        let mut other = right;
        other.merge(&left);
        prop_assert_eq!((&one, &other), (&whole, &whole));
    }
}
