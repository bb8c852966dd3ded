use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use proptest::prelude::*;

use super::*;

fn ours(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record_us(*value, 1);
    }
    histogram
}

fn oracle(values: &[u64]) -> hdrhistogram::Histogram<u64> {
    let mut histogram = hdrhistogram::Histogram::new_with_bounds(1, Histogram::MAX_US, 3).unwrap();
    for value in values {
        histogram.record(*value).unwrap();
    }
    histogram
}

fn micros() -> impl Strategy<Value = u64> {
    prop_oneof![0..4096u64, 0..1_000_000u64, 0..=Histogram::MAX_US]
}

proptest! {
    #[test]
    fn bytes_equal_those_of_the_reference_implementation(values in prop::collection::vec(micros(), 1..200)) {
        let mut theirs = Vec::new();
        V2Serializer::new().serialize(&oracle(&values), &mut theirs).unwrap();
        prop_assert_eq!(ours(&values).to_v2(), theirs);
    }

    #[test]
    fn the_reference_implementation_reads_our_bytes(values in prop::collection::vec(micros(), 1..200)) {
        let bytes = ours(&values).to_v2();
        let theirs: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        prop_assert_eq!(theirs, oracle(&values));
        prop_assert_eq!(Histogram::from_v2(&bytes).unwrap().to_v2(), bytes);
    }

    #[test]
    fn a_quantile_lies_within_one_bucket_of_the_sorted_value(
        mut values in prop::collection::vec(1..=Histogram::MAX_US, 1..300), q in 0.0..=1.0f64,
    ) {
        let seen = ours(&values).quantile(q).finite_us().unwrap();
        values.sort_unstable();
        let rank = ((q * values.len() as f64).max(1.0).ceil() as usize).min(values.len());
        let truth = values[rank - 1] as f64;
        prop_assert!((seen - truth).abs() <= truth * 0.001 + 1.0, "{} against {}", seen, truth);
    }

    #[test]
    fn merging_is_the_same_as_counting_together(
        a in prop::collection::vec(micros(), 0..100), b in prop::collection::vec(micros(), 0..100),
    ) {
        let mut merged = ours(&a);
        merged.merge(&ours(&b));
        let mut other_way = ours(&b);
        other_way.merge(&ours(&a));
        let together: Vec<u64> = a.iter().chain(&b).copied().collect();
        prop_assert_eq!(merged.to_v2(), ours(&together).to_v2());
        prop_assert_eq!(other_way.to_v2(), ours(&together).to_v2());
    }

    #[test]
    fn hostile_bytes_are_refused_or_read_but_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Histogram::from_v2(&bytes);
        let mut framed = ours(&[]).to_v2();
        framed[4..8].copy_from_slice(&(bytes.len() as u32).to_be_bytes());
        framed.extend(bytes);
        let _ = Histogram::from_v2(&framed);
    }
}

#[test]
fn every_slot_holds_its_own_ends() {
    for slot in 0..SLOTS {
        assert_eq!(slot_of(lowest_of(slot)), slot);
        assert_eq!(slot_of(highest_of(slot)), slot);
    }
}

#[test]
fn infinitely_slow_arrivals_move_the_quantile_and_then_end_it() {
    let h = ours(&[100; 90]);
    assert_eq!(h.quantile_with(0.9, 10), Quantile::Finite(100.0));
    assert_eq!(h.quantile_with(0.95, 10), Quantile::Infinite);
    assert_eq!(ours(&[]).quantile_with(0.5, 1), Quantile::Infinite);
    assert_eq!(ours(&[]).quantile(0.5), Quantile::Empty);
}

#[test]
fn a_wait_is_rounded_up_and_capped_at_an_hour() {
    let mut h = Histogram::new();
    h.record_ns(1_001);
    h.record_ns(u64::MAX);
    assert_eq!(h.min_us(), Some(2));
    assert!(h.max_us().unwrap() >= Histogram::MAX_US);
    assert_eq!(h.count_within_us(2), 1);
    assert_eq!(h.count_from_us(3), 1);
}

#[test]
fn clearing_keeps_no_value() {
    let mut h = ours(&[1, 5_000, 3_000_000]);
    h.clear();
    assert_eq!(h.to_v2(), Histogram::new().to_v2());
    h.record_us(7, 2);
    assert_eq!(h.to_v2(), ours(&[7, 7]).to_v2());
}
