//! What runs of two arms at the same moment show, and what they hide.
//!
//! Both arms have the same seconds, neighbours and arrivals, so that far smaller differences are shown than in turn. But two
//! versions that share processors wait in one queue: the slower one makes both wait, and times look more equal than they are
//! alone. A difference of times therefore stands, and is at least as large alone; that there is none is not shown by it.

use evidence::{EffectScale, ExperimentEnd, ExperimentFinding, MetricAnswer, MetricVerdict, Severity};
use workload::experiment::GateMetric;

use super::carry_over::differences;
use super::demand::Demand;
use super::{JudgedPair, Rulebook};
use crate::compare::Side;

#[cfg(test)]
mod tests;

/// The level of the test for interference, of all times and looks together.
const LEVEL: f64 = 0.01;
/// The chance that interference which is called small is not.
const SMALL: f64 = 0.05;
/// How far an uneven split is from an even one: 40:60.
const SHIFT: f64 = 0.1;
/// Observations that a line takes.
const OF_LINE: usize = 2;

/// What two arms had in common that ran at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Together {
    /// Whether both were started anew for each window. Otherwise what is shown is about these two processes.
    pub are_restarted: bool,
    /// Whether both used one database, cache or queue.
    pub have_shared_store: bool,
    /// Whether each had processors of its own.
    pub are_pinned_apart: bool,
    /// Whether the load of windows differs, so that they show how times grow with it.
    pub is_load_varied: bool,
}

impl Default for Together {
    fn default() -> Together {
        Together {
            are_restarted: true,
            have_shared_store: false,
            are_pinned_apart: false,
            is_load_varied: false,
        }
    }
}

/// B's share of the load of a pair whose runs were made at the same moment.
pub(super) fn share_of_b(sides: [&Side<'_>; 2]) -> Option<f64> {
    let [a, b] = sides.map(|side| side.workload.interleaved.as_ref());
    a.zip(b).map(|(_, b)| b.turns.share())
}

/// The load of such a pair, as a share of what is usual in the experiment.
pub(super) fn load(sides: [&Side<'_>; 2]) -> Option<f64> {
    sides[0].workload.interleaved.as_ref().map(|interleaved| interleaved.load)
}

/// Take back what runs at the same moment cannot show.
pub(super) fn apply(
    rules: &Rulebook<'_>,
    pairs: &[JudgedPair],
    metrics: &mut [MetricAnswer],
    findings: &mut Vec<ExperimentFinding>,
    end: &ExperimentEnd,
) {
    if !pairs.iter().any(JudgedPair::is_together) {
        return;
    }
    let times = rules.metrics.iter().filter(|of| of.quantity.is_time()).count();
    // Bonferroni: each may find interference at each look.
    let level = LEVEL / (times.max(1) * rules.looks.at().len().max(1)) as f64;
    let demand = Demand::of(rules, pairs, metrics);
    for (of, found) in rules.metrics.iter().zip(metrics.iter_mut()) {
        let interference = of.quantity.is_time().then(|| Interference::of(pairs, found)).flatten();
        if let Some(finding) = interference.and_then(|interference| interference.finding(found, level)) {
            found.verdict = MetricVerdict::Invalid;
            found.decided_at = None;
            format!("The versions disturb each other ({}).", finding.name).clone_into(&mut found.because);
            findings.push(finding);
            continue;
        }
        let is_small = interference.is_some_and(|interference| interference.is_small(found));
        let limited = Limit::of(rules.together, of, is_small);
        let by_demand =
            demand.as_ref().filter(|_| limited == Some(Limit::Queueing) && found.verdict.excludes_a_change());
        match by_demand.and_then(|demand| demand.verdict(found)) {
            Some((verdict, elasticity)) => {
                found.verdict = verdict;
                found.because.push_str(&format!(
                    " Of 1 % more of the load it grows by at most {elasticity:.1} %, so that the processor time of a request leaves no \
                     larger change alone."
                ));
            }
            None => limit(found, limited, end),
        }
    }
}

/// Why not all is shown that pairs of runs in turn would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    SharedStore,
    NotRestarted,
    Queueing,
}

impl Limit {
    fn of(together: Together, metric: &GateMetric, is_interference_small: bool) -> Option<Limit> {
        match together {
            Together { have_shared_store: true, .. } => Some(Limit::SharedStore),
            Together { are_restarted: false, .. } => Some(Limit::NotRestarted),
            _ if !metric.quantity.is_time() || (together.are_pinned_apart && is_interference_small) => None,
            _ => Some(Limit::Queueing),
        }
    }

    fn allows(self, verdict: MetricVerdict) -> bool {
        match verdict {
            MetricVerdict::Regressed => true,
            MetricVerdict::Improved => self != Limit::SharedStore,
            _ => false,
        }
    }

    fn why(self) -> &'static str {
        match self {
            Limit::SharedStore => {
                "Two versions that use one store slow each other down there: at the same moment only a change for the worse can \
                 be shown."
            }
            Limit::NotRestarted => {
                "The claim is about these two processes: without other starts of the two versions only differences between \
                 them can be shown."
            }
            Limit::Queueing => {
                "Two versions that share processors at the same moment hide queueing: that the time does not change cannot be \
                 shown by it."
            }
        }
    }
}

