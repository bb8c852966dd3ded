//! The answer to each metric from the differences of its pairs.
//!
//! Pure numbers: times and costs are compared by the logarithm of their ratio, shares of requests, which may be 0, by their
//! difference. A difference is shown by Student's t test at looks whose nominal level keeps the chance of any false alarm
//! over all looks, and by Holm's procedure over all metrics; that there is none by the interval, which lies within the margin.

use evidence::{EffectScale, MetricAnswer, MetricVerdict};
use stats::{Looks, Paired};
use workload::experiment::GateMetric;

use super::Rulebook;
use super::by_second;
use super::detectable::{KnownDeviation, POWER};
use super::differences::{Differences, NoDifferences};
use super::signs::Signs;
use super::slot::SlotValue;

/// Signs are flipped from so many pairs on; before, no pattern is unlikely enough.
const SIGN_FLIP_PAIRS: usize = 8;
/// Before so many pairs nothing is equivalent: a mean of a few pairs shows nothing of what happens to few starts.
const EQUIVALENCE_PAIRS: u32 = 10;
/// The probability with which bad starts that are as frequent as a report says would have been seen.
const SEEN: f64 = 0.95;
/// Why a metric is open that would be answered if every request had started in time.
const LAG_HIDES: &str = "Both arms had high start lag, which could hide a change larger than the margin. Give the generator a dedicated core.";

/// The chances of being wrong, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// Of any false alarm in all metrics and looks.
    pub alarm: f64,
    /// Of excluding a change that is as large as the margin, for each metric over all looks.
    pub exclusion: f64,
}

impl Levels {
    /// The level of an experiment, whose exclusions hold at 95 %.
    pub fn for_alarm(alarm: f64) -> Levels {
        Levels { alarm, exclusion: 0.05 }
    }
}

/// What is known of one metric at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The answer.
    pub verdict: MetricVerdict,
    /// After how many pairs it was given; none where there is none.
    pub decided_at: Option<u32>,
    /// The lowest level over all looks at which a difference is shown, before it is adjusted for other metrics.
    level: f64,
    /// The same, adjusted.
    pub adjusted: f64,
    /// Whether at the last look a change beyond the margin is excluded only if requests were not late alike in both arms.
    pub is_hidden_by_lag: bool,
    /// The pairs up to the look with the lowest level; none where it was decided by signs.
    strongest: Option<Paired>,
    /// The interval that decides; none before the first look, and where a pair has no difference.
    pub interval: Option<DecidingInterval>,
}

/// The interval of a mean difference whose ends decide, on the scale of the differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecidingInterval {
    /// The mean difference.
    pub mean: f64,
    /// How far each end lies from the mean.
    pub half_width: f64,
    /// The highest probability that a given end is wrong, over all looks.
    pub end_error: f64,
}

const OPEN: Decision = Decision {
    verdict: MetricVerdict::Inconclusive,
    decided_at: None,
    level: 1.0,
    adjusted: 1.0,
    is_hidden_by_lag: false,
    strongest: None,
    interval: None,
};

impl Decision {
    /// The interval by which a verdict was decided at a look: for what is excluded that of the exclusion, for a difference that of its
    /// test. Without an answer it is that of the test of one of `metrics` by Bonferroni's correction, which is not narrower than Holm's.
    fn interval(
        &self,
        seen: &Seen,
        looks: &Looks,
        levels: Levels,
        metrics: usize,
    ) -> Option<DecidingInterval> {
        let Seen::Mean { paired: seen, .. } = seen else { return None };
        let of = |paired: &Paired, one_sided: f64, end_error: f64| DecidingInterval {
            mean: paired.mean,
            half_width: paired.half_width(one_sided),
            end_error,
        };
        let exclusion = of(seen, looks.one_sided(levels.exclusion), levels.exclusion);
        let difference = |paired: &Paired, level: f64| of(paired, looks.nominal(level) / 2.0, level / 2.0);
        Some(match self.verdict {
            MetricVerdict::Equivalent | MetricVerdict::NoRegression => exclusion,
            MetricVerdict::Regressed | MetricVerdict::Improved => {
                let correction = self.adjusted / self.level.max(f64::MIN_POSITIVE);
                difference(self.strongest.as_ref().unwrap_or(seen), levels.alarm / correction.max(1.0))
            }
            MetricVerdict::NotShown | MetricVerdict::Inconclusive | MetricVerdict::Invalid => {
                let difference = difference(seen, levels.alarm / metrics.max(1) as f64);
                if difference.half_width < exclusion.half_width { exclusion } else { difference }
            }
        })
    }
}

