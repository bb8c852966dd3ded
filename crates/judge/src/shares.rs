//! Objectives as questions about a share: `p95 < 50 ms` asks whether at most 5 % of the arrivals take 50 ms or longer.
//!
//! Each arrival has a range for the time that it would have taken under an undisturbed generator. The share beyond the
//! bound is at least that of the arrivals whose range begins beyond it, and at most that of those whose range ends beyond
//! it (C. F. Manski, "Partial Identification of Probability Distributions", 2003). An objective is met where the upper
//! limit of the second is allowed, and violated where the lower limit of the first is not.

use stats::{Proportion, ShareLimits, UNKNOWN_DESIGN_EFFECT};

/// Length of the batches whose shares show how arrivals cluster, in seconds.
pub const BATCH_S: usize = 10;
/// Fewer batches do not show it.
pub const LEAST_BATCHES: usize = 6;
/// The confidence of each limit, one-sided.
pub const CONFIDENCE: f64 = 0.95;
/// The confidence of the design effect, one-sided. With 0.8 simulated runs at their bound passed in 9 % of the cases where
/// few, clustered arrivals are beyond it.
const EFFECT_CONFIDENCE: f64 = 0.90;
/// A level within this factor of the bound is near it.
const NEAR: f64 = 1.5;
/// How many times as many arrivals as in this run may be asked for.
const TIMES_AS_MANY: [u64; 7] = [2, 3, 5, 10, 20, 50, 100];
/// Shares such as 1 − 0.95 are not exact in binary.
pub(crate) const SHARE_ERROR: f64 = 1e-9;

/// How many arrivals are beyond a bound, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeyondCounts {
    /// All arrivals that the objective counts.
    pub arrivals: u64,
    /// Those that are beyond it whatever is unknown of their times.
    pub least: u64,
    /// Those that may be.
    pub most: u64,
    /// Those that are by the observed times alone, of the arrivals that have one or failed.
    pub observed: Proportion,
    /// Those of the observed ones whose time is rounded, so that it may be on either side.
    pub at_bound: u64,
}

/// Where times are cut into those within and those beyond, to see how the latter cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPlace {
    /// At the bound, or so close that clusters there may reach it.
    NearBound,
    /// Farther from it than a factor of 1.5: a level that moves there does not reach it, so that its clusters count as much
    /// as is assumed without knowledge at most.
    FarFromBound,
}

/// A time at which others than the bound are cut, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutTime {
    /// Where it is.
    pub place: CutPlace,
    /// Longer times are beyond it.
    pub time: f64,
}

/// Where else than at its bound the times of an objective on a quantile are cut: at the observed quantile and, where that
/// is far from the bound, half-way to it.
pub fn other_cuts(quantile: f64, bound: f64) -> Vec<CutTime> {
    let between = if quantile < bound { bound / NEAR } else { bound * NEAR };
    let is_far = (quantile < bound) == (quantile < between);
    let place = if is_far { CutPlace::FarFromBound } else { CutPlace::NearBound };
    let at_quantile = CutTime { place, time: quantile };
    let half_way = CutTime { place: CutPlace::NearBound, time: between };
    std::iter::once(at_quantile).chain(is_far.then_some(half_way)).collect()
}

/// Shares beyond a cut, second by second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Where it is.
    pub place: CutPlace,
    /// The share of each second of the objective's window; what ends after the window belongs to its last second.
    pub seconds: Vec<Proportion>,
}

/// An objective as a question about a share, with the evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareQuestion {
    /// How many arrivals are beyond the bound.
    pub counts: BeyondCounts,
    /// How those beyond the bound cluster.
    pub at_bound: Cut,
    /// How those beyond [`other_cuts`] cluster, of an objective on a quantile.
    pub other_cuts: Vec<Cut>,
    /// The share that may be beyond the bound. 0 asks of this run alone whether any was.
    pub allowed: f64,
    /// The confidence of each limit, one-sided: [`CONFIDENCE`].
    pub confidence: f64,
}

