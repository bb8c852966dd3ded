//! Says which changes an experiment can detect: before it begins from a calibration, otherwise from its first pairs.

use std::time::Duration;

use conduct::failure::CommandResult;
use conduct::screen::note;
use evidence::{Calibration, EffectScale, ExperimentJudgement};
use figures::number;
use judge::experiment::{
    KnownDeviation, Levels, Looks, Rulebook, Together, UnclearableShare, pairs_in, unclearable_shares,
};
use plans::Overrides;
use workload::experiment::{Experiment, Probe};

use crate::slot::time_scale;

/// The lengths for which the smallest detectable change is shown.
pub const MINUTES: [u32; 4] = [10, 20, 60, 90];

/// The smallest changes that are found in each of [`MINUTES`].
pub fn in_minutes(known: KnownDeviation, pair_takes: Duration, level: f64) -> [Option<f64>; 4] {
    MINUTES.map(|minutes| known.smallest_detectable(pairs_in(minutes, pair_takes.as_secs_f64()), level))
}

/// A change, as a share or in percentage points.
pub(crate) fn shown(change: Option<f64>, scale: EffectScale) -> String {
    let unit = if scale == EffectScale::Points { "pp" } else { "%" };
    number::or_not_measured(change, |change| format!("{} {unit}", number::brief::rough(change * 100.0)))
}

/// Shows what the experiment can detect, before it begins.
pub fn announce(experiment: &Experiment, calibration: Option<&Calibration>) {
    let Some(calibration) = calibration else {
        note(
            "no calibration of this host and workload (`plimsoll calibrate`): the first pairs will show the smallest detectable change",
        );
        return;
    };
    note(format_args!(
        "calibrated {} with {} pairs (standard deviation uncertain by a factor of {:.2}); smallest change detectable with 95 % \
         power after {}",
        calibration.made_at,
        calibration.pairs,
        KnownDeviation::uncertainty(calibration.pairs),
        minutes()
    ));
    let pair_takes = Duration::from_secs_f64(calibration.pair_s.max(1.0));
    let level = experiment.design.level / experiment.metrics.len().max(1) as f64;
    for metric in &experiment.metrics {
        let Some(noise) = calibration.metrics.iter().find(|noise| noise.of == metric.source) else {
            note(format_args!("  {}: not calibrated", metric.name));
            continue;
        };
        let deviation = noise.deviation_of_pairs(experiment.design.probe != Probe::Off);
        let known = KnownDeviation { deviation, pairs: calibration.pairs, scale: noise.scale };
        let at = in_minutes(known, pair_takes, level).map(|change| shown(change, noise.scale));
        note(format_args!("  {}: {}", metric.name, at.join(", ")));
        warn(experiment, metric, known);
    }
}

/// Warns if the last look cannot detect a change as large as the margin.
fn warn(experiment: &Experiment, metric: &workload::experiment::GateMetric, known: KnownDeviation) {
    let Ok(looks) = Looks::new(&experiment.design.looks) else { return };
    let level = looks.nominal(experiment.design.level / experiment.metrics.len().max(1) as f64);
    let Some(smallest) = known.smallest_detectable(looks.last(), level) else { return };
    if smallest > metric.margin {
        note(format_args!(
            "  warning: margin-not-detectable: after {} pairs, a change of {} smaller than {} may be missed; its margin is {}. Use \
             longer slots, more pairs, a quieter machine or a wider margin.",
            looks.last(),
            metric.name,
            shown(Some(smallest), known.scale),
            shown(Some(metric.margin), known.scale)
        ));
    }
}

/// Warns of shares of requests that no result of so many pairs can clear.
pub(super) fn warn_of_unclearable(experiment: &Experiment, looks: &Looks, pairs: u32) -> CommandResult<()> {
    let Experiment { plan, design, metrics, .. } = experiment;
    let overrides = Overrides { time_scale: time_scale(plan, design.slot)?, ..Overrides::default() };
    let workload = conduct::plan::resolve(plan, &overrides)?.workload;
    let levels = Levels { alarm: design.level, exclusion: design.exclusion };
    let rules = Rulebook {
        metrics,
        looks,
        levels,
        accept: &design.accept,
        bad_starts: None,
        together: Together::default(),
    };
    for share in unclearable_shares(&rules, &workload, pairs) {
        let UnclearableShare { name, requests, needed, margin, smallest_margin } = share;
        note(format_args!(
            "warning: cannot-pass: with {requests} requests a run, {pairs} pairs do not exclude that {name} is worse by its margin of \
             {}, even if no request fails: make slots longer, to {needed} requests a run, or the margin wider than {}",
            shown(Some(margin), EffectScale::Points),
            shown(Some(smallest_margin), EffectScale::Points)
        ));
    }
    Ok(())
}

/// Shows what can be detected, from the pairs of the first look.
pub(crate) fn after_first_look(
    experiment: &Experiment,
    judgement: &ExperimentJudgement,
    pair_takes: Duration,
) {
    let level = experiment.design.level / experiment.metrics.len().max(1) as f64;
    note(format_args!(
        "{} pairs (standard deviation uncertain by a factor of {:.2}); smallest change detectable with 95 % power after {}",
        judgement.pairs,
        KnownDeviation::uncertainty(judgement.pairs),
        minutes()
    ));
    for (metric, answer) in experiment.metrics.iter().zip(&judgement.metrics) {
        let Some(deviation) = answer.deviation else { continue };
        let known = KnownDeviation { deviation, pairs: judgement.pairs, scale: answer.scale };
        let at = in_minutes(known, pair_takes, level).map(|change| shown(change, answer.scale));
        note(format_args!("  {}: {}", answer.name, at.join(", ")));
        warn(experiment, metric, known);
    }
}

fn minutes() -> String {
    let [a, b, c, d] = MINUTES;
    format!("{a}, {b}, {c} and {d} min:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_two_digits_and_their_unit() {
        assert_eq!(shown(None, EffectScale::Relative), "–");
        assert_eq!(shown(Some(0.0314), EffectScale::Relative), "3.1 %");
        assert_eq!(shown(Some(0.0005), EffectScale::Points), "0.05 pp");
    }
}
