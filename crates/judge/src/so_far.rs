//! Objectives of a run under way, from what its ticks have counted: the same question about a share, by the same rule
//! ([`crate::shares`]), as when the run is judged. It is not a verdict: what is still in flight is not counted, and neither the
//! generator's stalls nor any rule of validity is known here.

use figures::live::objective::{AT_BOUND, ObjectiveCounts, Span, nearest_cut};
use stats::Proportion;
use workload::{Measure, Objective, Statistic, Workload};

use crate::rules::offered_load_not_reached::DELIVERED_INVALID;
use crate::shares::{
    self, BeyondCounts, Cut, CutPlace, ShareAnswer, ShareDecision, ShareQuestion, assumed_effect, confidence,
};

/// What the arrivals so far say of an objective about a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareSoFar {
    /// By the arrivals so far.
    pub decision: ShareDecision,
    /// The share that may be on the wrong side of the bound.
    pub allowed: f64,
    /// How many more arrivals would decide it, if their shares and clusters stayed the same. None where it is decided, and
    /// where a hundred times as many as so far would not.
    pub arrivals_missing: Option<u64>,
}

impl ShareSoFar {
    /// In how many seconds it is decided, if so many arrivals a second go on to be counted.
    pub fn decided_in_s(&self, arrivals_per_s: f64) -> Option<f64> {
        let missing = self.arrivals_missing?;
        (arrivals_per_s > 0.0).then(|| missing as f64 / arrivals_per_s)
    }
}

/// What `counts` of `objective` say so far; none where it is not about a share, or nothing was counted.
pub fn of(counts: &ObjectiveCounts, objective: &Objective, workload: &Workload) -> Option<ShareSoFar> {
    let question = question(counts, objective, confidence(workload))?;
    let decision = question.decide();
    let arrivals_missing = match decision.answer {
        ShareAnswer::Pass | ShareAnswer::Fail => None,
        _ => question.fewest_arrivals().map(|fewest| fewest.saturating_sub(counts.arrivals()).max(1)),
    };
    Some(ShareSoFar { decision, allowed: question.allowed, arrivals_missing })
}

/// Whether a scenario's load in a phase counts as offered, of which this share was not dropped by the generator.
pub fn is_load_offered(delivered: f64) -> bool {
    delivered >= DELIVERED_INVALID
}

fn question(counts: &ObjectiveCounts, objective: &Objective, confidence: f64) -> Option<ShareQuestion> {
    let is_upper = objective.comparison.is_upper();
    let quantile = match objective.measure {
        Measure::ResponseTime(Statistic::Quantile(q))
        | Measure::ServiceTime(Statistic::Quantile(q))
        | Measure::IterationTime(Statistic::Quantile(q)) => Some(q),
        _ => None,
    };
    // On which side of the bound arrivals are counted: beyond it, or failed; else within it, or successes.
    let (is_beyond, allowed) = match (&objective.measure, quantile) {
        (_, Some(q)) => (is_upper, if is_upper { 1.0 - q } else { q }),
        (Measure::ErrorRate, _) => (is_upper, if is_upper { objective.bound } else { 1.0 - objective.bound }),
        (Measure::CheckRate { .. }, _) => {
            (!is_upper, if is_upper { objective.bound } else { 1.0 - objective.bound })
        }
        _ => return None,
    };
    let arrivals = counts.arrivals();
    let other_cuts = quantile.map(|_| other_cuts(counts, objective)).unwrap_or_default();
    let per_s = arrivals as f64 / (counts.spans.len().max(1) as f64 * f64::from(counts.span_s()));
    (arrivals > 0).then(|| ShareQuestion {
        counts: beyond_counts(counts, is_beyond),
        at_bound: Cut { place: CutPlace::NearBound, seconds: seconds(&counts.spans, AT_BOUND) },
        other_cuts,
        allowed,
        confidence,
        assumed_effect: quantile.map_or(stats::UNKNOWN_DESIGN_EFFECT, |_| assumed_effect(per_s)),
    })
}

/// Where else the times are cut: at the cuts that are kept, nearest to those of the judge.
fn other_cuts(counts: &ObjectiveCounts, objective: &Objective) -> Vec<Cut> {
    let Some(seen_ms) = counts.value(objective, 0) else { return Vec::new() };
    let cut = |other: shares::CutTime| {
        let at = nearest_cut(other.time / objective.bound);
        Cut { place: other.place, seconds: seconds(&counts.spans, at) }
    };
    shares::other_cuts(seen_ms, objective.bound).into_iter().map(cut).collect()
}

fn seconds(spans: &[Span], cut: usize) -> Vec<Proportion> {
    spans.iter().map(|span| Proportion { part: span.beyond[cut], whole: span.arrivals }).collect()
}

fn beyond_counts(counts: &ObjectiveCounts, is_beyond: bool) -> BeyondCounts {
    let arrivals = counts.arrivals();
    let sum = |of: &dyn Fn(&Span) -> u64| counts.spans.iter().map(of).sum::<u64>();
    let (beyond, at_bound) = (sum(&|span| span.beyond[AT_BOUND]), sum(&|span| span.at_bound));
    let least = if is_beyond { beyond } else { arrivals.saturating_sub(beyond + at_bound) };
    let most = (least + at_bound).min(arrivals);
    let observed = Proportion { part: most, whole: arrivals };
    BeyondCounts { arrivals, least, most, observed, at_bound }
}

#[cfg(test)]
mod tests;