/// The answer to a question about a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareDecision {
    /// The answer.
    pub answer: ShareAnswer,
    /// The share beyond the bound by the observed times alone.
    pub share: f64,
    /// What is known of it: at least and at most this share is beyond the bound.
    pub limits: ShareLimits,
    /// Observations per independent observation, at least 1.
    pub design_effect: f64,
    /// How many independent observations the arrivals amount to.
    pub effective_sample: f64,
}

/// Whether a share is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareAnswer {
    /// It is.
    Pass,
    /// It is not.
    Fail,
    /// The sample is too small, or too clustered.
    UndecidedBySample,
    /// The observed times would decide, but the generator may have caused or hidden the difference.
    UndecidedByGenerator,
    /// The records that were read would decide, but those that are missing or contradicted may be on the other side.
    UndecidedByRecords,
}

impl ShareAnswer {
    /// Whether it is neither met nor violated.
    pub fn is_open(self) -> bool {
        !matches!(self, ShareAnswer::Pass | ShareAnswer::Fail)
    }
}

impl ShareQuestion {
    /// Answers the question. Limits are exact binomial ones on the effective sample: E. L. Korn and B. I. Graubard,
    /// "Confidence intervals for proportions with small expected number of positive counts", 1998.
    pub fn decide(&self) -> ShareDecision {
        let effects = self.design_effects();
        let all = self.counts.arrivals as f64;
        let limits = self.limits(self.counts.least, self.counts.most, self.counts.arrivals, &effects);
        let Proportion { part, whole } = self.counts.observed;
        let answer = self.answer(limits, &effects);
        let design_effect = match answer {
            ShareAnswer::Fail => effects.of_violation,
            _ => effects.of_all,
        };
        ShareDecision {
            answer,
            share: part as f64 / whole.max(1) as f64,
            limits,
            design_effect,
            effective_sample: all / design_effect,
        }
    }

    /// How many arrivals would decide it, if their shares and clusters were the same; none where a hundred times as many
    /// would not.
    pub fn arrivals_needed(&self) -> Option<u64> {
        if self.counts.most == 0 && self.allowed > SHARE_ERROR {
            let independent = stats::fewest_without(self.allowed, self.confidence) as f64;
            return Some((independent * self.design_effects().of_all).ceil() as u64);
        }
        let many = TIMES_AS_MANY.into_iter().find(|times| !self.times(*times).decide().answer.is_open())?;
        Some(self.counts.arrivals * many)
    }

    /// The question with every count so many times as large.
    fn times(&self, times: u64) -> ShareQuestion {
        let BeyondCounts { arrivals, least, most, observed, at_bound } = self.counts;
        let counts = BeyondCounts {
            arrivals: arrivals * times,
            least: least * times,
            most: most * times,
            observed: Proportion { part: observed.part * times, whole: observed.whole * times },
            at_bound: at_bound * times,
        };
        ShareQuestion { counts, ..self.clone() }
    }

    fn answer(&self, limits: ShareLimits, effects: &DesignEffects) -> ShareAnswer {
        let BeyondCounts { arrivals, least, most, observed, at_bound } = self.counts;
        if arrivals == 0 {
            return ShareAnswer::UndecidedBySample;
        }
        if self.allowed.abs() < SHARE_ERROR {
            return match (least, most) {
                (1.., _) => ShareAnswer::Fail,
                (0, 0) => ShareAnswer::Pass,
                _ if most <= at_bound => ShareAnswer::UndecidedBySample,
                _ => ShareAnswer::UndecidedByGenerator,
            };
        }
        let decided = |limits: ShareLimits| {
            let is_met = limits.upper <= self.allowed + SHARE_ERROR;
            let is_violated = limits.lower > self.allowed + SHARE_ERROR;
            is_met.then_some(ShareAnswer::Pass).or(is_violated.then_some(ShareAnswer::Fail))
        };
        let by_times = || {
            let least = observed.part.saturating_sub(at_bound);
            self.limits(least, observed.part, observed.whole, effects)
        };
        match decided(limits) {
            Some(answer) => answer,
            None if observed.whole > 0 && decided(by_times()).is_some() => ShareAnswer::UndecidedByGenerator,
            None => ShareAnswer::UndecidedBySample,
        }
    }