/// Which way is worse, and how far is accepted, on the scale of the differences.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// More than this is worse by more than the margin.
    pub(super) above: f64,
    /// Less than this is better by more than the margin.
    below: f64,
    /// 1 where more is worse, −1 where less is.
    pub(super) sign: f64,
}

impl Bounds {
    pub fn for_metric(metric: &GateMetric) -> Bounds {
        let bound = if metric.quantity.is_share() { metric.margin } else { metric.margin.ln_1p() };
        Bounds { above: bound, below: -bound, sign: if metric.is_better_higher { -1.0 } else { 1.0 } }
    }

    /// Whether a change beyond the margin is excluded: for the worse, for the better.
    fn exclude(&self, paired: &Paired, one_sided: f64) -> [bool; 2] {
        let worse = self.sign * paired.mean;
        let half = paired.half_width(one_sided);
        [worse + half < self.above, worse - half > self.below]
    }
}

/// The differences of one metric, by pair in order.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// Which way is worse, and how far is accepted.
    pub bounds: Bounds,
    /// B's value less A's: of logarithms, or of shares. Infinite where one of them is, not a number where one is not known.
    pub differences: &'a [f64],
    /// The same without a lag that both arms may have in common; none where there is none.
    pub without_lag: Option<&'a [f64]>,
    /// The least deviation that may be taken for known.
    pub least: f64,
}

impl Compared<'_> {
    fn first(&self, pairs: u32) -> Option<Seen> {
        let differences = self.differences.get(..pairs as usize)?;
        let Bounds { above, sign, .. } = self.bounds;
        if differences.iter().any(|difference| !difference.is_finite()) {
            let worse = differences.iter().map(|difference| sign * difference);
            return Some(Seen::Signs(Signs::count(worse, above)));
        }
        let paired =
            |differences: &[f64]| Paired::from_differences(differences.get(..pairs as usize)?, self.least);
        Some(Seen::Mean {
            bounds: self.bounds,
            paired: paired(differences)?,
            without_lag: self.without_lag.map(paired),
        })
    }
}

