//! Objectives on quantiles, error rates and checks as questions about a share of arrivals.

use evidence::run::ReadError;
use evidence::{BlindSpot, Metric, Quantile, Widening, WideningCause};
use figures::{RowKey, metric_of};
use stats::Proportion;
use workload::{Comparison, Measure, Objective, Statistic};

use super::bound::{Bound, TimeBound};
use super::ranges::{Ranges, TimeQuery};
use super::source::MeasureSource;
use super::times::Observations;
use super::unread;
use crate::shares::{self, BeyondCounts, Cut, CutPlace, ShareAnswer, ShareDecision, ShareQuestion};

const US_PER_MS: f64 = 1_000.0;

/// An objective as a question about a share, and the answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShareMeasurement {
    pub(crate) question: ShareQuestion,
    pub(crate) decision: ShareDecision,
    /// What arrivals on the wrong side of the bound did.
    pub(crate) wrong_side: WrongSide,
    /// Arrivals that were under way while the generator stalled, or may have been.
    pub(crate) perturbed: u64,
    /// Whether the run counts them; where not, all that ended in the seconds of a stall are taken.
    pub(crate) is_perturbed_counted: bool,
    /// Arrivals that were dropped at the VU limit, of those that were observed on the wrong side.
    pub(crate) dropped: u64,
    /// Arrivals of which it is not known on which side they are.
    pub(crate) widened_by: Vec<Widening>,
}

impl ShareMeasurement {
    /// Shares of the arrivals that may be on the other side of the bound than they were observed.
    pub(crate) fn unknown(&self) -> UnknownShares {
        let BeyondCounts { arrivals, least, most, observed, .. } = self.question.counts;
        let share = |from: u64, to: u64| to.saturating_sub(from) as f64 / arrivals.max(1) as f64;
        let [less, more] = [share(least, observed.part), share(observed.part, most)];
        match self.wrong_side {
            WrongSide::Beyond | WrongSide::Failed => UnknownShares { beyond: less, within: more },
            WrongSide::Within | WrongSide::Succeeded => UnknownShares { beyond: more, within: less },
        }
    }

    /// What a pass does not exclude, where it allows some arrivals to be on the wrong side.
    pub(crate) fn blind_spot(&self) -> Option<BlindSpot> {
        let allowed = self.question.allowed;
        let is_share = allowed > shares::SHARE_ERROR && allowed < 1.0;
        let seconds = self.question.at_bound.seconds.len() as f64;
        (is_share && seconds > 0.0).then(|| BlindSpot::new(allowed, seconds))
    }
}

/// Shares of arrivals whose observed side is not certain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UnknownShares {
    /// Observed beyond it.
    pub(crate) beyond: f64,
    /// Observed within it, or not observed.
    pub(crate) within: f64,
}

/// What arrivals on the wrong side of a bound did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrongSide {
    /// They took longer, or failed.
    Beyond,
    /// They took less.
    Within,
    /// They failed, or a check of theirs did.
    Failed,
    /// They succeeded, where at least so many failures are asked for.
    Succeeded,
}

/// The share that decides `objective`; none where it is not about a share, or nothing that it counts was due.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(super) fn observe(
    source: &MeasureSource<'_>,
    objective: &Objective,
) -> Result<Option<ShareMeasurement>, ReadError> {
    let measurement = match &objective.measure {
        Measure::ResponseTime(Statistic::Quantile(q))
        | Measure::ServiceTime(Statistic::Quantile(q))
        | Measure::IterationTime(Statistic::Quantile(q)) => quantile(source, objective, *q)?,
        Measure::ErrorRate => errors(source, objective)?,
        Measure::CheckRate { check } => checks(source, objective, check.as_deref())?,
        _ => return Ok(None),
    };
    Ok(Some(measurement).filter(|share| share.question.counts.arrivals > 0))
}

fn quantile(
    source: &MeasureSource<'_>,
    objective: &Objective,
    q: f64,
) -> Result<ShareMeasurement, ReadError> {
    let us = objective.bound * US_PER_MS;
    let is_strict = matches!(objective.comparison, Comparison::Below | Comparison::AtLeast);
    let seen = match Observations::of(source.figures, objective).quantile(q) {
        Quantile::Finite(us) => us,
        Quantile::Infinite | Quantile::Empty => f64::INFINITY,
    };
    let others = shares::other_cuts(seen, us);
    let cut = |us: f64, is_strict: bool| Bound::Time(TimeBound { us, is_strict });
    let mut bounds = vec![cut(us, is_strict)];
    bounds.extend(others.iter().map(|other| cut(other.time, false)));
    let asked_times =
        TimeQuery { metric: metric_of(&objective.measure), filter: &objective.filter, bounds: &bounds };
    let mut ranges = Ranges::read(source, &asked_times)?;
    let mut seconds = std::mem::take(&mut ranges.seconds).into_iter();
    let at_bound = seconds.next().unwrap_or_default();
    let other_cuts =
        others.iter().zip(seconds).map(|(other, seconds)| Cut { place: other.place, seconds }).collect();
    let (wrong_side, allowed) = match objective.comparison.is_upper() {
        true => (WrongSide::Beyond, 1.0 - q),
        false => (WrongSide::Within, q),
    };
    let assumed_effect = shares::assumed_effect(ranges.arrivals as f64 / at_bound.len().max(1) as f64);
    Ok(measured(source, &ranges, ShareQuery { wrong_side, allowed, at_bound, other_cuts, assumed_effect }))
}

