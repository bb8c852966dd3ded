//! Whether more pairs are likely to decide an experiment.

use evidence::{MetricAnswer, MetricVerdict};
use workload::experiment::GateMetric;

use super::Rulebook;
use super::decide::Bounds;
use super::signs::Signs;

/// Below this chance of an answer at the last look it is not worth to go on.
const FUTILE: f64 = 0.10;

/// Whether it is worth to go on after the pairs so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Futility {
    /// More pairs may decide it.
    WorthIt,
    /// The chance that the last look decides is below a tenth.
    Futile,
}

/// Whether the pairs still to come are likely to decide what is open: the chance of an answer at the last look, if the effect
/// and the deviation are as they seem now. To stop for this costs no level, since it makes no claim.
pub fn futility(rules: &Rulebook<'_>, answers: &[MetricAnswer]) -> Futility {
    let chances = rules.metrics.iter().zip(answers).filter_map(|(metric, answer)| {
        let is_open = matches!(answer.verdict, MetricVerdict::Inconclusive | MetricVerdict::Invalid);
        is_open.then(|| chance(rules, metric, answer))
    });
    let (mut any_shown, mut all_answered) = (0.0_f64, 1.0_f64);
    // Where nothing that is open is left, and what is not shown is all that decides, more pairs change nothing.
    let is_any = |verdict: MetricVerdict| answers.iter().any(|answer| answer.verdict == verdict);
    let is_none_open = is_any(MetricVerdict::NotShown)
        && !is_any(MetricVerdict::Inconclusive)
        && !is_any(MetricVerdict::Invalid);
    for (shown, answered) in chances {
        any_shown = any_shown.max(shown);
        all_answered = all_answered.min(answered);
    }
    match is_none_open || (any_shown < FUTILE && all_answered < FUTILE) {
        true => Futility::Futile,
        false => Futility::WorthIt,
    }
}

/// The chance that a regression of this metric is shown at the last look, and that it has any answer.
fn chance(rules: &Rulebook<'_>, metric: &GateMetric, answer: &MetricAnswer) -> (f64, f64) {
    if answer.without_value != [0; 2] {
        return chance_of_signs(rules, answer);
    }
    let of_window = answer.effect.zip(answer.deviation);
    let (shown, answered) = of_window
        .map_or((0.0, 0.0), |(effect, deviation)| chance_of(rules, metric, answer, effect, deviation));
    // Seconds exclude nothing.
    let of_seconds = answer.by_second.map(|seconds| (seconds.effect, seconds.deviation));
    let (by_second, _) = of_seconds
        .map_or((0.0, 0.0), |(effect, deviation)| chance_of(rules, metric, answer, effect, deviation));
    (shown.max(by_second), answered.max(by_second))
}

fn chance_of(
    rules: &Rulebook<'_>,
    metric: &GateMetric,
    answer: &MetricAnswer,
    effect: f64,
    deviation: f64,
) -> (f64, f64) {
    if deviation <= 0.0 {
        return (0.0, 0.0);
    }
    let last = f64::from(rules.looks.last());
    let bounds = Bounds::for_metric(metric);
    let mean = bounds.sign * if metric.quantity.is_share() { effect } else { effect.ln_1p() };
    let left = last - f64::from(answer.pairs);
    // The mean of all pairs, of which those so far are known.
    let spread = (deviation * left.max(0.0).sqrt() / last).max(f64::MIN_POSITIVE);
    let error = deviation / last.sqrt();
    let degrees = rules.looks.last().saturating_sub(1);
    let nominal = rules.looks.nominal(rules.levels.alarm / rules.metrics.len().max(1) as f64);
    let needed = stats::t_quantile(1.0 - nominal / 2.0, degrees) * error;
    let within = bounds.above
        - stats::t_quantile(1.0 - rules.looks.one_sided(rules.levels.exclusion), degrees) * error;
    let shown = stats::normal_below((mean - needed) / spread);
    let improved = stats::normal_below((-mean - needed) / spread);
    let excluded = stats::normal_below((within - mean) / spread);
    (shown, shown.max(improved).max(excluded))
}

/// The same of a metric of which runs have no value: whether as many more, in the same proportion, show that one arm collapses.
fn chance_of_signs(rules: &Rulebook<'_>, answer: &MetricAnswer) -> (f64, f64) {
    let last = rules.looks.last();
    let at_last = answer.without_value.map(|runs| runs * last / answer.pairs.max(1));
    let collapses =
        Signs::count((0..last).map(|at| if at < at_last[1] { f64::INFINITY } else { 0.0 }), answer.margin);
    let is_shown = rules.looks.level(collapses.p()) <= rules.levels.alarm / rules.metrics.len().max(1) as f64;
    let shown = if is_shown && at_last[1] > at_last[0] { 1.0 } else { 0.0 };
    (shown, shown)
}
