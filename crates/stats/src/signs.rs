//! The sign test, and limits of medians at ordered levels, each of which has few observations.

use crate::gamma::ln_gamma;

/// Limits of a median; infinite where the observations are too few.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianLimits {
    /// The median is at least this.
    pub lower: f64,
    /// The median is at most this.
    pub upper: f64,
}

/// Limits of the median at each level, of medians that never rise from one level to the next, at these one-sided confidences.
///
/// Each is an order statistic, so that nothing is assumed of the distribution: of nine observations all but one lie beyond
/// the median with a probability of 2 % (sign test; Thompson, "On confidence ranges for the median", 1936). As medians never
/// rise, observations of later levels bound the median of this one from below, and those of earlier levels from above: as many
/// levels are used as it takes for one observation to be an exception.
///
/// ```
/// let levels = [vec![5.0, 5.1, -5.0], vec![5.2, 5.3, 5.1], vec![5.0, 5.1, 5.0]];
/// assert_eq!(stats::falling_medians(&levels, 0.975, 0.975)[0].lower, 5.0);
/// ```
pub fn falling_medians(levels: &[Vec<f64>], lower: f64, upper: f64) -> Vec<MedianLimits> {
    let at = |at: usize| MedianLimits {
        lower: least(levels[at..].iter(), lower),
        // Limits from above are those from below of the opposite.
        upper: -least(
            levels[..=at].iter().rev().map(|level| opposite(level)).collect::<Vec<_>>().iter(),
            upper,
        ),
    };
    (0..levels.len()).map(at).collect()
}

/// The two-sided probability that at least `more` of `all` signs are alike, if each is a coin's: the sign test (J. Arbuthnot, 1710).
/// 1 where they are not more than half.
///
/// ```
/// // Nine of ten: 11 of 1,024 ways have as many of one sign.
/// assert!((stats::sign_test(9, 10) - 2.0 * 11.0 / 1_024.0).abs() < 1e-12);
/// ```
pub fn sign_test(more: u32, all: u32) -> f64 {
    let ways = |k: u32| {
        let of = |n: u32| ln_gamma(f64::from(n) + 1.0);
        (of(all) - of(k) - of(all - k) - f64::from(all) * std::f64::consts::LN_2).exp()
    };
    (2.0 * (more.min(all)..=all).map(ways).sum::<f64>()).min(1.0)
}

fn opposite(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

/// The limit from below, of the first levels that suffice.
fn least<'v>(levels: impl Iterator<Item = &'v Vec<f64>>, confidence: f64) -> f64 {
    let mut values = Vec::new();
    for level in levels {
        values.extend_from_slice(level);
        if place(values.len(), confidence) > 1 {
            break;
        }
    }
    values.sort_by(f64::total_cmp);
    match place(values.len(), confidence) {
        0 => f64::NEG_INFINITY,
        place => values[place - 1],
    }
}

/// Which of so many observations, by size from 1, is below the median at this confidence; 0: none is.
fn place(count: usize, confidence: f64) -> usize {
    let all = 2.0_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let (mut ways, mut below) = (1.0, 1.0);
    let mut place = 0;
    while place < count && below / all <= 1.0 - confidence {
        place += 1;
        ways *= (count + 1 - place) as f64 / place as f64;
        below += ways;
    }
    place
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_those_of_the_tables() {
        // Conover, "Practical Nonparametric Statistics": n = 5 has no limit at 97.5 %, 6 to 8 the first, 9 to 11 the second.
        let places: Vec<usize> = (0..=12).map(|count| place(count, 0.975)).collect();
        assert_eq!(places, [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
        assert_eq!([9, 10].map(|count| place(count, 0.9875)), [1, 2]);
    }

    #[test]
    fn one_exception_of_nine_leaves_a_limit_and_two_do_not() {
        let holds = |second: f64| {
            let levels = [vec![1.0, 1.0, -1.0], vec![1.0, 1.0, second], vec![1.0, 1.0, 1.0]];
            falling_medians(&levels, 0.975, 0.975)[0].lower > 0.0
        };
        assert!(holds(1.0) && !holds(-1.0));
    }

    #[test]
    fn too_few_observations_have_no_limit() {
        let limits = falling_medians(&[vec![1.0; 3], vec![-1.0; 2]], 0.975, 0.975);
        assert_eq!(limits[0], MedianLimits { lower: f64::NEG_INFINITY, upper: f64::INFINITY });
    }

    proptest! {
        #[test]
        fn limits_of_the_opposite_are_the_opposite_limits(
            levels in proptest::collection::vec(proptest::collection::vec(-2.0..2.0, 0..5), 1..8)
        ) {
            let reversed: Vec<Vec<f64>> = levels.iter().rev().map(|level| opposite(level)).collect();
            let limits = falling_medians(&levels, 0.975, 0.9875);
            let turned = falling_medians(&reversed, 0.9875, 0.975);
            for (limits, turned) in limits.iter().zip(turned.iter().rev()) {
                prop_assert_eq!((limits.lower, limits.upper), (-turned.upper, -turned.lower));
            }
        }
    }
}
