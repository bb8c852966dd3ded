//! What limits the service, by the probes of a search.

use evidence::capacity::CapacityProbe;
use evidence::diagnosis::Diagnosis;

use super::grid::GridAnswer;
use crate::diagnosis::{BreakRange, LoadWindow, diagnose};

/// Levels that are this close are the same.
const SAME_LEVEL: f64 = 1e-6;

/// None where no level is shown to hold or none to break.
pub(super) fn of(answer: &GridAnswer, probes: &[CapacityProbe]) -> Option<Diagnosis> {
    let (holds, breaks) = (answer.holds?, answer.breaks?);
    let counted = || probes.iter().filter(|probe| probe.unusable.is_none());
    let at = |level: f64| counted().filter(move |probe| (probe.level / level - 1.0).abs() < SAME_LEVEL);
    let goodput = |level: f64| stats::mean(&at(level).map(|probe| probe.goodput).collect::<Vec<_>>());
    let offered = stats::mean(&at(breaks).map(|probe| probe.offered).collect::<Vec<_>>())?;
    let holds_per_s = goodput(holds)?;
    let range = BreakRange { holds_per_s, breaks_per_s: offered.max(goodput(breaks)?).max(holds_per_s) };
    let windows: Vec<LoadWindow> = counted()
        .filter(|probe| !probe.has_collapsed)
        .map(|probe| LoadWindow {
            completions_per_s: probe.goodput,
            response_s: probe.mean_ms.map(|ms| ms / 1e3),
            resources: probe.uses.clone(),
        })
        .collect();
    Some(diagnose(&windows, range))
}
