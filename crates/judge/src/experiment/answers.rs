//! The answer to each metric in words and numbers, from the decision on it.

use evidence::{BySecond, EffectScale, MetricAnswer, MetricVerdict, ProbeCorrection};
use stats::Paired;
use workload::experiment::GateMetric;

use super::Rulebook;
use super::decide::{Bounds, Compared, DecidingInterval, Decision, EQUIVALENCE_PAIRS, decisions, scale};
use super::detectable::{KnownDeviation, POWER};
use super::differences::{Differences, NoDifferences};
use super::reference_probe;
use super::slot::SlotValue;

/// The probability with which bad starts that are as frequent as a report says would have been seen.
const SEEN: f64 = 0.95;
/// Why a metric is open that would be answered if every request had started in time.
const LAG_HIDES: &str = "Both arms had high start lag, which could hide a change larger than the margin. Give the generator a dedicated core.";
/// Signs are flipped from so many pairs on; before, no pattern is unlikely enough.
const SIGN_FLIP_PAIRS: usize = 8;
/// What decides where the whole window does not.
const BY_SECOND: &str = "The effect is the median of the seconds, which neighbours that come and go move less than the whole window.";

/// The answer to each metric of an experiment, from its values by pair.
pub(super) fn answers(
    rules: &Rulebook<'_>,
    values: &[Vec<[SlotValue; 2]>],
    by_second: &[Option<Vec<f64>>],
    probe: &[Option<Vec<f64>>],
) -> Vec<MetricAnswer> {
    let mut differences: Vec<Result<Differences, NoDifferences>> = rules
        .metrics
        .iter()
        .zip(values)
        .map(|(metric, pairs)| Differences::from_pairs(metric, pairs))
        .collect();
    let corrections =
        rules.metrics.iter().zip(probe).zip(&mut differences).map(|((metric, probe), found)| {
            let (found, slope, probe) = (found.as_mut().ok()?, metric.probe_slope?, probe.clone()?);
            Some(reference_probe::correct(found, slope, probe))
        });
    let corrections: Vec<Option<ProbeCorrection>> = corrections.collect();
    let compared = rules.metrics.iter().zip(&differences).map(|(metric, found)| {
        let Differences { values, without_lag, least, .. } = found.as_ref().ok()?;
        let without_lag = without_lag.as_deref();
        Some(Compared { bounds: Bounds::for_metric(metric), differences: values, without_lag, least: *least })
    });
    let mut inputs: Vec<Option<Compared<'_>>> = compared.collect();
    // Each is a test of its own, so that it takes its part of the level.
    for (at, seconds) in by_second.iter().enumerate() {
        let (Some(seconds), Some(Some(window))) = (seconds, inputs.get(at).copied()) else { continue };
        inputs.push(Some(Compared { differences: seconds, without_lag: None, ..window }));
    }
    let tests = inputs.len();
    let mut decisions = decisions(rules.looks, rules.levels, &inputs);
    let mut of_seconds = decisions.split_off(rules.metrics.len()).into_iter();
    // In standard deviations it is the same for every metric.
    let nominal = rules.looks.nominal(rules.levels.alarm / tests.max(1) as f64);
    let smallest = stats::smallest_effect(1.0, rules.looks.last(), nominal, POWER);
    let mut answers = Vec::new();
    for (((index, differences), window), correction) in
        differences.into_iter().enumerate().zip(decisions).zip(corrections)
    {
        let seconds = by_second.get(index).and_then(Option::as_ref).filter(|_| differences.is_ok());
        let seconds = seconds.and_then(|differences| Some((differences.as_slice(), of_seconds.next()?)));
        let of = MetricPairs { metric: &rules.metrics[index], values: &values[index], differences, smallest };
        let mut answer = answer(rules, of, window);
        if let Some(correction) = correction {
            let sentence = reference_probe::sentence(&correction);
            answer.because = [answer.because, sentence.unwrap_or_default()].join(" ").trim_end().to_owned();
            answer.probe = Some(correction);
        }
        if let Some((differences, decision)) = seconds {
            add_seconds(&mut answer, differences, decision, rules, smallest);
        }
        answers.push(answer);
    }
    answers
}

struct MetricPairs<'a> {
    metric: &'a GateMetric,
    values: &'a [[SlotValue; 2]],
    differences: Result<Differences, NoDifferences>,
    /// The smallest visible effect, in standard deviations.
    smallest: f64,
}

