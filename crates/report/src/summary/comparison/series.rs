//! What observers saw of each target in a phase: mean and highest value of each series, what moved most first.

use std::collections::BTreeMap;

use evidence::SeriesKey;
use evidence::run::ReadError;
use serde::Serialize;

use super::costs::window;
use super::{Difference, Measure, Swept, Value};

/// No target has more in a report; the archives have the rest.
const MOST_OF_A_TARGET: usize = 100;
/// What one side alone has, or what was 0 at the baseline, counts as if it had become so many times as much.
const APPEARED: f64 = 20.0;

/// What was seen of a target in a phase.
#[derive(Debug, Clone, Serialize)]
pub struct TargetSeries {
    /// The target's name.
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
            _ => APPEARED,
        };
        self.mean.differences.iter().map(of).fold(1.0, f64::max)
    }
}

pub(super) fn of(sides: &[Swept<'_>], phase: &str) -> Result<Vec<TargetSeries>, ReadError> {
    let mut targets: BTreeMap<(bool, &str), Vec<&SeriesKey>> = BTreeMap::new();
    for key in sides.iter().flat_map(|side| side.side.run.series()) {
        let keys = targets.entry((&*key.target == SeriesKey::GENERATOR, &*key.target)).or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut all = Vec::new();
    for ((_, target), keys) in targets {
        let mut series = Vec::new();
        for key in keys {
            series.extend(pair(sides, key, phase)?);
        }
        series.sort_by(|a: &SeriesPair, b| b.factor().total_cmp(&a.factor()));
        series.truncate(MOST_OF_A_TARGET);
        if !series.is_empty() {
            all.push(TargetSeries { target: target.to_owned(), series });
        }
    }
    Ok(all)
}

/// None where no side has it in the phase.
fn pair(sides: &[Swept<'_>], key: &SeriesKey, phase: &str) -> Result<Option<SeriesPair>, ReadError> {
    let levels: Vec<Option<(f64, f64)>> =
        sides.iter().map(|side| level(side, key, phase)).collect::<Result<_, _>>()?;
    let name = if key.part.is_empty() { key.name.to_string() } else { format!("{} {}", key.name, key.part) };
    let measure = |pick: fn(&(f64, f64)) -> f64| {
        let values = levels.iter().map(|level| Value::of(level.as_ref().map(pick))).collect();
        Measure::of((&name, &key.unit), values, &|_| Vec::new())
    };
    let pair = SeriesPair { mean: measure(|level| level.0), max: measure(|level| level.1) };
    Ok(pair.mean.is_measured().then_some(pair))
}

/// Mean and highest value of the series in the phase.
fn level(side: &Swept<'_>, key: &SeriesKey, phase: &str) -> Result<Option<(f64, f64)>, ReadError> {
    let Some(window) = window(side, phase) else { return Ok(None) };
    let samples = side.side.run.samples(key, window)?;
    let values = || samples.iter().map(|sample| sample.value).filter(|value| value.is_finite());
    let count = values().count();
    Ok((count > 0)
        .then(|| (values().sum::<f64>() / count as f64, values().fold(f64::NEG_INFINITY, f64::max))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(values: [Value; 2]) -> f64 {
        let measure = Measure::of(("x", "1"), values.to_vec(), &|_| Vec::new());
        SeriesPair { mean: measure.clone(), max: measure }.factor()
    }

    #[test]
    fn falls_count_as_much_as_rises_and_what_appears_counts_much() {
        let finite = Value::Finite;
        assert!((factor([finite(10.0), finite(40.0)]) - 4.0).abs() < 1e-9);
        assert!((factor([finite(40.0), finite(10.0)]) - 4.0).abs() < 1e-9);
        assert!((factor([finite(0.0), finite(0.0)]) - 1.0).abs() < 1e-9);
        for appeared in [[finite(0.0), finite(1.0)], [Value::Missing, finite(1.0)]] {
            assert!((factor(appeared) - APPEARED).abs() < 1e-9);
        }
    }
}
