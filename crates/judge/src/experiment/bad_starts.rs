//! Starts of B that are bad: a mean over few pairs is moved little by what happens to one start in twenty. Whether they are rare enough
//! is asked of their number, with a definition of a bad start that is fixed before the first pair.

use evidence::{EffectScale, MetricAnswer, MetricVerdict};
use stats::share_limits;
use workload::experiment::{BadStarts, GateMetric};

use super::Rulebook;
use super::slot::SlotValue;

/// What it is called among metrics.
const NAME: &str = "bad_starts";
/// A share of requests is never bad for less than this.
const LEAST_POINTS: f64 = 0.01;

/// Whether a start is bad; none where that is not known.
type IsBad = Option<bool>;

/// The fewest pairs that can pass, of which no start of B is bad.
pub fn fewest_good_starts(asked: BadStarts, exclusion: f64) -> u64 {
    stats::fewest_without(asked.at_most, 1.0 - exclusion)
}

/// The answer from the values of all metrics by pair.
pub(super) fn answer(rules: &Rulebook<'_>, asked: BadStarts, values: &[Vec<[SlotValue; 2]>]) -> MetricAnswer {
    let pairs = values.first().map_or(0, Vec::len);
    let starts: Vec<[IsBad; 2]> =
        (0..pairs).map(|pair| [0, 1].map(|side| is_bad(rules, asked, values, [pair, side]))).collect();
    let share = |side: usize| {
        let bad = starts.iter().filter(|start| start[side] == Some(true)).count();
        (pairs > 0).then(|| bad as f64 / pairs as f64)
    };
    let (verdict, decided_at) = decide(rules, asked, &starts);
    let limits = |confidence: f64| share_limits(bad(&starts, false), pairs as f64, confidence).lower;
    let confidence = 1.0 - rules.levels.exclusion;
    let upper = share_limits(bad(&starts, true), pairs as f64, confidence).upper;
    let known = |is_bad: IsBad| is_bad.map(|is_bad| if is_bad { 1.0 } else { 0.0 });
    MetricAnswer {
        name: NAME.to_owned(),
        of: format!("starts of B worse than A's median by more than {} %", asked.worse_by * 100.0),
        unit: String::new(),
        scale: EffectScale::Points,
        is_better_higher: false,
        margin: asked.at_most,
        verdict,
        because: because(rules, asked, verdict, upper),
        decided_at,
        pairs: pairs as u32,
        medians: [share(0), share(1)],
        effect: share(1),
        interval: (pairs > 0).then(|| (limits(confidence), upper)),
        interval_end_error: (pairs > 0).then_some(rules.levels.exclusion),
        p: None,
        sign_flip: None,
        deviation: None,
        smallest_visible: None,
        without_value: [0, 1].map(|side| starts.iter().filter(|start| start[side].is_none()).count() as u32),
        values: starts.iter().map(|start| start.map(known)).collect(),
        by_second: None,
        probe: None,
    }
}

/// Too many are shown at any look, at the level of one of all metrics; few enough only at the last one, once.
fn decide(rules: &Rulebook<'_>, asked: BadStarts, starts: &[[IsBad; 2]]) -> (MetricVerdict, Option<u32>) {
    let level = rules.looks.nominal(rules.levels.alarm / (rules.metrics.len() + 1) as f64) / 2.0;
    for look in rules.looks.at() {
        let Some(starts) = starts.get(..*look as usize) else { break };
        if share_limits(bad(starts, false), starts.len() as f64, 1.0 - level).lower > asked.at_most {
            return (MetricVerdict::Regressed, Some(*look));
        }
    }
    let last = rules.looks.last();
    let few = |starts: &[[IsBad; 2]]| {
        let confidence = 1.0 - rules.levels.exclusion;
        share_limits(bad(starts, true), starts.len() as f64, confidence).upper <= asked.at_most
    };
    match starts.get(..last as usize).is_some_and(few) {
        true => (MetricVerdict::NoRegression, Some(last)),
        false => (MetricVerdict::Inconclusive, None),
    }
}

/// How many starts of B are bad; `at_most` counts those of which it is not known, too.
fn bad(starts: &[[IsBad; 2]], at_most: bool) -> f64 {
    starts.iter().filter(|[_, b]| b.unwrap_or(at_most)).count() as f64
}

/// Whether a run, at its pair and side, is bad by any metric.
fn is_bad(rules: &Rulebook<'_>, asked: BadStarts, values: &[Vec<[SlotValue; 2]>], at: [usize; 2]) -> IsBad {
    let [pair, side] = at;
    let of = |(metric, values): (&GateMetric, &Vec<[SlotValue; 2]>)| {
        let baseline: Vec<f64> = values.iter().filter_map(|[a, _]| a.known().ok()).collect();
        let median = stats::quantile(&baseline, 0.5)?;
        match values.get(pair).map(|sides| &sides[side])? {
            SlotValue::Known { value, .. } => Some(is_worse(metric, asked, [median, *value])),
            SlotValue::Infinite => Some(true),
            SlotValue::Missing(_) => None,
        }
    };
    let all: Vec<IsBad> = rules.metrics.iter().zip(values).map(of).collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false => all.into_iter().collect::<Option<Vec<bool>>>().map(|_| false),
    }
}

fn is_worse(metric: &GateMetric, asked: BadStarts, [median, value]: [f64; 2]) -> bool {
    let sign = if metric.is_better_higher { -1.0 } else { 1.0 };
    match metric.quantity.is_share() {
        true => sign * (value - median) > asked.worse_by.min(metric.margin.max(LEAST_POINTS)),
        false => sign * (value.ln() - median.ln()) > asked.worse_by.ln_1p(),
    }
}

fn because(rules: &Rulebook<'_>, asked: BadStarts, verdict: MetricVerdict, upper: f64) -> String {
    let (at_most, excluded) = (asked.at_most * 100.0, 100.0 - rules.levels.exclusion * 100.0);
    match verdict {
        MetricVerdict::Regressed => format!("More than {at_most} % of B's starts are bad."),
        MetricVerdict::NoRegression => {
            format!(
                "Bad starts of B in more than {:.1} % of its runs are excluded at {excluded} %.",
                upper * 100.0
            )
        }
        _ => format!(
            "Bad starts of B in more than {at_most} % of its runs are neither shown nor excluded, which takes the last look, after {} \
             pairs.",
            rules.looks.last()
        ),
    }
}
