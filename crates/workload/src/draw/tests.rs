use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::schedule::Segment;

/// Pearson's χ² of observed counts against equal expectation.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum()
}

/// Counts of what `choose` says (below `bins`) for many arrivals.
fn counts(bins: usize, choose: impl Fn(u64) -> u64) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for arrival in 0..100_000 {
        counts[choose(arrival) as usize] += 1;
    }
    counts
}

#[test]
fn choices_are_even_over_arrivals_salts_seeds_and_scenarios() {
    // The 0.999 quantile of χ² with 99 degrees of freedom is 148.2; four fixed sets of choices.
    let check = |what: &str, choose: &dyn Fn(u64) -> u64| {
        let found = chi_square(&counts(100, choose));
        assert!(found < 148.2, "{what}: {found}");
    };
    check("arrivals", &|n| Draw::new(1, 0, n).below(0, 100));
    check("salts", &|n| Draw::new(1, 0, 0).below(n, 100));
    check("seeds", &|n| Draw::new(n, 0, 0).below(0, 100));
    check("scenarios", &|n| Draw::new(1, n as usize, 0).below(0, 100));
}

#[test]
fn two_salts_of_one_arrival_are_independent() {
    let pairs = counts(100, |n| {
        let draw = Draw::new(7, 0, n);
        draw.below(1, 10) * 10 + draw.below(2, 10)
    });
    assert!(chi_square(&pairs) < 148.2);
}

#[test]
fn weights_are_kept() {
    let found = counts(3, |n| Draw::new(3, 1, n).weighted(0, &[7, 9, 10]) as u64);
    // Four standard deviations of a binomial count: 4·sqrt(100,000·p·(1 − p)).
    for (count, share) in found.iter().zip([0.7, 0.2, 0.1f64]) {
        let spread = 4.0 * (100_000.0 * share * (1.0 - share)).sqrt();
        assert!((*count as f64 - 100_000.0 * share).abs() < spread, "{found:?}");
    }
}

#[test]
fn uuids_have_their_form_and_differ() {
    let ids: HashSet<_> = (0..10_000).map(|n| Draw::new(1, 0, n).uuid(0)).collect();
    assert_eq!(ids.len(), 10_000);
    assert!(ids.iter().all(|id| id[6] >> 4 == 4 && id[8] >> 6 == 2));
}

#[test]
fn unique_rows_are_used_once_whatever_the_segments() {
    let picker = RowPicker { pick: Pick::Unique, rows: 1_000, base: 100, salt: 0 };
    let mut rows = HashSet::new();
    for index in 0..3 {
        let segment = Segment { index, count: 3 };
        for k in 0..segment.share(900) {
            assert!(rows.insert(picker.row(&Draw::new(1, 0, segment.nth(k)))));
        }
    }
    assert_eq!((rows.len(), rows.iter().min(), rows.iter().max()), (900, Some(&100), Some(&999)));
}

#[test]
fn no_rows_and_no_weights_are_no_panic() {
    let draw = Draw::new(0, 0, u64::MAX);
    for pick in [Pick::Unique, Pick::Random, Pick::Sequential] {
        assert_eq!(RowPicker { pick, rows: 0, base: u64::MAX, salt: 0 }.row(&draw), 0);
    }
    assert_eq!((draw.weighted(0, &[]), draw.weighted(0, &[0, 0]), draw.below(0, 0)), (0, 1, 0));
}

proptest! {
    #[test]
    fn ranges_hold(seed: u64, low: i64, high: i64, n in 1..u64::MAX) {
        let draw = Draw::new(seed, 0, 0);
        prop_assert!(draw.below(1, n) < n);
        let drawn = draw.range(2, low, high);
        prop_assert!(drawn == low || (low..=high).contains(&drawn));
    }
}
