//! At which levels of a run the objectives break.

use std::collections::BTreeMap;

use evidence::Run;
use evidence::run::ReadError;
use workload::{Filter, Measure, Objective, Workload};

use super::parts::Level;
use crate::experiment::warm_up::Cuts;
use crate::measure::{self, Readings, Value};

/// A level breaks whose completions are below this share of what is offered …
const CARRIED: f64 = 0.95;
/// … and, without objectives on times or failures, whose mean response time is so many times that of the lowest.
const GROWN: f64 = 3.0;

/// Say of each level whether it breaks.
pub(super) fn mark(run: &dyn Run, workload: &Workload, levels: &mut [Level]) -> Result<(), ReadError> {
    let objectives: Vec<Objective> = workload.objectives.iter().filter_map(at_any_load).collect();
    let lowest = levels.iter().min_by(|a, b| a.load_per_s().total_cmp(&b.load_per_s()));
    let bound_s = lowest.and_then(|level| level.response_s).map(|response| GROWN * response);
    for level in levels {
        let is_violated = match objectives.is_empty() {
            true => level.response_s.zip(bound_s).is_some_and(|(response, bound)| response > bound),
            false => is_violated(run, workload, &objectives, level)?,
        };
        let is_carried =
            level.offered_per_s.is_none_or(|offered| level.completions_per_s >= CARRIED * offered);
        level.breaks = is_violated || !is_carried;
    }
    Ok(())
}

/// The objective for a level, if it is about something that does not grow with the load by itself.
fn at_any_load(objective: &Objective) -> Option<Objective> {
    let is_its = match objective.measure {
        Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_) => true,
        Measure::ErrorRate | Measure::CheckRate { .. } => true,
        Measure::Goodput { .. } | Measure::Throughput | Measure::Series { .. } | Measure::Metric(_) => false,
    };
    is_its.then(|| objective.clone())
}

fn is_violated(
    run: &dyn Run,
    workload: &Workload,
    objectives: &[Objective],
    level: &Level,
) -> Result<bool, ReadError> {
    let cuts = Cuts::within(BTreeMap::from([(level.phase.clone(), level.seconds.clone())]));
    let (run, workload) = (cuts.applied_to_run(run), cuts.applied_to(workload));
    let readings = Readings::read(&run, &workload)?;
    let source = readings.source();
    for objective in objectives {
        let filter = Filter { phase: Some(level.phase.clone()), ..objective.filter.clone() };
        let here = Objective { filter, ..objective.clone() };
        let holds = match measure::value(&source, &here)?.value {
            Value::Finite(value) => here.comparison.holds(value, here.bound),
            Value::Infinite => !here.comparison.is_upper(),
            Value::Missing(_) | Value::Unselected(_) => true,
        };
        if !holds {
            return Ok(true);
        }
    }
    Ok(false)
}
