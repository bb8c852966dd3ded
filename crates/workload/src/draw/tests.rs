use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Pearson's χ² of observed counts for equal expected counts.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum()
}

/// How often `choose` returns each number below `bins`, over many arrivals.
fn counts(bins: usize, choose: impl Fn(u64) -> u64) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for arrival in 0..100_000 {
        counts[choose(arrival) as usize] += 1;
    }
    counts
}

#[test]
fn choices_are_uniform_over_arrivals_salts_seeds_and_scenarios() {
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
fn weighted_choices_follow_the_weights() {
    let found = counts(3, |n| Draw::new(3, 1, n).weighted(0, &[7, 9, 10]) as u64);
    // Four standard deviations of a binomial count: 4·sqrt(100,000·p·(1 − p)).
    for (count, share) in found.iter().zip([0.7, 0.2, 0.1f64]) {
        let spread = 4.0 * (100_000.0 * share * (1.0 - share)).sqrt();
        assert!((*count as f64 - 100_000.0 * share).abs() < spread, "{found:?}");
    }
}

#[test]
fn uuids_are_distinct_and_of_version_4() {
    let ids: HashSet<_> = (0..10_000).map(|n| Draw::new(1, 0, n).uuid(0)).collect();
    assert_eq!(ids.len(), 10_000);
    assert!(ids.iter().all(|id| id[6] >> 4 == 4 && id[8] >> 6 == 2));
}

proptest! {
    #[test]
    fn drawn_numbers_are_within_their_range(seed: u64, low: i64, high: i64, n in 1..u64::MAX) {
        let draw = Draw::new(seed, 0, 0);
        prop_assert!(draw.below(1, n) < n);
        let drawn = draw.range(2, low, high);
        prop_assert!(drawn == low || (low..=high).contains(&drawn));
    }
}
