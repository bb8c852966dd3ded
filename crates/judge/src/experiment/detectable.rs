//! The smallest change that an experiment can detect, from a standard deviation that is known from a few pairs.

use evidence::EffectScale;
use stats::looks::{FEWEST_PAIRS, MOST_PAIRS};

use super::decide::POWER;

/// Deviations are taken at their upper limit with this confidence.
const CONFIDENCE: f64 = 0.8;

/// The standard deviation of the differences within pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownDeviation {
    /// Of logarithms where the scale is relative, of shares otherwise.
    pub deviation: f64,
    /// From how many pairs it is known.
    pub pairs: u32,
    /// The scale of the metric.
    pub scale: EffectScale,
}

impl KnownDeviation {
    /// The factor by which the deviation may be larger than what so many pairs have shown.
    pub fn uncertainty(pairs: u32) -> f64 {
        stats::deviation_limit(pairs, CONFIDENCE)
    }

    /// The smallest change, on the metric's scale, that is found with 95 % power at this two-sided level in so many pairs. None in fewer
    /// than can show anything.
    pub fn smallest_detectable(self, pairs: u32, level: f64) -> Option<f64> {
        let limit = self.deviation * KnownDeviation::uncertainty(self.pairs);
        let smallest = (pairs >= FEWEST_PAIRS && limit.is_finite())
            .then(|| stats::smallest_effect(limit, pairs, level, POWER))?;
        Some(if self.scale == EffectScale::Points { smallest } else { smallest.exp_m1() })
    }
}

/// How many pairs of so many seconds fit into a time; more than can be planned are not counted.
pub fn pairs_in(minutes: u32, pair_s: f64) -> u32 {
    ((f64::from(minutes) * 60.0 / pair_s.max(1.0)) as u32).min(MOST_PAIRS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_pairs_detect_smaller_changes_and_too_few_detect_none() {
        let known = KnownDeviation { deviation: 0.02, pairs: 8, scale: EffectScale::Relative };
        let [ten, twenty, sixty, ninety] =
            [10, 20, 60, 90].map(|minutes| known.smallest_detectable(pairs_in(minutes, 240.0), 0.01));
        assert_eq!(ten, None, "two pairs");
        assert!(twenty > sixty && sixty > ninety, "{twenty:?}, {sixty:?}, {ninety:?}");
        // 15 pairs of a deviation of 2.7 %.
        assert!((sixty.unwrap() - 0.034).abs() < 0.003, "{sixty:?}");
    }
}
