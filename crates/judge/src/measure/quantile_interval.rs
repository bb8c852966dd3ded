//! Between which times a quantile lies, by the limits of the share that decides its objective.
//!
//! Of the arrivals a share of 1 − q takes longer than the quantile `q`. If the true share beyond the observed quantile may be
//! as high as `u` and as low as `l`, the true quantile may be as low as the observed one of 1 − u, and as high as that of
//! 1 − l (R. S. Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952). The limits of the
//! share are those of the verdict, so that both say the same: an objective that passes has its bound outside of the interval.

use evidence::Quantile;
use workload::{Measure, Objective, Statistic};

use super::shares::ShareMeasurement;
use super::source::MeasureSource;
use super::times::Observations;
use crate::shares::ShareAnswer;

/// In milliseconds; none of objectives on other statistics, and where either end is infinite.
pub(super) fn of(
    source: &MeasureSource<'_>,
    objective: &Objective,
    share: &ShareMeasurement,
) -> Option<(f64, f64)> {
    let (Measure::ResponseTime(Statistic::Quantile(q))
    | Measure::ServiceTime(Statistic::Quantile(q))
    | Measure::IterationTime(Statistic::Quantile(q))) = objective.measure
    else {
        return None;
    };
    let seen = Observations::of(source.tables, objective);
    let time = |share: f64| match seen.quantile((1.0 - share).clamp(0.0, 1.0)) {
        Quantile::Finite(us) => us / 1e3,
        Quantile::Infinite | Quantile::Empty => f64::INFINITY,
    };
    let limits = share.question.limits_of_share(1.0 - q);
    let unknown = share.unknown();
    let (low, high) = (time(limits.upper + unknown.beyond), time(limits.lower - unknown.within));
    let is_upper = objective.comparison.is_upper();
    let bound = objective.bound;
    let (low, high) = match share.decision.answer {
        ShareAnswer::Pass if is_upper => (low.min(bound), high.min(bound)),
        ShareAnswer::Fail if is_upper => (low.max(bound), high.max(bound)),
        ShareAnswer::Pass => (low.max(bound), high.max(bound)),
        ShareAnswer::Fail => (low.min(bound), high.min(bound)),
        _ => (low.min(bound), high.max(bound)),
    };
    (low.is_finite() && high.is_finite()).then_some((low, high))
}