/// Failed requests.
fn errors(source: &MeasureSource<'_>, objective: &Objective) -> Result<ShareMeasurement, ReadError> {
    let query =
        TimeQuery { metric: Metric::ResponseTime, filter: &objective.filter, bounds: &[Bound::Failure] };
    let mut ranges = Ranges::read(source, &query)?;
    let at_bound = std::mem::take(&mut ranges.seconds).swap_remove(0);
    let (wrong_side, allowed) = match objective.comparison.is_upper() {
        true => (WrongSide::Failed, objective.bound),
        false => (WrongSide::Succeeded, 1.0 - objective.bound),
    };
    let query = ShareQuery {
        wrong_side,
        allowed,
        at_bound,
        other_cuts: Vec::new(),
        assumed_effect: stats::UNKNOWN_DESIGN_EFFECT,
    };
    Ok(measured(source, &ranges, query))
}

/// The share that an objective limits, of classified arrivals.
struct ShareQuery {
    wrong_side: WrongSide,
    allowed: f64,
    at_bound: Vec<Proportion>,
    other_cuts: Vec<Cut>,
    assumed_effect: f64,
}

fn measured(source: &MeasureSource<'_>, ranges: &Ranges, query: ShareQuery) -> ShareMeasurement {
    let ShareQuery { wrong_side, allowed, at_bound, other_cuts, assumed_effect } = query;
    let counts = match wrong_side {
        WrongSide::Beyond | WrongSide::Failed => ranges.counts(),
        WrongSide::Within | WrongSide::Succeeded => ranges.counts_within(),
    };
    let question = ShareQuestion {
        counts,
        at_bound: Cut { place: CutPlace::NearBound, seconds: at_bound },
        other_cuts,
        allowed,
        confidence: source.confidence(),
        assumed_effect,
    };
    ShareMeasurement {
        decision: decide(&question, ranges.has_unread()),
        question,
        wrong_side,
        perturbed: ranges.perturbed,
        dropped: match wrong_side {
            WrongSide::Beyond | WrongSide::Failed => ranges.dropped,
            WrongSide::Within | WrongSide::Succeeded => 0,
        },
        is_perturbed_counted: source.disturbed.is_counted(),
        widened_by: ranges.widened_by(),
    }
}

/// The decision. Where records of an imported source are missing, no generator is the reason that it is open.
fn decide(question: &ShareQuestion, has_unread: bool) -> ShareDecision {
    let decision = question.decide();
    match decision.answer {
        ShareAnswer::UndecidedByGenerator if has_unread => {
            ShareDecision { answer: ShareAnswer::UndecidedByRecords, ..decision }
        }
        _ => decision,
    }
}

/// Checks that failed, of those that were made.
fn checks(
    source: &MeasureSource<'_>,
    objective: &Objective,
    check: Option<&str>,
) -> Result<ShareMeasurement, ReadError> {
    let (run, window) = (source.run, source.window(&objective.filter));
    let none = Proportion { part: 0, whole: 0 };
    let mut seconds = vec![none; window.len().max(1)];
    let last = seconds.len() - 1;
    for (id, key) in run.keys() {
        let is_failure = key.metric == Metric::CheckFailed;
        let is_it = check.is_none_or(|check| key.tags.get("check").is_some_and(|name| &**name == check));
        let is_check = is_failure || key.metric == Metric::CheckPassed;
        if !is_check || !is_it || !RowKey::from(key).matches(&objective.filter) {
            continue;
        }
        for (second, count) in run.counts(*id, run.whole())? {
            let made = &mut seconds[(second.saturating_sub(window.start) as usize).min(last)];
            made.whole += count;
            made.part += if is_failure { count } else { 0 };
        }
    }
    let (failed, all) = seconds.iter().fold((0, 0), |(f, n), made| (f + made.part, n + made.whole));
    let (wrong_side, part, allowed) = match objective.comparison.is_upper() {
        true => (WrongSide::Succeeded, all - failed, objective.bound),
        false => (WrongSide::Failed, failed, 1.0 - objective.bound),
    };
    let unknown = unread::checks(source, &objective.filter);
    let counts = BeyondCounts {
        arrivals: all + unknown.more,
        least: part.saturating_sub(unknown.doubtful),
        most: (part + unknown.doubtful).min(all) + unknown.more,
        observed: Proportion { part, whole: all },
        at_bound: 0,
    };
    let question = ShareQuestion {
        counts,
        at_bound: Cut { place: CutPlace::NearBound, seconds },
        other_cuts: Vec::new(),
        allowed,
        confidence: source.confidence(),
        assumed_effect: stats::UNKNOWN_DESIGN_EFFECT,
    };
    let widening = Widening {
        cause: WideningCause::Unread,
        arrivals: unknown.more.saturating_add(unknown.doubtful.min(all)),
    };
    Ok(ShareMeasurement {
        decision: decide(&question, !unknown.is_zero()),
        question,
        wrong_side,
        perturbed: 0,
        dropped: 0,
        is_perturbed_counted: true,
        widened_by: (!unknown.is_zero()).then_some(widening).into_iter().collect(),
    })
}
