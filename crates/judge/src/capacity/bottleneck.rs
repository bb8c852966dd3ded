//! What limits the service, by the probes of a search.

use evidence::capacity::{CapacityProbe, Ceiling};
use evidence::diagnosis::Diagnosis;
use figures::number::brief;

use super::CapacityRules;
use super::grid::GridAnswer;
use super::search::bracket;
use crate::diagnosis::{BreakRange, LoadWindow, above_all, diagnose, without_limit};

/// Levels that are this close are the same.
const SAME_LEVEL: f64 = 1e-6;

/// None where no level is shown to hold or none to break, unless a diagnosis is what was asked for.
pub(super) fn of(
    rules: &CapacityRules<'_>,
    answer: &GridAnswer,
    probes: &[CapacityProbe],
) -> Option<Diagnosis> {
    let windows: Vec<LoadWindow> = counted(probes).filter(|probe| !probe.has_collapsed).map(window).collect();
    if !rules.levels_for_diagnosis {
        let (holds, breaks) = (answer.holds?, answer.breaks?);
        return Some(diagnose(&windows, range(probes, holds, breaks)?));
    }
    let found = bracket(rules, probes).and_then(|[holds, breaks]| range(probes, holds, breaks));
    Some(match found {
        Some(range) => diagnose(&windows, range),
        None => without_break(rules, probes, &windows),
    })
}

fn counted(probes: &[CapacityProbe]) -> impl Iterator<Item = &CapacityProbe> {
    probes.iter().filter(|probe| probe.unusable.is_none())
}

/// Completions a second at the level that holds, and those that are offered at the level that breaks.
fn range(probes: &[CapacityProbe], holds: f64, breaks: f64) -> Option<BreakRange> {
    let at = |level: f64| counted(probes).filter(move |probe| (probe.level / level - 1.0).abs() < SAME_LEVEL);
    let goodput = |level: f64| stats::mean(&at(level).map(|probe| probe.goodput).collect::<Vec<_>>());
    let offered = stats::mean(&at(breaks).map(|probe| probe.offered).collect::<Vec<_>>())?;
    let holds_per_s = goodput(holds)?;
    Some(BreakRange { holds_per_s, breaks_per_s: offered.max(goodput(breaks)?).max(holds_per_s) })
}

fn window(probe: &CapacityProbe) -> LoadWindow {
    LoadWindow {
        offered_per_s: Some(probe.offered).filter(|offered| *offered > 0.0),
        completions_per_s: probe.goodput,
        response_s: probe.mean_ms.map(|ms| ms / 1e3),
        resources: probe.uses.clone(),
    }
}

/// Levels of which none breaks, or none holds.
fn without_break(rules: &CapacityRules<'_>, probes: &[CapacityProbe], windows: &[LoadWindow]) -> Diagnosis {
    if let (true, Some(why)) = (windows.is_empty(), probes.iter().find_map(|probe| probe.unusable.clone())) {
        return Diagnosis::refused(why);
    }
    let highest = windows.iter().map(|window| window.completions_per_s).fold(0.0, f64::max);
    if !counted(probes).any(super::search::passes) {
        return without_limit(windows, highest, "the lowest level of load breaks already; offer less.");
    }
    let ceiling = match rules.ceiling {
        Some((_, Ceiling::Generator)) => ", the most that the generator can offer here",
        _ => "",
    };
    let why = format!("no level of load breaks, up to {}{ceiling}.", brief::rate(highest));
    above_all(windows, highest, &why)
}
