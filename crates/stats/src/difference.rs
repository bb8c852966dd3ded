//! Tests of difference between counts: they take each count for independent of the others, which requests of one run
//! are not, so what they call a difference may still be one between two starts of the same program.

use crate::gamma::upper;

/// The two-sided chance of shares at least as far apart as `some.0 / some.1` and `other.0 / other.1`, if both had the
/// same: the normal test with the pooled share (R. G. Newcombe, Statistics in Medicine 17, 1998, method 1). 1 where
/// nothing was counted on a side, or nothing differs.
///
/// ```
/// // 40 of 1,000 against 60 of 1,000: z = 2.052.
/// assert!((stats::two_shares((40, 1_000), (60, 1_000)) - 0.0402).abs() < 1e-4);
/// ```
pub fn two_shares(some: (u64, u64), other: (u64, u64)) -> f64 {
    let ((hits, all), (other_hits, other_all)) = (some, other);
    if all == 0 || other_all == 0 {
        return 1.0;
    }
    let (all, other_all) = (all as f64, other_all as f64);
    let pooled = (hits as f64 + other_hits as f64) / (all + other_all);
    let variance = pooled * (1.0 - pooled) * (1.0 / all + 1.0 / other_all);
    let difference = hits as f64 / all - other_hits as f64 / other_all;
    if variance <= 0.0 { 1.0 } else { upper(0.5, difference.powi(2) / variance / 2.0) }
}

/// The chance of two mixes at least as different as these counts by kind, if both were drawn from the same: Pearson's
/// chi-square test of homogeneity. Kinds that neither side has are left out; 1 where nothing can be told.
///
/// ```
/// // A two by two table is the test of two shares.
/// let chance = stats::two_mixes(&[(40, 60), (960, 940)]);
/// assert!((chance - stats::two_shares((40, 1_000), (60, 1_000))).abs() < 1e-9);
/// ```
pub fn two_mixes(kinds: &[(u64, u64)]) -> f64 {
    let kinds: Vec<(f64, f64)> =
        kinds.iter().filter(|(some, other)| some + other > 0).map(|(s, o)| (*s as f64, *o as f64)).collect();
    let (all, other_all) = kinds.iter().fold((0.0, 0.0), |(a, b), (s, o)| (a + s, b + o));
    if kinds.len() < 2 || all == 0.0 || other_all == 0.0 {
        return 1.0;
    }
    let whole = all + other_all;
    let surprise = |seen: f64, expected: f64| (seen - expected).powi(2) / expected;
    let statistic: f64 = kinds
        .iter()
        .map(|(s, o)| {
            let row = s + o;
            surprise(*s, row * all / whole) + surprise(*o, row * other_all / whole)
        })
        .sum();
    upper((kinds.len() - 1) as f64 / 2.0, statistic / 2.0)
}

/// How far apart two mixes are: half the sum of the differences of shares, from 0 (alike) to 1 (nothing in common).
/// None where nothing was counted on a side.
///
/// ```
/// assert_eq!(stats::total_variation(&[(50, 60), (50, 40)]), Some(0.1));
/// ```
pub fn total_variation(kinds: &[(u64, u64)]) -> Option<f64> {
    let (all, other_all) = kinds.iter().fold((0, 0), |(a, b), (s, o)| (a + s, b + o));
    if all == 0 || other_all == 0 {
        return None;
    }
    let apart = |(s, o): &(u64, u64)| (*s as f64 / all as f64 - *o as f64 / other_all as f64).abs();
    // Shares of counts carry their last digits' error, which half a difference of shares must not show.
    Some((kinds.iter().map(apart).sum::<f64>() / 2.0 * 1e12).round() / 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn alike_is_no_difference_and_order_does_not_matter(
            some in (0u64..1_000, 1_000u64..100_000), other in (0u64..1_000, 1_000u64..100_000),
        ) {
            prop_assert_eq!(two_shares(some, some), 1.0);
            prop_assert!((two_shares(some, other) - two_shares(other, some)).abs() < 1e-12);
            let mixes = [(some.0, other.0), (some.1, other.1)];
            prop_assert!((0.0..=1.0).contains(&two_mixes(&mixes)));
            prop_assert!((0.0..=1.0).contains(&total_variation(&mixes).unwrap()));
        }
    }

    #[test]
    fn nothing_counted_tells_nothing() {
        assert_eq!((two_shares((0, 0), (5, 10)), two_shares((0, 10), (0, 20))), (1.0, 1.0));
        assert_eq!((two_mixes(&[(5, 0), (7, 0)]), total_variation(&[(5, 0)])), (1.0, None));
        assert!(two_mixes(&[(1_000, 0), (0, 1_000)]) < 1e-100);
    }
}
