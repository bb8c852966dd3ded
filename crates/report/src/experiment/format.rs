//! The words and numbers that all reports of an experiment share.

use evidence::{EffectScale, ExperimentEnd, ExperimentJudgement, MetricAnswer, MetricVerdict};

use crate::number;

/// The effect, with its sign: `+5.2 %`, `+0.03 pp`.
pub(super) fn effect(metric: &MetricAnswer, effect: f64) -> String {
    let unit = if metric.scale == EffectScale::Points { "pp" } else { "%" };
    let percent = effect * 100.0;
    if percent >= 1_000.0 && metric.scale == EffectScale::Relative {
        return percent_with_sign(effect);
    }
    let digits = match percent.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        _ => 3,
    };
    format!("{percent:+.digits$} {unit}")
}

/// A relative effect, with its sign: `+5.2 %`, `+2,677 %`.
pub(super) fn percent_with_sign(effect: f64) -> String {
    match effect * 100.0 {
        large if large >= 1_000.0 => format!("+{} %", number::count(large.round() as u64)),
        percent => format!("{percent:+.1} %"),
    }
}

/// The effect; `–` without one.
pub(super) fn effect_or_none(metric: &MetricAnswer) -> String {
    number::or_not_measured(metric.effect, |of| effect(metric, of))
}

/// The interval: `+1.0 to +3.1 %`.
pub(super) fn interval(metric: &MetricAnswer) -> String {
    number::or_not_measured(metric.interval, |(low, high)| {
        let (low, high) = (effect(metric, low), effect(metric, high));
        let low = low.rsplit_once(' ').map_or(low.as_str(), |(number, _)| number);
        format!("{low} to {high}")
    })
}

/// The same with how often an end is wrong: `+1.0 to +3.1 % (each end wrong in at most 0.25 %)`.
pub(super) fn interval_with_level(metric: &MetricAnswer) -> String {
    let interval = interval(metric);
    match metric.interval_end_error {
        Some(error) => format!("{interval} (each end wrong in at most {})", number::percent(error, 1.0)),
        None => interval,
    }
}

/// The margin, without a sign.
pub(super) fn margin(metric: &MetricAnswer) -> String {
    effect(metric, metric.margin).trim_start_matches('+').to_owned()
}

/// Whether its verdict is that it changed.
fn is_changed(metric: &MetricAnswer) -> bool {
    matches!(metric.verdict, MetricVerdict::Regressed | MetricVerdict::Improved)
}

/// The smallest effect that would have been found; `–` where one was.
pub(super) fn smallest_detectable(metric: &MetricAnswer) -> String {
    if is_changed(metric) { number::NOT_MEASURED.to_owned() } else { smallest_visible(metric) }
}

fn smallest_visible(metric: &MetricAnswer) -> String {
    number::or_not_measured(metric.smallest_visible, |smallest| {
        effect(metric, smallest).trim_start_matches('+').to_owned()
    })
}

/// The standard deviation of the pairs.
pub(super) fn deviation(metric: &MetricAnswer) -> String {
    number::or_not_measured(metric.deviation, |deviation| {
        effect(metric, deviation).trim_start_matches('+').to_owned()
    })
}

/// A value of one side.
pub(super) fn value(metric: &MetricAnswer, value: Option<f64>) -> String {
    match metric.scale {
        EffectScale::Points => number::or_not_measured(value, |share| number::percent(share, 1.0)),
        EffectScale::Relative if value.is_none() => number::or_not_measured(value, |_| String::new()),
        EffectScale::Relative => number::with_unit(value, &metric.unit),
    }
}

/// A probability: `0.0031`, `<0.0001`.
pub(super) fn probability(p: Option<f64>) -> String {
    number::or_not_measured(p, |p| if p < 0.000_1 { "<0.0001".to_owned() } else { format!("{p:.4}") })
}

/// What it rests on.
pub(super) fn basis(judgement: &ExperimentJudgement) -> String {
    let looks: Vec<String> = judgement.looks.iter().map(u32::to_string).collect();
    let level = judgement.level * 100.0;
    format!(
        "{} pairs; looks after {}; the chance of any false alarm in all metrics and looks is at most {level} %. {}",
        judgement.pairs,
        looks.join(", "),
        end(&judgement.end)
    )
}

pub(crate) fn end(end: &ExperimentEnd) -> String {
    match end {
        ExperimentEnd::Decided => "It ended as soon as its verdict was decided.".to_owned(),
        ExperimentEnd::LastLook => "It ended with the last look.".to_owned(),
        ExperimentEnd::Futile => "It ended because more pairs were not likely to decide it.".to_owned(),
        ExperimentEnd::Complete => "It is complete.".to_owned(),
        ExperimentEnd::Budget => "It ended with its budget.".to_owned(),
        ExperimentEnd::Interrupted => "It was interrupted.".to_owned(),
        ExperimentEnd::Broken(why) => format!("It could not go on: {why}"),
        ExperimentEnd::Given => "The runs were made elsewhere.".to_owned(),
    }
}

/// What could have been seen, where that is worse than the margin and nothing was seen.
pub(super) fn too_coarse(metric: &MetricAnswer) -> Option<String> {
    let is_open = !is_changed(metric) && metric.verdict != MetricVerdict::Invalid;
    let smallest = metric.smallest_visible.filter(|_| is_open)?;
    let (detectable, margin) = (smallest_visible(metric), margin(metric));
    let text = match metric.medians {
        [Some(0.0), Some(0.0)] => format!(
            "{}: 0 in A and in B. With so few requests a change below {detectable} would not be found with 95 % \
             probability; the margin is {margin}. More pairs, longer slots or a higher rate detect less.",
            metric.name,
        ),
        _ => format!(
            "{}: pairs vary by {} (standard deviation), so that a change below {detectable} would not be found with 95 % \
             probability; the margin is {margin}. More pairs, longer slots or a quieter machine detect less.",
            metric.name,
            effect(metric, metric.deviation.unwrap_or_default()).trim_start_matches('+'),
        ),
    };
    (smallest > metric.margin).then_some(text)
}