/// The decision on each metric from the differences of its pairs, in order; none of a metric without differences.
///
/// Once a difference, an improvement or equivalence is shown it stays; what is only not a regression may still be shown to be
/// more.
pub fn decisions(looks: &Looks, levels: Levels, metrics: &[Option<Compared<'_>>]) -> Vec<Decision> {
    let one_sided = looks.one_sided(levels.exclusion);
    let mut found = vec![OPEN; metrics.len()];
    for look in looks.at() {
        let seen: Vec<Option<Seen>> = metrics.iter().map(|metric| metric.as_ref()?.first(*look)).collect();
        if seen.iter().all(Option::is_none) {
            break;
        }
        for (decision, seen) in found.iter_mut().zip(&seen) {
            let Some(seen) = seen else { continue };
            let (p, paired) = match seen {
                Seen::Mean { paired, .. } => (paired.p(), Some(*paired)),
                Seen::Signs(signs) => (signs.p(), None),
            };
            let level = looks.level(p);
            if level <= decision.level {
                (decision.level, decision.strongest) = (level, paired);
            }
        }
        let reached: Vec<f64> = found.iter().map(|decision| decision.level).collect();
        for ((decision, adjusted), seen) in found.iter_mut().zip(stats::holm(&reached)).zip(&seen) {
            decision.adjusted = adjusted;
            let Some(seen) = seen else { continue };
            if matches!(seen, Seen::Signs(_)) && decision.verdict.excludes_a_change() {
                // What was excluded before a run had no value is not excluded any more.
                (decision.verdict, decision.decided_at) = (MetricVerdict::Inconclusive, None);
            }
            let verdict = seen.verdict(adjusted <= levels.alarm, one_sided);
            decision.is_hidden_by_lag =
                seen.excludes(one_sided)[0] && !seen.excludes_without_lag(one_sided)[0];
            let is_open = matches!(decision.verdict, MetricVerdict::Inconclusive)
                || (decision.verdict == MetricVerdict::NoRegression
                    && verdict.verdict() == evidence::Verdict::Pass);
            let is_answered = verdict != MetricVerdict::Inconclusive && verdict != decision.verdict;
            if is_open && is_answered {
                (decision.verdict, decision.decided_at) = (verdict, Some(*look));
            }
            if is_open && (is_answered || decision.verdict == MetricVerdict::Inconclusive) {
                decision.interval = decision.interval(seen, looks, levels, metrics.len());
            }
        }
    }
    found
}

/// What is seen of a metric at one look.
enum Seen {
    Mean {
        bounds: Bounds,
        paired: Paired,
        /// The same without the common lag, where there is one; none inside where that may be all there is.
        without_lag: Option<Option<Paired>>,
    },
    /// A pair has no difference.
    Signs(Signs),
}

impl Seen {
    /// The answer, where a difference is shown or not; `one_sided` is the level of each limit.
    ///
    /// A lag that both arms have makes their ratio look smaller. What is excluded must be excluded without it; what is shown
    /// is shown with it.
    fn verdict(&self, is_shown: bool, one_sided: f64) -> MetricVerdict {
        let (worse, pairs) = match self {
            Seen::Mean { bounds, paired, .. } => (bounds.sign * paired.mean, paired.pairs),
            Seen::Signs(signs) => (if signs.are_worse() { 1.0 } else { -1.0 }, 0),
        };
        match self.excludes_without_lag(one_sided) {
            [true, true] if pairs >= EQUIVALENCE_PAIRS => MetricVerdict::Equivalent,
            [true, true] => MetricVerdict::NoRegression,
            _ if is_shown && worse > 0.0 && !self.excludes(one_sided)[0] => MetricVerdict::Regressed,
            _ if is_shown && worse < 0.0 => MetricVerdict::Improved,
            [true, false] => MetricVerdict::NoRegression,
            _ => MetricVerdict::Inconclusive,
        }
    }

    /// Whether a change beyond the margin is excluded: for the worse, for the better.
    fn excludes(&self, one_sided: f64) -> [bool; 2] {
        match self {
            Seen::Mean { bounds, paired, .. } => bounds.exclude(paired, one_sided),
            Seen::Signs(_) => [false; 2],
        }
    }

    fn excludes_without_lag(&self, one_sided: f64) -> [bool; 2] {
        let with = self.excludes(one_sided);
        let Seen::Mean { bounds, without_lag: Some(without), .. } = self else { return with };
        let without = without.map_or([false; 2], |paired| bounds.exclude(&paired, one_sided));
        [with[0] && without[0], with[1] && without[1]]
    }
}

/// The answer to each metric of an experiment, from its values by pair.
pub(super) fn answers(
    rules: &Rulebook<'_>,
    values: &[Vec<[SlotValue; 2]>],
    by_second: &[Option<Vec<f64>>],
) -> Vec<MetricAnswer> {
    let differences: Vec<Result<Differences, NoDifferences>> = rules
        .metrics
        .iter()
        .zip(values)
        .map(|(metric, pairs)| Differences::from_pairs(metric, pairs))
        .collect();
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
    for ((index, differences), window) in differences.into_iter().enumerate().zip(decisions) {
        let seconds = by_second.get(index).and_then(Option::as_ref).filter(|_| differences.is_ok());
        let seconds = seconds.and_then(|differences| Some((differences.as_slice(), of_seconds.next()?)));
        let of = MetricPairs { metric: &rules.metrics[index], values: &values[index], differences, smallest };
        let mut answer = answer(rules, of, window);
        if let Some((differences, decision)) = seconds {
            by_second::add(&mut answer, differences, decision, rules, smallest);
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

/// How the sides of a metric are compared.
pub(super) fn scale(metric: &GateMetric) -> EffectScale {
    if metric.quantity.is_share() { EffectScale::Points } else { EffectScale::Relative }
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

pub(super) fn because(rules: &Rulebook<'_>, answer: &MetricAnswer) -> String {
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