fn answer(rules: &Rulebook<'_>, of: MetricPairs<'_>, decision: Decision) -> MetricAnswer {
    let MetricPairs { metric, values, differences, smallest } = of;
    let scale = scale(metric);
    let side = |side: usize| {
        let known: Vec<f64> = values.iter().filter_map(|pair| pair[side].known().ok()).collect();
        stats::quantile(&known, 0.5)
    };
    let mut answer = MetricAnswer {
        name: metric.name.clone(),
        of: metric.source.clone(),
        unit: metric.quantity.unit().to_owned(),
        scale,
        is_better_higher: metric.is_better_higher,
        margin: metric.margin,
        verdict: decision.verdict,
        because: String::new(),
        decided_at: decision.decided_at,
        pairs: values.len() as u32,
        medians: [side(0), side(1)],
        effect: None,
        interval: None,
        interval_end_error: None,
        p: None,
        sign_flip: None,
        deviation: None,
        smallest_visible: None,
        without_value: [0, 1]
            .map(|side| values.iter().filter(|pair| pair[side].known().is_err()).count() as u32),
        values: values.iter().map(|[a, b]| [a.known().ok(), b.known().ok()]).collect(),
        by_second: None,
        probe: None,
    };
    let differences = match differences {
        Ok(differences) => differences,
        Err(why) => {
            (answer.verdict, answer.decided_at, answer.because) =
                (MetricVerdict::Invalid, None, why.to_string());
            return answer;
        }
    };
    answer.p = (answer.pairs >= rules.looks.at()[0]).then_some(decision.adjusted);
    if let Some(paired) = differences.paired() {
        let shown =
            |difference: f64| if scale == EffectScale::Points { difference } else { difference.exp_m1() };
        let interval = decision.interval;
        answer.effect = Some(shown(interval.map_or(paired.mean, |interval| interval.mean)));
        answer.interval = interval.map(|DecidingInterval { mean, half_width, .. }| {
            (shown(mean - half_width), shown(mean + half_width))
        });
        answer.interval_end_error = interval.map(|interval| interval.end_error);
        answer.deviation = Some(paired.deviation);
        let limit = paired.deviation * KnownDeviation::uncertainty(paired.pairs);
        answer.smallest_visible = Some(shown(smallest * limit));
        let values = &differences.values;
        answer.sign_flip = (values.len() >= SIGN_FLIP_PAIRS).then(|| stats::sign_flip(values));
    }
    answer.because = match answer.verdict {
        MetricVerdict::Inconclusive if decision.is_hidden_by_lag => LAG_HIDES.to_owned(),
        _ => because(rules, &answer),
    };
    if let Some(gaps) = differences.gaps {
        answer.because = format!("{} {gaps} Signs of all pairs decide.", answer.because);
    }
    answer
}

fn because(rules: &Rulebook<'_>, answer: &MetricAnswer) -> String {
    let (first, level) = (rules.looks.at()[0], rules.levels.alarm * 100.0);
    let excluded = 100.0 - rules.levels.exclusion * 100.0;
    let direction = |effect: f64| if (effect > 0.0) == answer.is_better_higher { "better" } else { "worse" };
    let shown = answer.p.is_some_and(|p| p <= rules.levels.alarm);
    let small = || match answer.effect {
        Some(effect) if shown && effect != 0.0 => format!(" It is {} by less.", direction(effect)),
        _ => String::new(),
    };
    match answer.verdict {
        MetricVerdict::Regressed => format!(
            "A difference is shown at {level} % for all metrics together, and it may exceed the margin."
        ),
        MetricVerdict::Improved => format!("A difference is shown at {level} % for all metrics together."),
        MetricVerdict::NoRegression if is_as_good_as_equivalent(answer) => format!(
            "A change beyond the margin in either direction is excluded at {excluded} %; EQUIVALENT takes {EQUIVALENCE_PAIRS} \
             pairs.{} {}",
            small(),
            rare_bad_starts(answer.pairs)
        ),
        MetricVerdict::NoRegression => format!(
            "A change for the worse beyond the margin is excluded at {excluded} %.{} {}",
            small(),
            rare_bad_starts(answer.pairs)
        ),
        MetricVerdict::Equivalent => format!(
            "A change beyond the margin in either direction is excluded at {excluded} %.{} {}",
            small(),
            rare_bad_starts(answer.pairs)
        ),
        MetricVerdict::Inconclusive if answer.pairs < first => {
            format!("{} of {first} pairs for the first look.", answer.pairs)
        }
        MetricVerdict::Inconclusive => {
            "The evidence shows neither a difference beyond the margin nor that there is none.".to_owned()
        }
        MetricVerdict::NotShown | MetricVerdict::Invalid => String::new(),
    }
}

/// What a mean over so many pairs leaves open.
fn rare_bad_starts(pairs: u32) -> String {
    let share = 1.0 - (1.0 - SEEN).powf(1.0 / f64::from(pairs.max(1)));
    format!("Not excluded: bad starts of B in up to {:.0} % of its runs.", share * 100.0)
}

/// Whether only the number of pairs kept the answer from being EQUIVALENT.
fn is_as_good_as_equivalent(answer: &MetricAnswer) -> bool {
    let lowest = match answer.scale {
        EffectScale::Points => -answer.margin,
        EffectScale::Relative => (-answer.margin.ln_1p()).exp_m1(),
    };
    let is_early = answer.decided_at.is_some_and(|pairs| pairs < EQUIVALENCE_PAIRS);
    is_early && answer.interval.is_some_and(|(low, high)| low > lowest && high < answer.margin)
}

/// Add what the seconds show; where the whole window is open, a difference that they show is one. `smallest` is the smallest visible
/// effect, in standard deviations.
fn add_seconds(
    answer: &mut MetricAnswer,
    differences: &[f64],
    decision: Decision,
    rules: &Rulebook<'_>,
    smallest: f64,
) {
    let Some(paired) = Paired::from_differences(differences, 0.0) else { return };
    let decides = matches!(
        (answer.verdict, decision.verdict),
        (MetricVerdict::Inconclusive, MetricVerdict::Regressed | MetricVerdict::Improved)
            | (MetricVerdict::NoRegression, MetricVerdict::Improved)
    );
    let (effect, deviation) = (paired.mean.exp_m1(), paired.deviation);
    answer.by_second = Some(BySecond { effect, deviation, decides });
    let visible = (smallest * deviation * KnownDeviation::uncertainty(paired.pairs)).exp_m1();
    answer.smallest_visible = Some(answer.smallest_visible.map_or(visible, |window| window.min(visible)));
    if !decides {
        return;
    }
    (answer.verdict, answer.decided_at) = (decision.verdict, decision.decided_at);
    answer.p = Some(decision.adjusted);
    if let Some(DecidingInterval { mean, half_width, end_error }) = decision.interval {
        answer.effect = Some(mean.exp_m1());
        answer.interval = Some(((mean - half_width).exp_m1(), (mean + half_width).exp_m1()));
        answer.interval_end_error = Some(end_error);
    }
    answer.because = format!("{} {BY_SECOND}", because(rules, answer));
}
