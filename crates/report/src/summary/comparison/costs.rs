//! What a request cost in each phase: processor time, and allocations where the target counts them.

use std::collections::BTreeSet;

use evidence::SeriesKey;
use evidence::run::ReadError;

use super::super::observed::integral;
use super::{Measure, Swept, Value};

/// Below this share of a phase a rate is not held against the phase's requests: part of the work was not seen.
const ENOUGH_COVERAGE: f64 = 0.9;
const MS: f64 = 1_000.0;

/// A rate that becomes a cost when it is summed and divided by requests: series, what it is called, unit, factor.
const RATES: [(&str, &str, (&str, f64)); 3] = [
    ("cpu", "CPU/request", ("ms", MS)),
    ("go_memstats_alloc_bytes_total", "allocated/request", ("bytes", 1.0)),
    ("go_memstats_mallocs_total", "allocations/request", ("1", 1.0)),
];

pub(super) fn of(sides: &[Swept<'_>], phase: &str) -> Result<Vec<Measure>, ReadError> {
    let mut measures = Vec::new();
    for (series, called, (unit, factor)) in RATES {
        for target in targets(sides, series) {
            let cost = |side: &Swept<'_>| -> Result<Value, ReadError> {
                let cost = per_request(side, (series, &target), phase)?;
                Ok(Value::of(cost.map(|cost| cost * factor)))
            };
            let values: Vec<Value> = sides.iter().map(cost).collect::<Result<_, _>>()?;
            let name = format!("{called} of {target}");
            let measure = Measure::of((&name, unit), values, &|_| Vec::new());
            measures.extend(measure.is_measured().then_some(measure));
        }
    }
    Ok(measures)
}

/// Every target of any side that has the series, the generator last.
fn targets(sides: &[Swept<'_>], series: &str) -> Vec<String> {
    let keys = sides.iter().flat_map(|side| side.side.run.series()).filter(|key| &*key.name == series);
    let names: BTreeSet<(bool, String)> =
        keys.map(|key| (&*key.target == SeriesKey::GENERATOR, key.target.to_string())).collect();
    names.into_iter().map(|(_, name)| name).collect()
}

/// The rate's sum over the phase, for each request that was answered in it.
fn per_request(
    side: &Swept<'_>,
    (series, target): (&str, &str),
    phase: &str,
) -> Result<Option<f64>, ReadError> {
    let Some(window) = window(side, phase) else { return Ok(None) };
    let is_wanted = |key: &&SeriesKey| &*key.name == series && &*key.target == target;
    let (mut sum, mut covered_s) = (0.0, 0.0_f64);
    for key in side.side.run.series().iter().filter(is_wanted) {
        let (part, part_covered_s) = integral(&side.side.run.samples(key, window.clone())?);
        sum += part;
        covered_s = covered_s.max(part_covered_s);
    }
    let tallies = side.sweep.places.iter().filter(|(place, _)| &*place.phase == phase);
    let answered: u64 = tallies.map(|(_, tally)| tally.outcomes.answered()).sum();
    let is_covered = covered_s >= ENOUGH_COVERAGE * f64::from(window.end - window.start);
    Ok((is_covered && covered_s > 0.0 && answered > 0).then(|| sum / answered as f64))
}

/// The whole seconds of a phase for which there is evidence.
pub(super) fn window(side: &Swept<'_>, phase: &str) -> Option<std::ops::Range<u32>> {
    let span = side.phases.iter().find(|p| p.name == phase)?;
    let (start, end) = (span.start_s.ceil() as u32, (span.start_s + span.covered_s).floor() as u32);
    (end > start).then_some(start..end)
}
