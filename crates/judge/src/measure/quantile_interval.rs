//! Between which times a quantile lies: those at which its objective would be undecided.
//!
//! Of the arrivals a share of 1 − q takes longer than the quantile `q`. The interval ends at the times beyond which so few, or so
//! many, were observed that the limits of the share would decide an objective there (the inversion of a test: G. Casella and R. L.
//! Berger, "Statistical Inference", 2002, section 9.2.1). What is unknown of the arrivals counts at each end as it does there: a
//! stall of the generator may have delayed those beyond a time that is far below the bound. The limits are those of the verdict, so
//! that both say the same: an objective that passes has its bound outside of the interval.

use evidence::run::{ReadError, select};
use evidence::{Key, Metric, Outcome, Quantile};
use figures::{RowKey, metric_of};
use workload::{Measure, Objective, Statistic};

use super::bound::{Bound, TimeBound};
use super::despite_stalls;
use super::ranges::perturbed;
use super::shares::{self, ShareMeasurement};
use super::source::MeasureSource;
use super::times::Observations;
use crate::shares::ShareAnswer;

/// How often the lower end is moved to where more is unknown.
const MOST_MOVES: u32 = 8;
/// How often the upper end is moved to where arrivals cluster more.
const MOST_MOVES_UP: u32 = 3;

/// In milliseconds; none of objectives on other statistics, and where nothing is known of either end.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(super) fn of(
    source: &MeasureSource<'_>,
    objective: &Objective,
    share: &ShareMeasurement,
) -> Result<Option<(f64, Option<f64>)>, ReadError> {
    let (Measure::ResponseTime(Statistic::Quantile(q))
    | Measure::ServiceTime(Statistic::Quantile(q))
    | Measure::IterationTime(Statistic::Quantile(q))) = objective.measure
    else {
        return Ok(None);
    };
    let seen = Observations::of(source.figures, objective);
    let time = |share: f64| match seen.quantile((1.0 - share).max(0.0)) {
        Quantile::Finite(us) if share >= 0.0 => us / 1e3,
        // Or more is unknown than the upper end leaves.
        _ => f64::INFINITY,
    };
    let upper = |share: &ShareMeasurement| {
        let (within, _) = share.question.open_shares(1.0 - q);
        within.map_or(f64::INFINITY, |within| time(within - share.unknown().within))
    };
    let high = upper_end(source, objective, upper(share), &upper)?;
    let (_, beyond) = share.question.open_shares(1.0 - q);
    let low = lower_end(source, objective, share, &|unknown| time(beyond + unknown))?;
    let (low, high) = beside(objective, share.decision.answer, low, high);
    let high = Some(high).filter(|high| high.is_finite());
    Ok(Some((low, high)).filter(|(low, high)| low.is_finite() && (*low > 0.0 || high.is_some())))
}

/// The first time from `high` on that is no less than the upper end which the share beyond that very time gives: arrivals may
/// cluster more there than at the bound. Infinite where it is not found.
fn upper_end(
    source: &MeasureSource<'_>,
    objective: &Objective,
    mut high: f64,
    upper: &dyn Fn(&ShareMeasurement) -> f64,
) -> Result<f64, ReadError> {
    for _move in 0..MOST_MOVES_UP {
        if !high.is_finite() {
            break;
        }
        let there = shares::observe(source, &Objective { bound: high, ..objective.clone() })?;
        let next = there.as_ref().map_or(f64::INFINITY, upper);
        if next <= high {
            return Ok(high);
        }
        high = next;
    }
    Ok(f64::INFINITY)
}

/// The lower end: the time beyond which enough arrivals would be certain to lie, whatever stalls did to them. `time` gives it for the
/// share of arrivals whose side is unknown, which grows as the end falls. 0 where it is not found.
fn lower_end(
    source: &MeasureSource<'_>,
    objective: &Objective,
    share: &ShareMeasurement,
    time: &dyn Fn(f64) -> f64,
) -> Result<f64, ReadError> {
    let at_bound = excused(source, objective, objective.bound)?;
    let arrivals = share.question.counts.arrivals.max(1) as f64;
    let mut low = time(share.unknown().beyond);
    for _move in 0..MOST_MOVES {
        let more = excused(source, objective, low)?.saturating_sub(at_bound) as f64 / arrivals;
        let next = time(share.unknown().beyond + more);
        if next >= low {
            return Ok(low);
        }
        low = next;
    }
    Ok(0.0)
}

/// How many successes that took longer than this, in milliseconds, may have done so because of stalls.
fn excused(source: &MeasureSource<'_>, objective: &Objective, ms: f64) -> Result<u64, ReadError> {
    let bound = Bound::Time(TimeBound { us: ms * 1e3, is_strict: false });
    let metric = metric_of(&objective.measure);
    let run = source.run;
    let of_success = |key: &Key| {
        key.outcome.is_none_or(|outcome| outcome == Outcome::Ok)
            && RowKey::from(key).matches(&objective.filter)
    };
    let mut excused = 0;
    for (id, key) in select(run.keys(), perturbed(metric), of_success) {
        let beyond = bound.sides(&run.histogram(id, run.whole())?).beyond;
        let in_any_case = match metric {
            Metric::ResponseTime => despite_stalls::beyond(source, bound, id, key)?,
            _ => 0,
        };
        excused += beyond.saturating_sub(in_any_case);
    }
    Ok(excused)
}

/// The interval on the side of the bound that the answer names.
fn beside(objective: &Objective, answer: ShareAnswer, low: f64, high: f64) -> (f64, f64) {
    let bound = objective.bound;
    match (answer, objective.comparison.is_upper()) {
        (ShareAnswer::Pass, true) | (ShareAnswer::Fail, false) => (low.min(bound), high.min(bound)),
        (ShareAnswer::Fail, true) | (ShareAnswer::Pass, false) => (low.max(bound), high.max(bound)),
        _ => (low.min(bound), high.max(bound)),
    }
}
