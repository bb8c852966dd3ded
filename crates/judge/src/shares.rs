//! Objectives as questions about a share: `p95 < 50 ms` asks whether at most 5 % of the arrivals take 50 ms or longer.
//!
//! Each arrival has a range for the time that it would have taken under an undisturbed generator. The share beyond the
//! bound is at least that of the arrivals whose range begins beyond it, and at most that of those whose range ends beyond
//! it (C. F. Manski, "Partial Identification of Probability Distributions", 2003). An objective is met where the upper
//! limit of the second is allowed, and violated where the lower limit of the first is not.

#[cfg(doc)]
use stats::UNKNOWN_DESIGN_EFFECT;
use stats::{Proportion, ShareLimits};
use workload::Workload;

/// The shortest batches of a run of a minute or more, in seconds.
pub const BATCH_S: usize = 10;
/// Fewer batches do not show how arrivals cluster. So many are made of a run below a minute.
pub const LEAST_BATCHES: usize = 6;
/// No more are made of a long run: a target that is slow for minutes makes neighbouring short batches alike.
const MOST_BATCHES: usize = 20;
/// How many parts of a batch show by their correlation how much batches are alike.
const PARTS: usize = 5;
/// The confidence of each limit, one-sided.
pub const CONFIDENCE: f64 = 0.95;
/// The confidence of the design effect, one-sided. With 0.8 simulated runs at their bound passed in 9 % of the cases where
/// few, clustered arrivals are beyond it.
const EFFECT_CONFIDENCE: f64 = 0.90;
/// A level within this factor of the bound is near it.
const NEAR: f64 = 1.5;
/// How many times as many arrivals as in this run may be asked for.
const TIMES_AS_MANY: [u64; 7] = [2, 3, 5, 10, 20, 50, 100];
/// Arrivals of so many seconds act as one in a question about a quantile where nothing shows how they cluster: a pause of the
/// target hits those that are due while it lasts.
const UNKNOWN_CLUSTER_S: f64 = 0.1;
/// At least so many do.
const UNKNOWN_CLUSTER: f64 = 3.0;
/// A run shows too little of changes that take more than this part of it. With 200 simulated runs of each of 53 kinds, whose
/// objective is at its bound or violated: where the relaxation time is a fourth of the run 35 to 70 % are recognised, where it is a
/// twentieth at most 30 %, and of independent requests at most 2 %.
const SLOW_CHANGES: f64 = 1.0 / 15.0;
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
    /// How many arrivals act as one where nothing shows how they cluster, at least 1: [`assumed_effect`] of objectives on
    /// quantiles, [`UNKNOWN_DESIGN_EFFECT`] of others.
    pub assumed_effect: f64,
}

/// The confidence of each limit of a share, one-sided.
pub(crate) fn confidence(workload: &Workload) -> f64 {
    let asked = workload.until_decided.as_ref().map(|until| until.confidence);
    // A run file may contain anything.
    asked.filter(|asked| (CONFIDENCE..1.0).contains(asked)).unwrap_or(CONFIDENCE)
}

/// How many arrivals are taken to act as one in a question about a quantile, where nothing shows how they cluster.
pub fn assumed_effect(arrivals_per_s: f64) -> f64 {
    (arrivals_per_s * UNKNOWN_CLUSTER_S).max(UNKNOWN_CLUSTER)
}

/// The answer to a question about a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareDecision {
    pub answer: ShareAnswer,
    /// The share beyond the bound by the observed times alone.
    pub share: f64,
    /// What is known of it: at least and at most this share is beyond the bound.
    pub limits: ShareLimits,
    /// Observations per independent observation, at least 1.
    pub design_effect: f64,
    /// How many independent observations the arrivals amount to.
    pub effective_sample: f64,
    /// Where the upper limit is that of a run with none beyond the bound: how many independent observations that has.
    pub sample_without_any: Option<f64>,
}

