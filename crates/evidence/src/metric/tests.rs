use proptest::prelude::*;

use super::buckets::{LAST_BUCKET, bucket_of};
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
    assert_eq!(Buckets::from_counts([(LAST_BUCKET, 1)]).map(|b| b.iter().count()), Some(1));
    for wrong in [vec![(LAST_BUCKET + 1, 1)], vec![(-2 - LAST_BUCKET, 1)], vec![(3, 0)], vec![(3, 1), (3, 1)]]
    {
        assert_eq!(Buckets::from_counts(wrong), None);
    }
}

#[test]
fn a_value_in_each_of_many_octaves_is_counted() {
    // Further from each other than one directory reaches, on both sides, and the tiniest, whose octave has the bucket of 0.
    let values: Vec<f64> =
        (-300..300).map(|power| 10_f64.powi(power)).chain([1e-310, 0.0, -1e-310, -7.0]).collect();
    for values in [values.clone(), values.into_iter().rev().collect()] {
        let mut buckets = sums(MetricKind::Trend, &values).buckets;
        let mut expected: Vec<i32> = values.iter().map(|value| bucket_of(*value)).collect();
        expected.sort_unstable();
        assert_eq!(buckets.iter().map(|(bucket, _)| bucket).collect::<Vec<_>>(), expected);
        buckets.clear();
        assert_eq!((buckets.iter().count(), &buckets), (0, &Buckets::default()));
        buckets.add(2.5);
        assert_eq!(buckets, sums(MetricKind::Trend, &[2.5]).buckets);
    }
}

#[test]
fn a_tick_that_was_cleared_holds_what_is_added_next() {
    let handle = MetricHandle { id: MetricId(1), kind: MetricKind::Trend };
    let mut tick = MetricTick::default();
    [3.0, -4.0].iter().for_each(|value| tick.add(handle, *value, Instant::from_nanos(9)));
    tick.clear();
    assert_eq!(tick.sums(), []);
    tick.add(handle, 5.0, Instant::EPOCH);
    assert_eq!(tick.sums(), [(MetricId(1), &sums(MetricKind::Trend, &[5.0]))]);
}

#[test]
fn buckets_are_the_bytes_that_the_format_says() {
    let bytes_of = |counts: &[(i32, u64)]| Buckets::from_counts(counts.iter().copied()).unwrap().to_bytes();
    assert_eq!(bytes_of(&[]), [0_u8; 0]);
    // Zeros only, 98 of them: flag and count. A negative bucket and the one after it. Distances of several nibbles, and a filler.
    assert_eq!(bytes_of(&[(0, 98)]), [0x18, 0xc1]);
    assert_eq!(bytes_of(&[(-1, 1), (0, 1)]), [0x20]);
    assert_eq!(bytes_of(&[(1, 2), (66, 130)]), [0x50, 0x98, 0x28, 0x82]);
    assert_eq!(bytes_of(&[(3, 1)]), [0xc1]);
    assert_eq!(bytes_of(&[(1, 1)]), [0x48]);
}

#[test]
fn bytes_that_are_no_buckets_are_refused() {
    use BrokenBuckets::{OutOfRange, Truncated};
    let refused = |bytes: &[u8]| Buckets::from_bytes(bytes).unwrap_err();
    assert_eq!([refused(&[0x88]), refused(&[0x18]), refused(&[0x1f])], [Truncated; 3]);
    // A number beyond 64 bits; a bucket past the last one; a count beyond 64 bits; counts that are together.
    let number = |nibble: u8, last: u8| [vec![nibble << 4 | nibble; 10], vec![nibble << 4 | last]].concat();
    assert_eq!(refused(&number(0xf, 2)), OutOfRange);
    assert_eq!(refused(&[0x88, 0x88, 0x88, 0x88, 0x18]), OutOfRange);
    assert_eq!(refused(&[&[0x1f][..], &[0xff; 10], &[0x18]].concat()), OutOfRange);
    let most_of = |count: u64| Buckets::from_counts([(1, count)]).unwrap().to_bytes();
    let two = [most_of(1 << 63), most_of(1 << 63)].concat();
    assert_eq!(refused(&two), OutOfRange);
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
    fn buckets_survive_their_bytes(values in prop::collection::vec(value(), 0..40), times in 1..4_usize) {
        let buckets = sums(MetricKind::Trend, &values.repeat(times)).buckets;
        let bytes = buckets.to_bytes();
        prop_assert_eq!(Buckets::from_bytes(&bytes), Ok(buckets));
    }

    #[test]
    fn any_bytes_are_buckets_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(buckets) = Buckets::from_bytes(&bytes) {
            prop_assert_eq!(Buckets::from_bytes(&buckets.to_bytes()), Ok(buckets));
        }
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