fn limit(metric: &mut MetricAnswer, limit: Option<Limit>, end: &ExperimentEnd) {
    let Some(limit) = limit else { return };
    if limit.allows(metric.verdict) {
        metric.because.push_str(match limit {
            Limit::Queueing => " Alone it is at least as large.",
            Limit::NotRestarted => " It is about these two processes.",
            Limit::SharedStore => "",
        });
        return;
    }
    let is_over = matches!(
        end,
        ExperimentEnd::LastLook | ExperimentEnd::Futile | ExperimentEnd::Budget | ExperimentEnd::Given
    );
    let is_excluded = matches!(
        metric.verdict,
        MetricVerdict::NoRegression | MetricVerdict::Equivalent | MetricVerdict::Improved
    );
    // More windows may still show a difference.
    if is_excluded || (metric.verdict == MetricVerdict::Inconclusive && is_over) {
        metric.verdict = MetricVerdict::NotShown;
        metric.decided_at = metric.decided_at.filter(|_| is_excluded);
        // Which pairs have no value is part of the reason.
        let gaps =
            if metric.without_value == [0; 2] { String::new() } else { format!(" {}", metric.because) };
        metric.because = format!("{}{gaps}", limit.why());
    }
}

/// How a version's time changes with the other's share of one and the same load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interference {
    /// The change of the logarithm where the other has 60 % of the load instead of 40 %.
    effect: f64,
    error: f64,
    degrees: u32,
}

impl Interference {
    /// From the differences of all windows: of two versions that share no more than processors, both wait as long whoever has
    /// more to do, and a version that waits for itself is slower where its own share is larger. Only where the other's load
    /// weighs more than the own does A become slower, and B faster, with B's share. Windows differ in much, and both arms alike:
    /// so the slope is that of the difference.
    fn of(pairs: &[JudgedPair], metric: &MetricAnswer) -> Option<Interference> {
        let differences = differences(metric)?;
        let shares: Vec<f64> = pairs.iter().map(|pair| pair.share_of_b).collect::<Option<_>>()?;
        if differences.len() != shares.len() || shares.len() <= OF_LINE {
            return None;
        }
        let (mean_share, mean) = (stats::mean(&shares)?, stats::mean(&differences)?);
        let squares: f64 = shares.iter().map(|share| (share - mean_share).powi(2)).sum();
        if squares == 0.0 {
            return None;
        }
        let products = shares.iter().zip(&differences).map(|(x, y)| (x - mean_share) * (y - mean));
        let slope = products.sum::<f64>() / squares;
        let rest =
            shares.iter().zip(&differences).map(|(x, y)| (y - mean - slope * (x - mean_share)).powi(2));
        let degrees = shares.len() - OF_LINE;
        let deviation = (rest.sum::<f64>() / degrees as f64).sqrt();
        // Each of the two has half of the slope, over twice the shift.
        let scale = SHIFT;
        let error = scale * deviation / squares.sqrt();
        Some(Interference { effect: -scale * slope, error, degrees: degrees as u32 })
    }

    fn finding(&self, metric: &MetricAnswer, level: f64) -> Option<ExperimentFinding> {
        let is_shown =
            self.error > 0.0 && stats::t_two_sided(self.effect / self.error, self.degrees) / 2.0 < level;
        (is_shown && self.effect > half_of_margin(metric)).then(|| ExperimentFinding {
            name: "interference".to_owned(),
            severity: Severity::Caution,
            pairs: Vec::new(),
            what: format!(
                "{}: at the same load of both, each version is slower by {:+.1} % where the other has 60 % of it instead of 40 %. \
                 They disturb each other through more than shared processors: locks, the pool of a database, a cache.",
                metric.name,
                100.0 * self.effect.exp_m1()
            ),
            next: "Give each version stores of its own, or let them run in turn (`together = \"never\"`).".to_owned(),
        })
    }

    fn is_small(&self, metric: &MetricAnswer) -> bool {
        let most = self.effect.abs() + stats::t_quantile(1.0 - SMALL / 2.0, self.degrees) * self.error;
        most < half_of_margin(metric)
    }
}

fn half_of_margin(metric: &MetricAnswer) -> f64 {
    match metric.scale {
        EffectScale::Points => metric.margin / 2.0,
        EffectScale::Relative => metric.margin.ln_1p() / 2.0,
    }
}
