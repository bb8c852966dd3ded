//! Observed series of each target in a phase: mean and highest value, the series that moved most first.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Coverage, SeriesKey, coverage};
use serde::Serialize;

use super::{Difference, Measure, SideValue, TalliedSide};

/// The most series of one target in a report; the archives have all.
const MAX_SERIES_PER_TARGET: usize = 100;
/// The factor of a series that only one side has, or whose mean was 0 at the baseline.
const APPEARED_FACTOR: f64 = 20.0;

/// The observed series of a target in a phase.
#[derive(Debug, Clone, Serialize)]
pub struct TargetSeries {
    pub target: String,
    /// The series whose means moved most by ratio come first.
    pub series: Vec<SeriesPair>,
}

/// A series over all sides.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesPair {
    /// Its mean over the phase.
    pub mean: Measure,
    /// Its highest value in the phase.
    pub max: Measure,
}

impl SeriesPair {
    /// How far the mean moved between the baseline and any other side, as a factor of at least 1.
    pub fn factor(&self) -> f64 {
        let of = |difference: &Difference| match difference {
            Difference::Known { ratio: Some(ratio), .. } if *ratio > 0.0 => ratio.max(ratio.recip()),
            Difference::Known { difference, .. } if *difference == 0.0 => 1.0,
            Difference::Refused { .. } => 1.0,
            _ => APPEARED_FACTOR,
        };
        self.mean.differences.iter().map(of).fold(1.0, f64::max)
    }
}

/// The observed series in each of `phases`. Each series is read once.
pub(super) fn of(sides: &[TalliedSide<'_>], phases: &[String]) -> Result<Vec<Vec<TargetSeries>>, ReadError> {
    let mut targets: BTreeMap<(bool, &str), Vec<&SeriesKey>> = BTreeMap::new();
    for key in sides.iter().flat_map(|side| side.side.run.series()) {
        let keys = targets.entry((&*key.target == SeriesKey::GENERATOR, &*key.target)).or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut by_phase: Vec<Vec<TargetSeries>> = vec![Vec::new(); phases.len()];
    for ((_, target), keys) in targets {
        let mut pairs_by_phase: Vec<Vec<SeriesPair>> = vec![Vec::new(); phases.len()];
        for key in keys {
            let covered: Vec<Coverage> =
                sides.iter().map(|side| Coverage::read(side.side.run, key)).collect::<Result<_, _>>()?;
            for (phase, pairs) in phases.iter().zip(&mut pairs_by_phase) {
                let level = |(side, covered): (&TalliedSide<'_>, &Coverage)| level(side, covered, phase);
                pairs.extend(pair(key, &sides.iter().zip(&covered).map(level).collect::<Vec<_>>()));
            }
        }
        for (mut series, all) in pairs_by_phase.into_iter().zip(&mut by_phase) {
            series.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
            series.truncate(MAX_SERIES_PER_TARGET);
            if !series.is_empty() {
                all.push(TargetSeries { target: target.to_owned(), series });
            }
        }
    }
    Ok(by_phase)
}

/// The series over all sides; none where no side has it.
fn pair(key: &SeriesKey, levels: &[Option<MeanAndMax>]) -> Option<SeriesPair> {
    let name = format!("{} {}", key.name, key.label());
    let name = name.trim_end();
    let measure = |pick: fn(&MeanAndMax) -> f64| {
        let values = levels.iter().map(|level| SideValue::of(level.as_ref().map(pick))).collect();
        Measure::of(name, &key.unit, values)
    };
    let pair = SeriesPair { mean: measure(|level| level.mean), max: measure(|level| level.max) };
    pair.mean.is_measured().then_some(pair)
}

/// Mean and highest value of samples.
struct MeanAndMax {
    mean: f64,
    max: f64,
}

/// The series in the phase; none without samples.
fn level(side: &TalliedSide<'_>, covered: &Coverage, phase: &str) -> Option<MeanAndMax> {
    let phase = side.phases.iter().find(|p| p.name == phase)?;
    let samples = covered.within(phase.recorded_window());
    Some(MeanAndMax {
        mean: coverage::mean(samples.iter())?,
        max: samples.iter().map(|sample| sample.value).fold(f64::NEG_INFINITY, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(values: [SideValue; 2]) -> f64 {
        let measure = Measure::of("x", "1", values.to_vec());
        SeriesPair { mean: measure.clone(), max: measure }.factor()
    }

    #[test]
    fn a_fall_counts_as_much_as_a_rise_and_a_new_series_counts_as_a_large_factor() {
        let finite = SideValue::Finite;
        assert!((factor([finite(10.0), finite(40.0)]) - 4.0).abs() < 1e-9);
        assert!((factor([finite(40.0), finite(10.0)]) - 4.0).abs() < 1e-9);
        assert!((factor([finite(0.0), finite(0.0)]) - 1.0).abs() < 1e-9);
        for appeared in [[finite(0.0), finite(1.0)], [SideValue::Missing, finite(1.0)]] {
            assert!((factor(appeared) - APPEARED_FACTOR).abs() < 1e-9);
        }
    }
}
