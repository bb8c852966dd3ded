//! Tests of difference between counts. They assume independent counts, which requests of one run are not, so that a
//! significant difference may still be one between two starts of the same program.

use crate::gamma::{ln_gamma, upper};

/// A part of a whole, as counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proportion {
    /// How many belong to the part.
    pub part: u64,
    /// How many there are in all.
    pub whole: u64,
}

/// The two-sided probability of shares at least as far apart as `one` and `other`, if the true shares are equal: the
/// normal test with the pooled share (R. G. Newcombe, Statistics in Medicine 17, 1998, method 1). 1 where a side is
/// empty, or nothing differs.
///
/// ```
/// use stats::Proportion;
///
/// // 40 of 1,000 against 60 of 1,000: z = 2.052.
/// let [one, other] = [40, 60].map(|part| Proportion { part, whole: 1_000 });
/// assert!((stats::two_shares(one, other) - 0.0402).abs() < 1e-4);
/// ```
pub fn two_shares(one: Proportion, other: Proportion) -> f64 {
    if one.whole == 0 || other.whole == 0 {
        return 1.0;
    }
    let (all, other_all) = (one.whole as f64, other.whole as f64);
    let pooled = (one.part as f64 + other.part as f64) / (all + other_all);
    let variance = pooled * (1.0 - pooled) * (1.0 / all + 1.0 / other_all);
    let difference = one.part as f64 / all - other.part as f64 / other_all;
    if variance <= 0.0 { 1.0 } else { upper(0.5, difference.powi(2) / variance / 2.0) }
}

/// The two-sided probability of counts at least as unlikely as these, if the true shares are equal: R. A. Fisher's exact
/// test ("The Design of Experiments", 1935), over all tables with the same sums.
///
/// ```
/// use stats::Proportion;
///
/// // Fisher's tea: 3 of 4 against 1 of 4.
/// let probability = stats::fisher(Proportion { part: 3, whole: 4 }, Proportion { part: 1, whole: 4 });
/// assert!((probability - 34.0 / 70.0).abs() < 1e-12);
/// ```
pub fn fisher(one: Proportion, other: Proportion) -> f64 {
    let parts = one.part + other.part;
    let ln_choose = |n: u64, k: u64| {
        let of = |n: u64| ln_gamma(n as f64 + 1.0);
        of(n) - of(k) - of(n - k)
    };
    let ln_probability = |part: u64| ln_choose(one.whole, part) + ln_choose(other.whole, parts - part);
    let all = ln_choose(one.whole + other.whole, parts);
    let seen = ln_probability(one.part);
    let possible = parts.saturating_sub(other.whole)..=parts.min(one.whole);
    // Equal probabilities differ by rounding.
    let unlikely = possible.map(ln_probability).filter(|ln| *ln <= seen + 1e-7 * seen.abs().max(1.0));
    unlikely.map(|ln| (ln - all).exp()).sum::<f64>().min(1.0)
}

/// The probability of two mixes at least as different as these counts by kind, if the true mixes are equal: Pearson's
/// chi-square test of homogeneity. Kinds that neither side has are left out; 1 with fewer than two kinds, or where a
/// side is empty.
///
/// ```
/// // For two kinds it is the test of two shares.
/// let probability = stats::two_mixes(&[(40, 60), (960, 940)]);
/// let [one, other] = [40, 60].map(|part| stats::Proportion { part, whole: 1_000 });
/// assert!((probability - stats::two_shares(one, other)).abs() < 1e-9);
/// ```
pub fn two_mixes(kinds: &[(u64, u64)]) -> f64 {
    let kinds: Vec<(f64, f64)> =
        kinds.iter().filter(|(some, other)| some + other > 0).map(|(s, o)| (*s as f64, *o as f64)).collect();
    let (all, other_all) = kinds.iter().fold((0.0, 0.0), |(a, b), (s, o)| (a + s, b + o));
    if kinds.len() < 2 || all == 0.0 || other_all == 0.0 {
        return 1.0;
    }
    let whole = all + other_all;
    let term = |observed: f64, expected: f64| (observed - expected).powi(2) / expected;
    let statistic: f64 = kinds
        .iter()
        .map(|(s, o)| {
            let row = s + o;
            term(*s, row * all / whole) + term(*o, row * other_all / whole)
        })
        .sum();
    upper((kinds.len() - 1) as f64 / 2.0, statistic / 2.0)
}

/// The distance of two mixes: half the sum of the differences of shares, from 0 (equal) to 1 (nothing in common). None
/// where a side is empty.
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
    // Rounded, because the shares have errors in their last digits.
    Some((kinds.iter().map(apart).sum::<f64>() / 2.0 * 1e12).round() / 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_counts_do_not_differ_and_order_does_not_matter(
            some in (0u64..1_000, 1_000u64..100_000), other in (0u64..1_000, 1_000u64..100_000),
        ) {
            let [one, two] = [some, other].map(|(part, whole)| Proportion { part, whole });
            prop_assert_eq!(two_shares(one, one), 1.0);
            prop_assert!((two_shares(one, two) - two_shares(two, one)).abs() < 1e-12);
            let mixes = [(some.0, other.0), (some.1, other.1)];
            prop_assert!((0.0..=1.0).contains(&two_mixes(&mixes)));
            prop_assert!((0.0..=1.0).contains(&total_variation(&mixes).unwrap()));
        }
    }

    #[test]
    fn an_empty_side_shows_no_difference() {
        let of = |part, whole| Proportion { part, whole };
        assert_eq!((two_shares(of(0, 0), of(5, 10)), two_shares(of(0, 10), of(0, 20))), (1.0, 1.0));
        assert_eq!((two_mixes(&[(5, 0), (7, 0)]), total_variation(&[(5, 0)])), (1.0, None));
        assert!(two_mixes(&[(1_000, 0), (0, 1_000)]) < 1e-100);
    }

    fn share(part: u64, whole: u64) -> Proportion {
        Proportion { part, whole }
    }

    /// R. A. Fisher, "Statistical Methods for Research Workers", section 21.02: criminal twins, one-sided 619/1330665.
    #[test]
    fn the_exact_test_has_the_published_probability() {
        let probability = fisher(share(10, 13), share(2, 17));
        assert!((probability - 0.000_536_7).abs() < 1e-6, "{probability}");
        assert_eq!((fisher(share(0, 10), share(0, 20)), fisher(share(0, 0), share(3, 5))), (1.0, 1.0));
        assert!(fisher(share(5_000, 100_000), share(5_600, 100_000)) < 1e-6);
    }
}
