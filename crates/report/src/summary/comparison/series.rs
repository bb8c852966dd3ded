//! What observers saw in each phase: mean and highest value of each series.

use std::collections::BTreeSet;

use evidence::SeriesKey;
use evidence::run::ReadError;

use super::costs::window;
use super::{Measure, Swept, Value};

/// No table is longer; the archives have the rest.
const MAX_SERIES: usize = 200;

pub(super) fn of(sides: &[Swept<'_>], phase: &str) -> Result<Vec<Measure>, ReadError> {
    let keys: BTreeSet<(bool, &SeriesKey)> = sides
        .iter()
        .flat_map(|side| side.side.run.series())
        .map(|key| (&*key.target == SeriesKey::GENERATOR, key))
        .collect();
    let mut measures = Vec::new();
    for (_, key) in keys.into_iter().take(MAX_SERIES) {
        let levels: Vec<Option<(f64, f64)>> =
            sides.iter().map(|side| level(side, key, phase)).collect::<Result<_, _>>()?;
        let of =
            |pick: fn(&(f64, f64)) -> f64| levels.iter().map(|l| Value::of(l.as_ref().map(pick))).collect();
        for (which, values) in [("mean", of(|l| l.0)), ("max", of(|l| l.1))] {
            let name = format!("{} {which}", label(key));
            let measure = Measure::of((&name, &key.unit), values, &|_| Vec::new());
            measures.extend(measure.is_measured().then_some(measure));
        }
    }
    Ok(measures)
}

fn label(key: &SeriesKey) -> String {
    match &*key.part {
        "" => format!("{} {}", key.target, key.name),
        part => format!("{} {} {part}", key.target, key.name),
    }
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
