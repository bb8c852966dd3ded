//! What one run leaves to the next: a state that is not set back, a cache that stays warm, a queue that is not empty.
//!
//! Three tests of each metric: whether the second run of a pair differs from the first, whichever arm it is; whether it
//! matters which arm ran before; whether both arms change over the session. Only the second favours an arm: orders within pairs
//! are balanced, what ran before a pair is not. Where it matters, a difference is kept only if it
//! is also shown by those pairs in which the same arm ran before both runs.

use evidence::{ExperimentFinding, MetricAnswer, MetricVerdict, PairOrder, Severity};
use stats::Paired;

use super::JudgedPair;

/// The level of each of these tests.
const LEVEL: f64 = 0.01;
/// Pairs of each kind that are needed to compare them.
const FEWEST_OF_A_KIND: usize = 3;
/// Differences are not known more exactly than this.
const LEAST: f64 = 1e-4;

/// Report what is carried over, and take back what it could have caused.
pub(super) fn apply(
    pairs: &[JudgedPair],
    metrics: &mut [MetricAnswer],
    findings: &mut Vec<ExperimentFinding>,
) {
    let is_together = pairs.iter().any(JudgedPair::is_together);
    for metric in metrics {
        if is_together {
            findings.extend(order_effect(pairs, metric).map(|effect| started_first(metric, effect)));
            findings.extend(drift(metric));
            continue;
        }
        findings.extend(order_effect(pairs, metric).map(|effect| second_run(metric, effect)));
        findings.extend(drift(metric));
        if let Some(CarryOver { finding, after_own }) = carry_over(pairs, metric) {
            let may_be_carried = match metric.verdict {
                MetricVerdict::NoRegression | MetricVerdict::Equivalent => true,
                MetricVerdict::Regressed | MetricVerdict::Improved => !is_shown_by(&after_own, metric),
                MetricVerdict::NotShown | MetricVerdict::Inconclusive | MetricVerdict::Invalid => false,
            };
            if may_be_carried {
                metric.verdict = MetricVerdict::Inconclusive;
                metric.decided_at = None;
                metric.because = format!("What ran before matters ({}).", finding.name);
            }
            findings.push(finding);
        }
    }
}

/// That what ran before matters.
struct CarryOver {
    finding: ExperimentFinding,
    /// The differences of the pairs whose first run follows its own arm: the same arm ran before both of their runs.
    after_own: Vec<f64>,
}

/// Whether these differences alone show what the metric's whole effect says, in its direction.
fn is_shown_by(differences: &[f64], metric: &MetricAnswer) -> bool {
    let is_alike = |mean: f64| metric.effect.is_some_and(|effect| effect * mean > 0.0);
    Paired::from_differences(differences, LEAST)
        .is_some_and(|alone| alone.p() < LEVEL && is_alike(alone.mean))
}

/// The differences of a metric, by pair, as they were corrected; none where one has none.
pub(super) fn differences(metric: &MetricAnswer) -> Option<Vec<f64>> {
    let corrected_by = |pair: usize| {
        metric.probe.as_ref().map_or(0.0, |probe| probe.slope * probe.by_pair.get(pair).unwrap_or(&0.0))
    };
    let difference = |[a, b]: &[Option<f64>; 2]| match metric.scale {
        evidence::EffectScale::Points => Some((*b)? - (*a)?),
        evidence::EffectScale::Relative => Some((*b)?.ln() - (*a)?.ln()),
    };
    metric.values.iter().enumerate().map(|(i, sides)| Some(difference(sides)? - corrected_by(i))).collect()
}

/// The margin on the scale of the differences.
fn bound(metric: &MetricAnswer) -> f64 {
    if metric.scale == evidence::EffectScale::Points { metric.margin } else { metric.margin.ln_1p() }
}

/// A difference on the metric's scale, in percent.
fn percent(metric: &MetricAnswer, difference: f64) -> f64 {
    100.0 * if metric.scale == evidence::EffectScale::Points { difference } else { difference.exp_m1() }
}

/// The difference of the means of two kinds of values, where it is shown.
fn shown(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.len() < FEWEST_OF_A_KIND || other.len() < FEWEST_OF_A_KIND {
        return None;
    }
    let p = two_samples(one, other)?;
    let difference = stats::mean(one)? - stats::mean(other)?;
    (p < LEVEL).then_some(difference)
}

/// How far what came second in pairs differs from what came first, where that is shown.
fn order_effect(pairs: &[JudgedPair], metric: &MetricAnswer) -> Option<f64> {
    let all = differences(metric)?;
    let of = |order: PairOrder| -> Vec<f64> {
        pairs.iter().zip(&all).filter(|(pair, _)| pair.order == order).map(|(_, d)| *d).collect()
    };
    let effect = shown(&of(PairOrder::Ab), &of(PairOrder::Ba))? / 2.0;
    (effect.abs() > bound(metric) / 2.0).then_some(effect)
}

