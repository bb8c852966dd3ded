//! Which changes an experiment can see: before it begins from a calibration, otherwise from its first pairs.

use std::time::Duration;

use evidence::{Calibration, EffectScale, ExperimentJudgement};
use stats::Looks;
use stats::looks::{FEWEST_PAIRS, MOST_PAIRS};
use workload::experiment::Experiment;

use crate::outputs::note;

/// For so many minutes it is said what can be seen.
pub(crate) const MINUTES: [u32; 4] = [10, 20, 60, 90];
/// The chance with which it is found.
const POWER: f64 = 0.95;
/// Deviations are taken at their upper limit with this confidence.
const CONFIDENCE: f64 = 0.8;

/// A deviation that is known from so many pairs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownDeviation {
    pub(crate) deviation: f64,
    pub(crate) pairs: u32,
    pub(crate) scale: EffectScale,
}

/// By how much so many pairs may be wrong about a deviation.
pub(crate) fn error(pairs: u32) -> f64 {
    stats::deviation_limit(pairs, CONFIDENCE)
}

impl KnownDeviation {
    /// The smallest change, on the metric's scale, that is found at this two-sided level in so many pairs; none in fewer
    /// than can show anything.
    pub(crate) fn smallest(self, pairs: u32, level: f64) -> Option<f64> {
        let limit = self.deviation * error(self.pairs);
        let smallest = (pairs >= FEWEST_PAIRS && limit.is_finite())
            .then(|| stats::smallest_effect(limit, pairs, level, POWER))?;
        Some(if self.scale == EffectScale::Points { smallest } else { smallest.exp_m1() })
    }

    /// The smallest changes in each of [`MINUTES`].
    pub(crate) fn in_minutes(self, pair_takes: Duration, level: f64) -> [Option<f64>; 4] {
        MINUTES.map(|minutes| self.smallest(pairs_in(minutes, pair_takes), level))
    }
}

/// How many pairs fit into so many minutes; more than can be planned are not counted.
pub(crate) fn pairs_in(minutes: u32, pair_takes: Duration) -> u32 {
    ((f64::from(minutes) * 60.0 / pair_takes.as_secs_f64().max(1.0)) as u32).min(MOST_PAIRS)
}

/// A change, as a share or in percentage points.
pub(crate) fn shown(change: Option<f64>, scale: EffectScale) -> String {
    let unit = if scale == EffectScale::Points { "pp" } else { "%" };
    change.map_or("–".to_owned(), |change| {
        let percent = change * 100.0;
        let digits = if percent >= 10.0 {
            0
        } else if percent >= 1.0 {
            1
        } else {
            2
        };
        format!("{percent:.digits$} {unit}")
    })
}

/// Say what the experiment can see, before it begins.
pub(crate) fn announce(experiment: &Experiment, calibration: Option<&Calibration>) {
    let Some(calibration) = calibration else {
        note(
            "no calibration of this host and workload (`plimsoll calibrate`): the first pairs will say what can be seen",
        );
        return;
    };
    note(format_args!(
        "calibrated {} by {} pairs, which know a deviation to × {:.2}; a change is found with 95 % in {}",
        calibration.made_at,
        calibration.pairs,
        error(calibration.pairs),
        minutes()
    ));
    let pair_takes = Duration::from_secs_f64(calibration.pair_s.max(1.0));
    let level = experiment.design.level / experiment.metrics.len().max(1) as f64;
    for metric in &experiment.metrics {
        let Some(noise) = calibration.metrics.iter().find(|noise| noise.of == metric.source) else {
            note(format_args!("  {}: not calibrated", metric.name));
            continue;
        };
        let known =
            KnownDeviation { deviation: noise.deviation, pairs: calibration.pairs, scale: noise.scale };
        let at = known.in_minutes(pair_takes, level).map(|change| shown(change, noise.scale));
        note(format_args!("  {}: {}", metric.name, at.join(", ")));
        warn(experiment, metric, known);
    }
}

/// That the last look cannot see the margin.
fn warn(experiment: &Experiment, metric: &workload::experiment::GateMetric, known: KnownDeviation) {
    let Ok(looks) = Looks::new(&experiment.design.looks) else { return };
    let level = looks.nominal(experiment.design.level / experiment.metrics.len().max(1) as f64);
    let Some(smallest) = known.smallest(looks.last(), level) else { return };
    if smallest > metric.margin {
        note(format_args!(
            "  warning: margin-not-visible: after {} pairs a change of {} below {} may be missed; its margin is {}. Make \
             slots longer, plan more pairs, use a quieter machine, or widen the margin.",
            looks.last(),
            metric.name,
            shown(Some(smallest), known.scale),
            shown(Some(metric.margin), known.scale)
        ));
    }
}

/// Say what can be seen, from the pairs of the first look.
pub(crate) fn after_first_look(
    experiment: &Experiment,
    judgement: &ExperimentJudgement,
    pair_takes: Duration,
) {
    let level = experiment.design.level / experiment.metrics.len().max(1) as f64;
    note(format_args!(
        "these {} pairs know a deviation to × {:.2}; a change is found with 95 % in {}",
        judgement.pairs,
        error(judgement.pairs),
        minutes()
    ));
    for (metric, answer) in experiment.metrics.iter().zip(&judgement.metrics) {
        let Some(deviation) = answer.deviation else { continue };
        let known = KnownDeviation { deviation, pairs: judgement.pairs, scale: answer.scale };
        let at = known.in_minutes(pair_takes, level).map(|change| shown(change, answer.scale));
        note(format_args!("  {}: {}", answer.name, at.join(", ")));
        warn(experiment, metric, known);
    }
}

fn minutes() -> String {
    let [a, b, c, d] = MINUTES;
    format!("{a}, {b}, {c} and {d} min from:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_time_shows_smaller_changes_and_too_little_shows_none() {
        let known = KnownDeviation { deviation: 0.02, pairs: 8, scale: EffectScale::Relative };
        let at = known.in_minutes(Duration::from_secs(240), 0.01);
        assert_eq!(at[0], None, "two pairs");
        assert!(at[1].unwrap() > at[2].unwrap() && at[2].unwrap() > at[3].unwrap(), "{at:?}");
        // 15 pairs of a deviation of 2.7 %.
        assert!((at[2].unwrap() - 0.034).abs() < 0.003, "{at:?}");
        assert_eq!(shown(at[0], EffectScale::Relative), "–");
        assert_eq!(shown(Some(0.0314), EffectScale::Relative), "3.1 %");
        assert_eq!(shown(Some(0.0005), EffectScale::Points), "0.05 pp");
    }
}
