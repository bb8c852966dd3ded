//! The stop rules that a workload's objectives make: which observations count for each, and when it is evaluated.

use std::collections::BTreeMap;

use evidence::stop_rule::{Counted, StopRule};
use evidence::{Key, Metric, Outcome};
use workload::{Measure, Objective, Scenario, Workload};

use crate::observation::{dropped_requests, metric_of};
use crate::row_key::RowKey;

/// A rule for each objective that stops the run when it fails.
pub fn stop_rules(workload: &Workload) -> Vec<StopRule> {
    workload.objectives.iter().filter_map(|objective| stop_rule(workload, objective)).collect()
}

fn stop_rule(workload: &Workload, objective: &Objective) -> Option<StopRule> {
    let after = objective.abort_after?;
    let (comparison, bound) = (objective.comparison, objective.bound);
    Some(StopRule {
        objective: objective.name.clone(),
        source: objective.source.clone(),
        not_before: workload.window_start(&objective.filter) + after,
        watched: objective.measure.watched()?,
        counted: counted(workload, objective),
        holds: Box::new(move |value| comparison.holds(value, bound)),
    })
}

/// What a key's observations are to an objective: as the judge counts them.
pub(crate) fn counted(workload: &Workload, objective: &Objective) -> Box<dyn Fn(&Key) -> Counted + Send> {
    let (filter, measure) = (objective.filter.clone(), objective.measure.clone());
    let names = |scenario: &Scenario| {
        let steps = workload.steps_of_sequence(&scenario.name).iter().map(|step| step.name.clone());
        (scenario.name.clone(), steps.collect())
    };
    let sequences: BTreeMap<String, Vec<String>> = workload.scenarios.iter().map(names).collect();
    Box::new(move |key| {
        let row = RowKey::from(key);
        let ended = match key.outcome.unwrap_or(Outcome::Ok) {
            _ if !row.matches(&filter) => Counted::Ignored,
            Outcome::Ok => Counted::Good,
            outcome if outcome.is_failure() => Counted::Bad(1),
            _ => Counted::Ignored,
        };
        match (&measure, key.metric) {
            (
                Measure::ResponseTime(_)
                | Measure::ErrorRate
                | Measure::ServiceTime(_)
                | Measure::IterationTime(_)
                | Measure::Throughput
                | Measure::Goodput { .. },
                metric,
            ) if metric == metric_of(&measure) => ended,
            (Measure::ResponseTime(_), Metric::DroppedCap | Metric::DroppedLate)
            | (Measure::ErrorRate, Metric::DroppedCap) => {
                let steps = sequences.get(&*row.scenario).into_iter().flatten();
                Counted::Bad(dropped_requests(steps.map(String::as_str), &filter, &row))
            }
            (Measure::IterationTime(_), Metric::DroppedCap | Metric::DroppedLate) => {
                Counted::Bad(u64::from(row.with_endpoint("").matches(&filter)))
            }
            (Measure::CheckRate { check }, Metric::CheckPassed | Metric::CheckFailed)
                if row.matches(&filter) && is_check(key, check.as_deref()) =>
            {
                if key.metric == Metric::CheckPassed { Counted::Good } else { Counted::Bad(1) }
            }
            _ => Counted::Ignored,
        }
    })
}

fn is_check(key: &Key, check: Option<&str>) -> bool {
    check.is_none_or(|check| key.tags.get("check").is_some_and(|name| &**name == check))
}
