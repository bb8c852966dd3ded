//! Costs per request in each phase: processor time, and allocations where the target counts them.

use std::collections::BTreeSet;

use evidence::run::ReadError;
use evidence::{Coverage, Run, Seconds, SeriesKey};

use super::super::cost::{Cost, SecondRanges};
use super::{Measure, SideValue, TalliedSide};

const MS_PER_S: f64 = 1_000.0;

/// A rate whose integral over seconds of a phase, divided by the answers of these seconds, is a cost.
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

/// The costs in each of `phases`. Each series is read once.
pub(super) fn of(sides: &[TalliedSide<'_>], phases: &[String]) -> Result<Vec<Vec<Measure>>, ReadError> {
    let mut by_phase: Vec<Vec<Measure>> = vec![Vec::new(); phases.len()];
    for rate in RATES {
        for target in targets(sides, rate.series) {
            let parts = |side: &TalliedSide<'_>| parts(side.side.run, rate.series, &target);
            let parts: Vec<Vec<Coverage>> = sides.iter().map(parts).collect::<Result<_, _>>()?;
            for (phase, measures) in phases.iter().zip(&mut by_phase) {
                let cost = |(side, parts): (&TalliedSide<'_>, &Vec<Coverage>)| cost(side, phase, parts);
                let costs: Vec<Cost> = sides.iter().zip(&parts).map(cost).collect();
                measures.extend(measure(&rate, &target, costs));
            }
        }
    }
    Ok(by_phase)
}

fn measure(rate: &CostRate, target: &str, costs: Vec<Cost>) -> Option<Measure> {
    let value = |cost: &Cost| SideValue::of(cost.per_request().map(|cost| cost * rate.factor));
    let values: Vec<SideValue> = costs.iter().map(value).collect();
    let measure = Measure::of(&format!("{} of {target}", rate.label), rate.unit, values);
    let seconds: Vec<SecondRanges> = costs.into_iter().map(|cost| cost.seconds).collect();
    measure.is_measured().then_some(Measure { seconds, ..measure })
}

/// Every target of any side that has the series, the generator last.
fn targets(sides: &[TalliedSide<'_>], series: &str) -> Vec<String> {
    let keys = sides.iter().flat_map(|side| side.side.run.series()).filter(|key| &*key.name == series);
    let names: BTreeSet<(bool, String)> =
        keys.map(|key| (&*key.target == SeriesKey::GENERATOR, key.target.to_string())).collect();
    names.into_iter().map(|(_, name)| name).collect()
}

fn parts(run: &dyn Run, series: &str, target: &str) -> Result<Vec<Coverage>, ReadError> {
    let is_its = |key: &&SeriesKey| &*key.name == series && &*key.target == target;
    run.series().iter().filter(is_its).map(|key| Coverage::read(run, key)).collect()
}

/// The cost over the whole seconds of a phase. The work of these seconds is that of all requests that ended in them, due in
/// the phase or before it.
fn cost(side: &TalliedSide<'_>, phase: &str, parts: &[Coverage]) -> Cost {
    match whole_seconds(side, phase) {
        Some(seconds) => Cost::of(parts, &seconds, &side.tally.answers),
        None => Cost::default(),
    }
}

/// The whole seconds of a phase for which there is evidence.
fn whole_seconds(side: &TalliedSide<'_>, phase: &str) -> Option<Seconds> {
    let phase = side.phases.iter().find(|p| p.name == phase)?;
    let (start, end) = (phase.start_s.ceil() as u32, (phase.start_s + phase.covered_s).floor() as u32);
    (end > start).then_some(start..end)
}
