//! What pairs of runs say about a difference: its mean, its interval and its test. The pair is the observation, never a
//! request or a second of a run.

use crate::sample::{mean, standard_deviation};
use crate::student::{t_quantile, t_two_sided};

/// The differences of pairs, summed up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// How many pairs, at least 2.
    pub pairs: u32,
    /// The mean difference.
    pub mean: f64,
    /// The standard deviation of the differences, at least what was given as the least one.
    pub deviation: f64,
}

impl Paired {
    /// Sums up `differences`, all finite. None for fewer than two, and where one is not finite.
    ///
    /// The deviation is not taken to be below `least`: what is rounded, or rarely happens, may be equal in each of a few
    /// pairs and is not known without error for that.
    pub fn from_differences(differences: &[f64], least: f64) -> Option<Paired> {
        let is_known = differences.iter().all(|difference| difference.is_finite());
        let (mean, deviation) = (mean(differences)?, standard_deviation(differences)?);
        let pairs = u32::try_from(differences.len()).ok().filter(|_| is_known)?;
        Some(Paired { pairs, mean, deviation: deviation.max(least) })
    }

    /// The standard error of the mean.
    pub fn error(&self) -> f64 {
        self.deviation / f64::from(self.pairs).sqrt()
    }

    /// The two-sided probability of a mean at least this far from 0, if the true difference is 0: Student's t test (W. S.
    /// Gosset, Biometrika 6, 1908).
    ///
    /// ```
    /// // Gosset's example: hours of sleep gained by ten patients with two drugs, t = 4.06, p = 0.0028.
    /// let gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
    /// let p = stats::Paired::from_differences(&gained, 0.0).unwrap().p();
    /// assert!((p - 0.00283).abs() < 1e-5);
    /// ```
    pub fn p(&self) -> f64 {
        match (self.mean == 0.0, self.error() > 0.0) {
            (true, _) => 1.0,
            (false, true) => t_two_sided(self.mean / self.error(), self.degrees()),
            (false, false) => 0.0,
        }
    }

    /// How far a limit at this one-sided level (0 to 0.5) lies from the mean.
    pub fn half_width(&self, level: f64) -> f64 {
        t_quantile(1.0 - level, self.degrees()) * self.error()
    }

    /// Degrees of freedom.
    pub fn degrees(&self) -> u32 {
        self.pairs - 1
    }
}

/// Above so many pairs not every way of flipping signs is counted.
const EXACT_PAIRS: usize = 20;
/// How many ways are drawn then.
const DRAWN: u64 = 100_000;

/// The two-sided probability of a sum of differences at least this far from 0, if the sign of each is a coin's: R. A.
/// Fisher's randomisation test ("The Design of Experiments", 1935, section 21). It assumes no distribution, and cannot be
/// below 2 / 2ⁿ. Exact up to 20 differences, from 100,000 seeded draws above. 1 without differences.
///
/// ```
/// // Of five differences of one sign, all signs are equal in 2 of 32 ways.
/// assert_eq!(stats::sign_flip(&[0.1, 0.2, 0.1, 0.3, 0.1]), 2.0 / 32.0);
/// ```
pub fn sign_flip(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    // Sums of the same terms in another order differ by rounding.
    let seen = differences.iter().sum::<f64>().abs() - 1e-12 * sizes.iter().sum::<f64>();
    let is_as_far = |signs: u64| {
        let flipped = |(at, size): (usize, &f64)| if signs >> (at % 64) & 1 == 1 { -size } else { *size };
        sizes.iter().enumerate().map(flipped).sum::<f64>().abs() >= seen
    };
    if sizes.len() <= EXACT_PAIRS {
        let ways = 1_u64 << sizes.len();
        return (0..ways).filter(|signs| is_as_far(*signs)).count() as f64 / ways as f64;
    }
    let drawn = (1..=DRAWN).filter(|draw| is_as_far(scrambled(*draw))).count();
    (drawn + 1) as f64 / (DRAWN + 1) as f64
}

