//! The answer to each metric from the differences of its pairs.
//!
//! Pure numbers: times and costs are compared by the logarithm of their ratio, shares of requests, which may be 0, by their
//! difference. A difference is shown by Student's t test at looks whose nominal level keeps the chance of any false alarm
//! over all looks, and by Holm's procedure over all metrics; that there is none by the interval, which lies within the margin.

use evidence::{EffectScale, MetricVerdict};
use stats::{Looks, Paired};
use workload::experiment::GateMetric;

use super::signs::Signs;

/// Before so many pairs nothing is equivalent: a mean of a few pairs shows nothing of what happens to few starts.
pub(super) const EQUIVALENCE_PAIRS: u32 = 10;

/// The chances of being wrong, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// Of any false alarm in all metrics and looks.
    pub alarm: f64,
    /// Of excluding a change that is as large as the margin, for each metric over all looks.
    pub exclusion: f64,
}

impl Levels {
    /// The level of an experiment, whose exclusions hold at 95 %.
    pub fn for_alarm(alarm: f64) -> Levels {
        Levels { alarm, exclusion: 0.05 }
    }
}

/// What is known of one metric at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The answer.
    pub verdict: MetricVerdict,
    /// After how many pairs it was given; none where there is none.
    pub decided_at: Option<u32>,
    /// The lowest level over all looks at which a difference is shown, before it is adjusted for other metrics.
    level: f64,
    /// The same, adjusted.
    pub adjusted: f64,
    /// Whether at the last look a change beyond the margin is excluded only if requests were not late alike in both arms.
    pub is_hidden_by_lag: bool,
    /// The pairs up to the look with the lowest level; none where it was decided by signs.
    strongest: Option<Paired>,
    /// The interval that decides; none before the first look, and where a pair has no difference.
    pub interval: Option<DecidingInterval>,
}

/// The interval of a mean difference whose ends decide, on the scale of the differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecidingInterval {
    /// The mean difference.
    pub mean: f64,
    /// How far each end lies from the mean.
    pub half_width: f64,
    /// The highest probability that a given end is wrong, over all looks.
    pub end_error: f64,
}

const OPEN: Decision = Decision {
    verdict: MetricVerdict::Inconclusive,
    decided_at: None,
    level: 1.0,
    adjusted: 1.0,
    is_hidden_by_lag: false,
    strongest: None,
    interval: None,
};

impl Decision {
    /// The interval by which a verdict was decided at a look: for what is excluded that of the exclusion, for a difference that of its
    /// test. Without an answer it is that of the test of one of `metrics` by Bonferroni's correction, which is not narrower than Holm's.
    fn interval(
        &self,
        seen: &Seen,
        looks: &Looks,
        levels: Levels,
        metrics: usize,
    ) -> Option<DecidingInterval> {
        let Seen::Mean { paired: seen, .. } = seen else { return None };
        let of = |paired: &Paired, one_sided: f64, end_error: f64| DecidingInterval {
            mean: paired.mean,
            half_width: paired.half_width(one_sided),
            end_error,
        };
        let exclusion = of(seen, looks.one_sided(levels.exclusion), levels.exclusion);
        let difference = |paired: &Paired, level: f64| of(paired, looks.nominal(level) / 2.0, level / 2.0);
        Some(match self.verdict {
            MetricVerdict::Equivalent | MetricVerdict::NoRegression => exclusion,
            MetricVerdict::Regressed | MetricVerdict::Improved => {
                let correction = self.adjusted / self.level.max(f64::MIN_POSITIVE);
                difference(self.strongest.as_ref().unwrap_or(seen), levels.alarm / correction.max(1.0))
            }
            MetricVerdict::NotShown | MetricVerdict::Inconclusive | MetricVerdict::Invalid => {
                let difference = difference(seen, levels.alarm / metrics.max(1) as f64);
                if difference.half_width < exclusion.half_width { exclusion } else { difference }
            }
        })
    }
}

/// Which way is worse, and how far is accepted, on the scale of the differences.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// More than this is worse by more than the margin.
    pub(super) above: f64,
    /// Less than this is better by more than the margin.
    below: f64,
    /// 1 where more is worse, −1 where less is.
    pub(super) sign: f64,
}

impl Bounds {
    pub fn for_metric(metric: &GateMetric) -> Bounds {
        let bound = if metric.quantity.is_share() { metric.margin } else { metric.margin.ln_1p() };
        Bounds { above: bound, below: -bound, sign: if metric.is_better_higher { -1.0 } else { 1.0 } }
    }

    /// Whether a change beyond the margin is excluded: for the worse, for the better.
    fn exclude(&self, paired: &Paired, one_sided: f64) -> [bool; 2] {
        let worse = self.sign * paired.mean;
        let half = paired.half_width(one_sided);
        [worse + half < self.above, worse - half > self.below]
    }
}

/// The differences of one metric, by pair in order.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// Which way is worse, and how far is accepted.
    pub bounds: Bounds,
    /// B's value less A's: of logarithms, or of shares. Infinite where one of them is, not a number where one is not known.
    pub differences: &'a [f64],
    /// The same without a lag that both arms may have in common; none where there is none.
    pub without_lag: Option<&'a [f64]>,
    /// The least deviation that may be taken for known.
    pub least: f64,
}