    /// The limits of a share that is between `least` and `most` of `all`. No upper limit is below that of a run with none
    /// beyond: a few of them show less of how they cluster than is assumed where there is none.
    fn limits(&self, least: u64, most: u64, all: u64, effects: &DesignEffects) -> ShareLimits {
        let limits = |part: u64, effect: f64| {
            stats::share_limits(part as f64 / effect, all as f64 / effect, self.confidence)
        };
        let none = limits(0, effects.without_any).upper;
        ShareLimits {
            lower: limits(least, effects.of_violation).lower,
            upper: limits(most, effects.of_all).upper.max(none),
        }
    }

    fn design_effects(&self) -> DesignEffects {
        let others = self.other_cuts.iter();
        let cuts = || others.clone().chain([&self.at_bound]);
        let largest = |effects: Vec<f64>| effects.into_iter().reduce(f64::max);
        let least = if self.at_bound.batches().is_some() { 1.0 } else { UNKNOWN_DESIGN_EFFECT };
        let or_unknown = |effect: Option<f64>| effect.unwrap_or(UNKNOWN_DESIGN_EFFECT).max(least);
        let of_batches = or_unknown(largest(cuts().filter_map(Cut::design_effect).collect()));
        DesignEffects {
            of_all: or_unknown(largest(cuts().filter_map(Cut::correlated_design_effect).collect())),
            of_violation: of_batches.min(self.at_bound.arrivals_a_share().max(least)),
            without_any: or_unknown(largest(others.filter_map(Cut::correlated_design_effect).collect())),
        }
    }
}

/// Observations per independent observation.
struct DesignEffects {
    /// For the upper limit: batches count as fewer where they are correlated.
    of_all: f64,
    /// For the lower limit: at worst the arrivals of one batch act like one. What was estimated beyond that is the error of
    /// few batches, and a target that died half-way has violated its objective.
    of_violation: f64,
    /// If no arrival were beyond the bound.
    without_any: f64,
}

impl Cut {
    /// The design effect of its shares, as an upper limit; none where all or none are beyond it.
    fn design_effect(&self) -> Option<f64> {
        self.limited(stats::design_effect_of_shares(&self.shares(), EFFECT_CONFIDENCE)?)
    }

    /// The same where a batch resembles the one before, as far as seconds do.
    fn correlated_design_effect(&self) -> Option<f64> {
        let factor = match self.batches() {
            Some(_) => stats::correlation_of_batches(&self.seconds, BATCH_S),
            None => 1.0,
        };
        self.limited(stats::design_effect_of_shares(&self.shares(), EFFECT_CONFIDENCE)? * factor)
    }

    fn limited(&self, effect: f64) -> Option<f64> {
        Some(match self.place {
            CutPlace::NearBound => effect,
            CutPlace::FarFromBound => effect.min(UNKNOWN_DESIGN_EFFECT),
        })
    }

    /// The shares that show how arrivals cluster: those of batches, of seconds where there are too few batches.
    fn shares(&self) -> Vec<Proportion> {
        let of_seconds = || self.seconds.iter().copied().filter(|share| share.whole > 0).collect();
        self.batches().unwrap_or_else(of_seconds)
    }

    /// How many arrivals such a share is of, on average; at least 1.
    fn arrivals_a_share(&self) -> f64 {
        let shares = self.shares();
        let all: u64 = shares.iter().map(|share| share.whole).sum();
        (all as f64 / shares.len().max(1) as f64).max(1.0)
    }

    /// Shares of [`BATCH_S`]; the remainder belongs to the last batch. None where they are fewer than [`LEAST_BATCHES`].
    fn batches(&self) -> Option<Vec<Proportion>> {
        let count = (self.seconds.len() / BATCH_S).max(1);
        let batch = |batch: usize| {
            let end = if batch + 1 == count { self.seconds.len() } else { (batch + 1) * BATCH_S };
            let none = Proportion { part: 0, whole: 0 };
            self.seconds[batch * BATCH_S..end].iter().fold(none, |sum, second| Proportion {
                part: sum.part + second.part,
                whole: sum.whole + second.whole,
            })
        };
        let batches: Vec<Proportion> = (0..count).map(batch).filter(|batch| batch.whole > 0).collect();
        (batches.len() >= LEAST_BATCHES).then_some(batches)
    }
}

#[cfg(test)]
mod tests;