/// The bits of a number, scrambled: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn scrambled(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The probabilities of a family of tests, adjusted so that the chance of any wrong rejection in it is at most the level
/// that they are compared with: S. Holm, Scandinavian Journal of Statistics 6, 1979. In the order given.
///
/// ```
/// assert_eq!(stats::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut adjusted = vec![1.0; probabilities.len()];
    let mut highest: f64 = 0.0;
    for (rank, at) in order.iter().enumerate() {
        highest = highest.max((probabilities.len() - rank) as f64 * probabilities[*at]).min(1.0);
        adjusted[*at] = highest;
    }
    adjusted
}

/// Which of these probabilities are rejected if no more than `rate` of those rejected may be wrong, on average: Y. Benjamini
/// and Y. Hochberg, Journal of the Royal Statistical Society B 57, 1995. In the order given.
pub fn benjamini_hochberg(probabilities: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(f64::total_cmp);
    let all = sorted.len() as f64;
    let passes = |(rank, p): (usize, &f64)| (*p <= (rank + 1) as f64 * rate / all).then_some(*p);
    let bound = sorted.iter().enumerate().filter_map(passes).next_back();
    probabilities.iter().map(|p| bound.is_some_and(|bound| *p <= bound)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn differences(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(-0.5..0.5f64, count)
    }

    proptest! {
        #[test]
        fn swapping_the_sides_changes_the_sign_alone(differences in differences(2..17)) {
            let swapped: Vec<f64> = differences.iter().map(|d| -d).collect();
            let [one, other] = [&differences, &swapped].map(|d| Paired::from_differences(d, 0.001).unwrap());
            prop_assert!((one.mean + other.mean).abs() < 1e-12);
            prop_assert!((one.p() - other.p()).abs() < 1e-9);
            prop_assert_eq!(sign_flip(&differences), sign_flip(&swapped));
        }

        #[test]
        fn the_test_and_the_interval_agree(differences in differences(3..17), level in 0.001..0.2f64) {
            let paired = Paired::from_differences(&differences, 0.0).unwrap();
            let excludes_0 = paired.mean.abs() > paired.half_width(level / 2.0);
            // At the limit itself rounding decides.
            if (paired.p() - level).abs() > 1e-6 {
                prop_assert_eq!(excludes_0, paired.p() < level);
            }
        }

        #[test]
        fn adjusted_probabilities_keep_their_order_and_are_not_lower(
            probabilities in proptest::collection::vec(0.0..1.0f64, 1..9)
        ) {
            let adjusted = holm(&probabilities);
            for (one, more) in probabilities.iter().zip(&adjusted) {
                prop_assert!(more >= one && *more <= 1.0);
            }
            let lowest = probabilities.iter().copied().fold(1.0, f64::min);
            let least = adjusted.iter().copied().fold(1.0, f64::min);
            prop_assert!((least - (lowest * probabilities.len() as f64).min(1.0)).abs() < 1e-12);
        }
    }

    #[test]
    fn what_never_varied_is_not_known_without_error() {
        let still = Paired::from_differences(&[0.0; 6], 0.001).unwrap();
        assert_eq!((still.mean, still.p()), (0.0, 1.0));
        assert!(still.half_width(0.05) > 0.0);
        assert_eq!(Paired::from_differences(&[0.02; 6], 0.0).unwrap().p(), 0.0);
        assert_eq!(Paired::from_differences(&[f64::INFINITY, 0.0], 0.0), None);
        assert_eq!(Paired::from_differences(&[0.1], 0.0), None);
    }

    #[test]
    fn flipped_signs_have_a_floor_and_drawn_ones_are_close_to_all() {
        assert_eq!(sign_flip(&[1.0; 10]), 2.0 / 1024.0);
        assert_eq!(sign_flip(&[0.0; 10]), 1.0);
        assert_eq!(sign_flip(&[]), 1.0);
        let many: Vec<f64> = (0..30).map(|i| f64::from(i % 7) - 2.0).collect();
        let p = Paired::from_differences(&many, 0.0).unwrap().p();
        assert!((sign_flip(&many) - p).abs() < 0.02, "{} {p}", sign_flip(&many));
    }

    #[test]
    fn a_rate_of_false_discoveries_rejects_up_to_the_last_that_passes() {
        let rejected = benjamini_hochberg(&[0.30, 0.001, 0.02, 0.014, 0.9], 0.05);
        assert_eq!(rejected, [false, true, true, true, false]);
        assert!(benjamini_hochberg(&[0.2, 0.9], 0.05).iter().all(|is_rejected| !is_rejected));
    }
}
