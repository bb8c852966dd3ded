//! Costs per request in each phase: processor time, and allocations where the target counts them.

use std::collections::BTreeSet;
use std::ops::Range;

use evidence::SeriesKey;
use evidence::run::ReadError;

use super::super::observed::integral;
use super::{Measure, SideValue, TalliedSide};

/// Below this covered share of a phase a rate is not divided by requests: part of the work was not measured.
const ENOUGH_COVERAGE: f64 = 0.9;
const MS_PER_S: f64 = 1_000.0;

/// A rate whose integral over a phase, divided by the phase's requests, is a cost.
struct CostRate {
    series: &'static str,
    label: &'static str,
    unit: &'static str,
    /// What the integral is multiplied by to get `unit`.
    factor: f64,
}

const RATES: [CostRate; 3] = [
    CostRate { series: "cpu", label: "CPU/request", unit: "ms", factor: MS_PER_S },
    CostRate {
        series: "go_memstats_alloc_bytes_total",
        label: "allocated/request",
        unit: "bytes",
        factor: 1.0,
    },
    CostRate { series: "go_memstats_mallocs_total", label: "allocations/request", unit: "1", factor: 1.0 },
];

pub(super) fn of(sides: &[TalliedSide<'_>], phase: &str) -> Result<Vec<Measure>, ReadError> {
    let mut measures = Vec::new();
    for rate in RATES {
        for target in targets(sides, rate.series) {
            let cost = |side: &TalliedSide<'_>| -> Result<SideValue, ReadError> {
                let cost = per_request(side, phase, rate.series, &target)?;
                Ok(SideValue::of(cost.map(|cost| cost * rate.factor)))
            };
            let values: Vec<SideValue> = sides.iter().map(cost).collect::<Result<_, _>>()?;
            let measure = Measure::of(&format!("{} of {target}", rate.label), rate.unit, values);
            measures.extend(measure.is_measured().then_some(measure));
        }
    }
    Ok(measures)
}

/// Every target of any side that has the series, the generator last.
fn targets(sides: &[TalliedSide<'_>], series: &str) -> Vec<String> {
    let keys = sides.iter().flat_map(|side| side.side.run.series()).filter(|key| &*key.name == series);
    let names: BTreeSet<(bool, String)> =
        keys.map(|key| (&*key.target == SeriesKey::GENERATOR, key.target.to_string())).collect();
    names.into_iter().map(|(_, name)| name).collect()
}

/// The integral of the rate over the phase, per request that ended in it.
fn per_request(
    side: &TalliedSide<'_>,
    phase: &str,
    series: &str,
    target: &str,
) -> Result<Option<f64>, ReadError> {
    let Some(seconds) = covered_seconds(side, phase) else { return Ok(None) };
    let is_its = |key: &&SeriesKey| &*key.name == series && &*key.target == target;
    let (mut sum, mut covered_s) = (0.0, 0.0_f64);
    for key in side.side.run.series().iter().filter(is_its) {
        let (part, part_covered_s) = integral(&side.side.run.samples(key, seconds.clone())?);
        sum += part;
        covered_s = covered_s.max(part_covered_s);
    }
    let in_phase = side.tally.endpoints.iter().filter(|(key, _)| &*key.phase == phase);
    let completed: u64 = in_phase.map(|(_, counts)| counts.outcomes.completed()).sum();
    let is_covered = covered_s >= ENOUGH_COVERAGE * f64::from(seconds.end - seconds.start);
    Ok((is_covered && covered_s > 0.0 && completed > 0).then(|| sum / completed as f64))
}

/// The whole seconds of a phase for which there is evidence.
pub(super) fn covered_seconds(side: &TalliedSide<'_>, phase: &str) -> Option<Range<u32>> {
    let phase = side.phases.iter().find(|p| p.name == phase)?;
    let (start, end) = (phase.start_s.ceil() as u32, (phase.start_s + phase.covered_s).floor() as u32);
    (end > start).then_some(start..end)
}