/// Whether a share is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareAnswer {
    Pass,
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
        let has_own_limit = self.counts.most == 0 || limits.upper > self.upper_limit_without_any(&effects);
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
            sample_without_any: (!has_own_limit).then_some(all / effects.without_any),
        }
    }

    /// Which shares beyond a time, if they were observed, would leave it open whether the true share is `allowed`: from the
    /// largest whose upper limit is not above it, none where no share is small enough, to the smallest whose lower limit is.
    /// Arrivals are taken to cluster there as much as they do at any of the cuts, near the bound or far from it.
    pub(crate) fn open_shares(&self, allowed: f64) -> (Option<f64>, f64) {
        let effects = self.design_effects();
        let there = self.other_cuts.iter().chain([&self.at_bound]).filter_map(Cut::effect_there);
        let largest = there.fold(effects.of_all, f64::max);
        let effects =
            DesignEffects { of_all: largest, of_violation: largest, without_any: effects.without_any };
        let all = self.counts.arrivals;
        let limits = |part: u64| self.limits(part, part, all, &effects);
        let share = |part: u64| part as f64 / all.max(1) as f64;
        let first = |is: &dyn Fn(u64) -> bool| first(all + 1, is);
        let within = first(&|part| limits(part).upper > allowed + SHARE_ERROR).checked_sub(1);
        (within.map(share), share(first(&|part| limits(part).lower > allowed + SHARE_ERROR).min(all)))
    }

    /// Over how many seconds what is beyond the bound comes and goes, if the run is too short for changes so slow.
    pub fn slow_changes_s(&self) -> Option<f64> {
        let seconds = &self.at_bound.seconds;
        stats::relaxation(seconds).filter(|slow| *slow > SLOW_CHANGES * seconds.len() as f64)
    }

    /// How many arrivals would decide it, if their shares and clusters were the same; none where a hundred times as many
    /// would not.
    pub fn arrivals_needed(&self) -> Option<u64> {
        if self.counts.most == 0 && self.allowed > SHARE_ERROR {
            let independent = stats::fewest_without(self.allowed, self.confidence) as f64;
            return Some((independent * self.design_effects().of_all).ceil() as u64);
        }
        let many = TIMES_AS_MANY
            .into_iter()
            .find(|times| !self.times_as_many(*times as f64).decide().answer.is_open())?;
        Some(self.counts.arrivals * many)
    }

    /// The same to a hundredth of them, for a question whose answer is open.
    pub fn fewest_arrivals(&self) -> Option<u64> {
        let enough = self.arrivals_needed()?;
        if self.counts.most == 0 {
            return Some(enough);
        }
        let (mut open, mut decides) = (1.0, enough as f64 / self.counts.arrivals.max(1) as f64);
        while decides - open > 0.01 * decides {
            let middle = f64::midpoint(open, decides);
            match self.times_as_many(middle).decide().answer.is_open() {
                true => open = middle,
                false => decides = middle,
            }
        }
        Some((self.counts.arrivals as f64 * decides).ceil() as u64)
    }

    /// The question with every count so many times as large.
    pub(crate) fn times_as_many(&self, times: f64) -> ShareQuestion {
        let BeyondCounts { arrivals, least, most, observed, at_bound } = self.counts;
        let scaled = |count: u64| (count as f64 * times).round() as u64;
        let counts = BeyondCounts {
            arrivals: scaled(arrivals),
            least: scaled(least),
            most: scaled(most),
            observed: Proportion { part: scaled(observed.part), whole: scaled(observed.whole) },
            at_bound: scaled(at_bound),
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

    fn upper_limit_without_any(&self, effects: &DesignEffects) -> f64 {
        self.limits(0, 0, self.counts.arrivals, effects).upper
    }

    fn design_effects(&self) -> DesignEffects {
        let others = self.other_cuts.iter();
        let largest = |effects: &mut dyn Iterator<Item = f64>| effects.reduce(f64::max);
        let batches = Batches::of(&self.at_bound.seconds);
        let least = if batches.are_enough() { 1.0 } else { self.assumed_effect };
        let or_unknown = |effect: Option<f64>| effect.unwrap_or(self.assumed_effect).max(least);
        let of = |cut: &Cut| cut.design_effect(self.assumed_effect);
        let of_all = or_unknown(largest(&mut others.clone().chain([&self.at_bound]).filter_map(of)));
        DesignEffects {
            of_all,
            of_violation: of_all.min(batches.arrivals_a_batch().max(least)),
            without_any: or_unknown(largest(&mut others.filter_map(of))),
        }
    }
}

/// Observations per independent observation.
struct DesignEffects {
    /// For the upper limit.
    of_all: f64,
    /// For the lower limit: at worst the arrivals of one batch act like one. What was estimated beyond that is the error of
    /// few batches, and a target that died half-way has violated its objective.
    of_violation: f64,
    /// If no arrival were beyond the bound.
    without_any: f64,
}

impl Cut {
    /// The design effect of its shares, as an upper limit, where a batch resembles the one before as far as its parts resemble
    /// each other; none where all or none are beyond it.
    fn design_effect(&self, assumed: f64) -> Option<f64> {
        let effect = self.effect_there()?;
        Some(match self.place {
            CutPlace::NearBound => effect,
            CutPlace::FarFromBound => effect.min(assumed),
        })
    }

    /// The same for a question about the cut itself, wherever the bound is.
    fn effect_there(&self) -> Option<f64> {
        let Batches { length, shares } = Batches::of(&self.seconds);
        let part = (length / PARTS).max(1);
        let correlation = stats::correlation_of_batches(&joined(&self.seconds, part), length / part);
        Some(stats::design_effect_of_shares(&shares, EFFECT_CONFIDENCE)? * correlation)
    }
}

/// The first number below `end` of which `is` holds, as it does of all that follow; `end` where it holds of none.
fn first(end: u64, is: &dyn Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low.midpoint(high);
        if is(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The shares that show how arrivals cluster: a sixth of a run below a minute, then 10 s, and of runs longer than 200 s a
/// twentieth.
struct Batches {
    /// In seconds.
    length: usize,
    /// Of those that have arrivals.
    shares: Vec<Proportion>,
}

impl Batches {
    fn of(seconds: &[Proportion]) -> Batches {
        let run_s = seconds.len();
        let length = match run_s < LEAST_BATCHES * BATCH_S {
            true => (run_s / LEAST_BATCHES).max(1),
            false => (run_s / MOST_BATCHES).max(BATCH_S),
        };
        let shares = joined(seconds, length).into_iter().filter(|batch| batch.whole > 0).collect();
        Batches { length, shares }
    }

    fn are_enough(&self) -> bool {
        self.shares.len() >= LEAST_BATCHES
    }

    /// On average; at least 1.
    fn arrivals_a_batch(&self) -> f64 {
        let all: u64 = self.shares.iter().map(|share| share.whole).sum();
        (all as f64 / self.shares.len().max(1) as f64).max(1.0)
    }
}

/// The shares of so many seconds each; the remainder belongs to the last.
fn joined(seconds: &[Proportion], length: usize) -> Vec<Proportion> {
    let count = (seconds.len() / length).max(1);
    let of = |nth: usize| {
        let end = if nth + 1 == count { seconds.len() } else { (nth + 1) * length };
        let none = Proportion { part: 0, whole: 0 };
        seconds[nth * length..end].iter().fold(none, |sum, second| Proportion {
            part: sum.part + second.part,
            whole: sum.whole + second.whole,
        })
    };
    (0..count).map(of).collect()
}

#[cfg(test)]
mod tests;