/// That what was started second differs from what was started first, though both ran at the same moment.
fn started_first(metric: &MetricAnswer, effect: f64) -> ExperimentFinding {
    ExperimentFinding {
        name: "side-effect".to_owned(),
        severity: Severity::Caution,
        pairs: Vec::new(),
        what: format!(
            "{}: the version that is started second, at the second side if there are sides, differs from the other by {:+.1} %, \
             whichever it is. Both are as often second, so that this favours neither.",
            metric.name,
            percent(metric, effect)
        ),
        next: "Look for what the two sides do not have in common: ports, processors, stores.".to_owned(),
    }
}

/// That what ran second differs from what ran first.
fn second_run(metric: &MetricAnswer, effect: f64) -> ExperimentFinding {
    ExperimentFinding {
        name: "order-effect".to_owned(),
        severity: Severity::Caution,
        pairs: Vec::new(),
        what: format!(
            "{}: the run that comes second in a pair differs from the first by {:+.1} %, whichever arm it is. The order is \
             balanced, so that this does not favour an arm, but something is carried over.",
            metric.name,
            percent(metric, effect)
        ),
        next: "Reset the state before every slot (`reset`), or make slots longer.".to_owned(),
    }
}

/// That a run differs by which arm ran before it. Within a pair that is always the other one, so that only pairs whose first
/// run follows its own arm differ from those whose first run follows the other.
fn carry_over(pairs: &[JudgedPair], metric: &MetricAnswer) -> Option<CarryOver> {
    let all = differences(metric)?;
    let first = |order: PairOrder| order == PairOrder::Ab;
    let (mut after_own, mut after_other) = (Vec::new(), Vec::new());
    for (two, difference) in pairs.windows(2).zip(all.iter().skip(1)) {
        let is_a_before = !first(two[0].order);
        match is_a_before == first(two[1].order) {
            true => after_own.push(*difference),
            false => after_other.push(*difference),
        }
    }
    let effect = shown(&after_own, &after_other)?;
    if effect.abs() <= bound(metric) / 2.0 {
        return None;
    }
    let finding = ExperimentFinding {
        name: "carry-over".to_owned(),
        severity: Severity::Inconclusive,
        pairs: Vec::new(),
        what: format!(
            "{}: a run differs by {:+.1} % where B ran before it instead of A. One arm leaves something to the next run.",
            metric.name,
            percent(metric, effect)
        ),
        next: "Reset the state before every slot (`reset`), and end what an arm leaves running.".to_owned(),
    };
    Some(CarryOver { finding, after_own })
}

/// That both arms change over the session.
fn drift(metric: &MetricAnswer) -> Option<ExperimentFinding> {
    let is_share = metric.scale == evidence::EffectScale::Points;
    let level = |[a, b]: &[Option<f64>; 2]| match is_share {
        true => Some(f64::midpoint((*a)?, (*b)?)),
        false => Some(f64::midpoint((*a)?.ln(), (*b)?.ln())),
    };
    let levels: Vec<f64> = metric.values.iter().map(level).collect::<Option<_>>()?;
    let (early, late) = levels.split_at(levels.len() / 2);
    let change = shown(late, early)?;
    (change.abs() > bound(metric)).then(|| ExperimentFinding {
        name: "session-drift".to_owned(),
        severity: Severity::Caution,
        pairs: Vec::new(),
        what: format!(
            "{}: both arms differ by {:+.1} % between the first half of the pairs and the second. Pairs remove it from the \
             comparison, but a state may grow from slot to slot.",
            metric.name,
            percent(metric, change)
        ),
        next: "Reset the state before every slot (`reset`), or look for what else ran on the machine.".to_owned(),
    })
}

/// The two-sided probability of two means as far apart, if the true ones are equal: Student's t test with the pooled
/// deviation.
fn two_samples(one: &[f64], other: &[f64]) -> Option<f64> {
    let (n, m) = (one.len() as f64, other.len() as f64);
    let squares =
        |values: &[f64]| Some(stats::standard_deviation(values)?.powi(2) * (values.len() - 1) as f64);
    let pooled = (squares(one)? + squares(other)?) / (n + m - 2.0);
    let error = (pooled * (1.0 / n + 1.0 / m)).sqrt();
    let degrees = (one.len() + other.len()).saturating_sub(2) as u32;
    (error > 0.0).then(|| {
        stats::t_two_sided(
            (stats::mean(one).unwrap_or(0.0) - stats::mean(other).unwrap_or(0.0)) / error,
            degrees,
        )
    })
}