impl Compared<'_> {
    fn first(&self, pairs: u32) -> Option<Seen> {
        let differences = self.differences.get(..pairs as usize)?;
        let Bounds { above, sign, .. } = self.bounds;
        if differences.iter().any(|difference| !difference.is_finite()) {
            let worse = differences.iter().map(|difference| sign * difference);
            return Some(Seen::Signs(Signs::count(worse, above)));
        }
        let paired =
            |differences: &[f64]| Paired::from_differences(differences.get(..pairs as usize)?, self.least);
        Some(Seen::Mean {
            bounds: self.bounds,
            paired: paired(differences)?,
            without_lag: self.without_lag.map(paired),
        })
    }
}

/// The decision on each metric from the differences of its pairs, in order; none of a metric without differences.
///
/// Once a difference, an improvement or equivalence is shown it stays; what is only not a regression may still be shown to be
/// more.
pub fn decisions(looks: &Looks, levels: Levels, metrics: &[Option<Compared<'_>>]) -> Vec<Decision> {
    let one_sided = looks.one_sided(levels.exclusion);
    let mut found = vec![OPEN; metrics.len()];
    for look in looks.at() {
        let seen: Vec<Option<Seen>> = metrics.iter().map(|metric| metric.as_ref()?.first(*look)).collect();
        if seen.iter().all(Option::is_none) {
            break;
        }
        for (decision, seen) in found.iter_mut().zip(&seen) {
            let Some(seen) = seen else { continue };
            let (p, paired) = match seen {
                Seen::Mean { paired, .. } => (paired.p(), Some(*paired)),
                Seen::Signs(signs) => (signs.p(), None),
            };
            let level = looks.level(p);
            if level <= decision.level {
                (decision.level, decision.strongest) = (level, paired);
            }
        }
        let reached: Vec<f64> = found.iter().map(|decision| decision.level).collect();
        for ((decision, adjusted), seen) in found.iter_mut().zip(stats::holm(&reached)).zip(&seen) {
            decision.adjusted = adjusted;
            let Some(seen) = seen else { continue };
            if matches!(seen, Seen::Signs(_)) && decision.verdict.excludes_a_change() {
                // What was excluded before a run had no value is not excluded any more.
                (decision.verdict, decision.decided_at) = (MetricVerdict::Inconclusive, None);
            }
            let verdict = seen.verdict(adjusted <= levels.alarm, one_sided);
            decision.is_hidden_by_lag =
                seen.excludes(one_sided)[0] && !seen.excludes_without_lag(one_sided)[0];
            let is_open = matches!(decision.verdict, MetricVerdict::Inconclusive)
                || (decision.verdict == MetricVerdict::NoRegression
                    && verdict.verdict() == evidence::Verdict::Pass);
            let is_answered = verdict != MetricVerdict::Inconclusive && verdict != decision.verdict;
            if is_open && is_answered {
                (decision.verdict, decision.decided_at) = (verdict, Some(*look));
            }
            if is_open && (is_answered || decision.verdict == MetricVerdict::Inconclusive) {
                decision.interval = decision.interval(seen, looks, levels, metrics.len());
            }
        }
    }
    found
}

/// What is seen of a metric at one look.
enum Seen {
    Mean {
        bounds: Bounds,
        paired: Paired,
        /// The same without the common lag, where there is one; none inside where that may be all there is.
        without_lag: Option<Option<Paired>>,
    },
    /// A pair has no difference.
    Signs(Signs),
}

impl Seen {
    /// The answer, where a difference is shown or not; `one_sided` is the level of each limit.
    ///
    /// A lag that both arms have makes their ratio look smaller. What is excluded must be excluded without it; what is shown
    /// is shown with it.
    fn verdict(&self, is_shown: bool, one_sided: f64) -> MetricVerdict {
        let (worse, pairs) = match self {
            Seen::Mean { bounds, paired, .. } => (bounds.sign * paired.mean, paired.pairs),
            Seen::Signs(signs) => (if signs.are_worse() { 1.0 } else { -1.0 }, 0),
        };
        match self.excludes_without_lag(one_sided) {
            [true, true] if pairs >= EQUIVALENCE_PAIRS => MetricVerdict::Equivalent,
            [true, true] => MetricVerdict::NoRegression,
            _ if is_shown && worse > 0.0 && !self.excludes(one_sided)[0] => MetricVerdict::Regressed,
            _ if is_shown && worse < 0.0 => MetricVerdict::Improved,
            [true, false] => MetricVerdict::NoRegression,
            _ => MetricVerdict::Inconclusive,
        }
    }

    /// Whether a change beyond the margin is excluded: for the worse, for the better.
    fn excludes(&self, one_sided: f64) -> [bool; 2] {
        match self {
            Seen::Mean { bounds, paired, .. } => bounds.exclude(paired, one_sided),
            Seen::Signs(_) => [false; 2],
        }
    }

    fn excludes_without_lag(&self, one_sided: f64) -> [bool; 2] {
        let with = self.excludes(one_sided);
        let Seen::Mean { bounds, without_lag: Some(without), .. } = self else { return with };
        let without = without.map_or([false; 2], |paired| bounds.exclude(&paired, one_sided));
        [with[0] && without[0], with[1] && without[1]]
    }
}

/// How the sides of a metric are compared.
pub(super) fn scale(metric: &GateMetric) -> EffectScale {
    if metric.quantity.is_share() { EffectScale::Points } else { EffectScale::Relative }
}
