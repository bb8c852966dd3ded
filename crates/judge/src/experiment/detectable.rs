//! What an experiment can show: the smallest change that it detects, from a standard deviation that is known from a few pairs, and
//! shares of requests that it cannot clear, whatever its pairs show.

use evidence::EffectScale;
use stats::Paired;
use stats::looks::{FEWEST_PAIRS, MOST_PAIRS};
use workload::{Measure, Quantity, Workload};

use super::Rulebook;
use super::slot;
use crate::sufficiency::planned_count;

/// The chance with which the smallest detectable effect is found.
pub(super) const POWER: f64 = 0.95;
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

/// A share of requests that has too few of them: its margin is not excluded even if none fails in any run.
#[derive(Debug, Clone, PartialEq)]
pub struct UnclearableShare {
    /// The metric's name.
    pub name: String,
    /// How many requests a run has.
    pub requests: u64,
    /// How many it needs.
    pub needed: u64,
    pub margin: f64,
    /// What so many requests can exclude.
    pub smallest_margin: f64,
}

/// The shares of requests that so many pairs of runs of `workload` cannot clear. Of loads whose number of requests is not known
/// before, nothing is said.
pub fn unclearable_shares(rules: &Rulebook<'_>, workload: &Workload, pairs: u32) -> Vec<UnclearableShare> {
    let one_sided = rules.looks.one_sided(rules.levels.exclusion);
    let of = |metric: &workload::experiment::GateMetric| {
        let Quantity::Measure { measure, filter } = &metric.quantity else { return None };
        if !matches!(measure, Measure::ErrorRate | Measure::CheckRate { .. }) {
            return None;
        }
        let excluded = |requests: u64| {
            let deviation = slot::error(measure, 0.0, requests as f64) * std::f64::consts::SQRT_2;
            Paired { pairs, mean: 0.0, deviation }.half_width(one_sided)
        };
        let requests = planned_count(workload, measure, filter)?;
        let smallest_margin = excluded(requests);
        (smallest_margin >= metric.margin).then(|| UnclearableShare {
            name: metric.name.clone(),
            requests,
            needed: fewest(requests, |requests| excluded(requests) < metric.margin),
            margin: metric.margin,
            smallest_margin,
        })
    };
    rules.metrics.iter().filter_map(of).collect()
}

/// The smallest number above `below` that suffices, where every larger one does.
fn fewest(below: u64, suffices: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (below, below.max(1));
    while !suffices(high) {
        (low, high) = (high, high.saturating_mul(2));
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if suffices(middle) { high = middle } else { low = middle }
    }
    high
}

/// How many pairs of so many seconds fit into a time; more than can be planned are not counted.
pub fn pairs_in(minutes: u32, pair_s: f64) -> u32 {
    ((f64::from(minutes) * 60.0 / pair_s.max(1.0)) as u32).min(MOST_PAIRS)
}

#[cfg(test)]
mod tests {
    use stats::Looks;
    use workload::experiment::GateMetric;

    use super::*;
    use crate::experiment::{Levels, Together};
    use crate::testing::TestRun;

    /// By the formula of `slot::error` on paper: √2 · √(10 · 0.5/(n + 1) / n) · t / √pairs, where t at the looks' 2.24 % is 2.19 after
    /// 16 pairs, 2.33 after 10 and 2.66 after 6.
    #[test]
    fn too_few_requests_cannot_clear_an_error_rate_and_the_fewest_can() {
        let quantity = workload::objective::parse_quantity("error_rate(all)", &|_| true).unwrap();
        let metrics = [GateMetric::new("errors", "error_rate(all)", quantity)];
        let looks = Looks::default();
        let rules = Rulebook {
            metrics: &metrics,
            looks: &looks,
            levels: Levels::for_alarm(0.005),
            accept: &[],
            bad_starts: None,
            together: Together::default(),
        };
        let of = |rate: f64, pairs: u32| {
            let mut run = TestRun::new();
            run.plan_rate(rate);
            unclearable_shares(&rules, &run.workload, pairs).pop()
        };
        for (pairs, fewest) in [(16, 1_730), (10, 2_320), (6, 3_430)] {
            let found = of(10.0, pairs).unwrap();
            assert_eq!((found.requests, found.margin), (700, 0.001));
            assert!(found.needed.abs_diff(fewest) <= 10, "{found:?}");
            assert_eq!(of((found.needed as f64 + 1.0) / 70.0, pairs), None, "{found:?}");
        }
        let requests = of(1_400.0 / 70.0, 16).unwrap();
        assert!((requests.smallest_margin - 0.001 * 1_730.0 / 1_400.0).abs() < 1e-5, "{requests:?}");
    }

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
