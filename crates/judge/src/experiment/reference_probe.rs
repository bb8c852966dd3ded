//! The reference probe as a covariate: how much slower the machine was in B's run than in A's, taken out of a difference.
//!
//! The probe does the same work in each run, so that its processor time says how fast the machine was: its frequency, its neighbours on
//! a core and in the caches. How much of that change a metric has is a slope that is fixed before the experiment, by pairs
//! of A against A, so that the corrected differences have the same mean as the others and the test keeps its level. A version that
//! makes the machine itself slower would be excused by it; where the probe differs between the arms, only what the correction makes
//! smaller stands.

use evidence::{ExperimentFinding, MetricAnswer, MetricVerdict, ProbeCorrection, ProbeGain, Severity};
use stats::Paired;
use workload::experiment::GateMetric;

use super::JudgedPair;
use super::differences::Differences;

/// Fewer pairs do not know a slope.
pub const FEWEST_PROBED_PAIRS: u32 = 8;
/// The deviation with the probe, as a share of that without it, below which its upper limit must be.
const WORTH: f64 = 0.9;
/// The confidence of that limit, one-sided.
const CONFIDENCE: f64 = 0.8;
/// The level of the test for a probe that differs between the arms.
const LEVEL: f64 = 0.01;

/// What the probe would take out of the differences of pairs of A against A; `of_probe` are those of the probe. None for too few pairs, and
/// where one has no difference.
///
/// The slope is that of least squares through the origin: a coin decides which run is A, so that neither has a mean. Each difference is
/// corrected by the slope of the other pairs, since one that is fitted to itself would look better than the next.
pub fn probe_gain(differences: &[f64], of_probe: &[f64]) -> Option<ProbeGain> {
    let are_enough = differences.len() >= FEWEST_PROBED_PAIRS as usize && differences.len() == of_probe.len();
    let is_known = differences.iter().chain(of_probe).all(|value| value.is_finite());
    if !are_enough || !is_known {
        return None;
    }
    let product: f64 = differences.iter().zip(of_probe).map(|(d, p)| d * p).sum();
    let square: f64 = of_probe.iter().map(|p| p * p).sum();
    let without = |(d, p): (&f64, &f64)| {
        let left = square - p * p;
        (left > 0.0).then(|| d - (product - d * p) / left * p)
    };
    let corrected: Vec<f64> = differences.iter().zip(of_probe).map(without).collect::<Option<_>>()?;
    let slope = product / square;
    let ratio_limit = stats::deviation_ratio_limit(differences, &corrected, CONFIDENCE)?;
    Some(ProbeGain {
        slope,
        deviation: stats::standard_deviation(&corrected)?,
        ratio_limit,
        // A slower machine makes nothing cheaper.
        is_enough: ratio_limit < WORTH && slope > 0.0,
    })
}

/// How much slower the probe was in B's run than in A's, as logarithms.
pub(super) fn changes([a, b]: [Vec<Option<f64>>; 2]) -> Vec<Option<f64>> {
    a.into_iter().zip(b).map(|(a, b)| Some((b? / a?).ln())).collect()
}

/// The same of one metric in all pairs; none unless each has one.
pub(super) fn of_pairs(pairs: &[JudgedPair], metric: usize) -> Option<Vec<f64>> {
    pairs.iter().map(|pair| pair.probe.get(metric).copied().flatten()).collect()
}

/// Take the probe's part out of `differences`.
pub(super) fn correct(differences: &mut Differences, slope: f64, by_pair: Vec<f64>) -> ProbeCorrection {
    let uncorrected = differences.paired();
    for values in std::iter::once(&mut differences.values).chain(&mut differences.without_lag) {
        values.iter_mut().zip(&by_pair).for_each(|(value, change)| *value -= slope * change);
    }
    ProbeCorrection {
        slope,
        by_pair,
        uncorrected_effect: uncorrected.map(|paired| paired.mean.exp_m1()),
        uncorrected_deviation: uncorrected.map(|paired| paired.deviation),
    }
}

/// What a correction changed, in a sentence.
pub(super) fn sentence(correction: &ProbeCorrection) -> Option<String> {
    let (effect, deviation) = (correction.uncorrected_effect?, correction.uncorrected_deviation?);
    Some(format!(
        "Corrected by {:.2} of the change of the reference probe; without it the effect is {:+.1} % and pairs vary by {:.1} %.",
        correction.slope,
        effect * 100.0,
        deviation * 100.0
    ))
}

/// Report probes that are missing or differ between the arms, and take back what such a correction could have made.
pub(super) fn apply(
    asked: &[GateMetric],
    metrics: &mut [MetricAnswer],
    findings: &mut Vec<ExperimentFinding>,
) {
    let finding = |name: &str, severity, what: String, next: &str| ExperimentFinding {
        name: name.to_owned(),
        severity,
        pairs: Vec::new(),
        what,
        next: next.to_owned(),
    };
    for (asked, metric) in asked.iter().zip(metrics) {
        if asked.probe_slope.is_none() || metric.verdict == MetricVerdict::Invalid {
            continue;
        }
        let Some(correction) = &metric.probe else {
            let what =
                format!("{}: not corrected, because a run has no value of the reference probe.", metric.name);
            let next = "Look for what ended the probe: a run shorter than a second, or no processor time.";
            findings.push(finding("probe-missing", Severity::Caution, what, next));
            continue;
        };
        let Some(slower) = Paired::from_differences(&correction.by_pair, 0.0)
            .filter(|paired| paired.pairs >= stats::looks::FEWEST_PAIRS && paired.p() < LEVEL)
        else {
            continue;
        };
        let what = format!(
            "{}: the reference probe is {:+.1} % slower beside B than beside A, so that B may change how fast the machine is.",
            metric.name,
            slower.mean.exp_m1() * 100.0
        );
        let next = "Compare without the correction: `probe = \"off\"` in `[design]`.";
        findings.push(finding("probe-differs", Severity::Inconclusive, what, next));
        let is_larger_without = metric.effect.is_some_and(|effect| effect * slower.mean > 0.0);
        let is_change = matches!(metric.verdict, MetricVerdict::Regressed | MetricVerdict::Improved);
        if !(is_change && is_larger_without) {
            (metric.verdict, metric.decided_at) = (MetricVerdict::Inconclusive, None);
            "The reference probe differs between the arms (probe-differs).".clone_into(&mut metric.because);
        }
    }
}

#[cfg(test)]
mod tests;
