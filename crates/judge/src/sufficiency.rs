//! Before a run: how many observations each objective will have by the schedule, and how many it needs.

use std::time::Duration;

use workload::{Comparison, Filter, Flow, Measure, Objective, Scenario, Schedule, Statistic, Step, Workload};

use crate::shares::CONFIDENCE;

/// The observations of one objective.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedObservations {
    /// The objective's name.
    pub name: String,
    /// How many it will have; none where virtual users, the target's speed or a data file decide.
    pub expected: Option<u64>,
    /// The fewest that can meet it, none of them beyond the bound, if each is independent; none for objectives that are
    /// not about a share of requests.
    pub least: Option<u64>,
    /// The same with observations that cluster as much as is assumed without knowledge.
    pub needed: Option<u64>,
    /// How long the plan takes to make what is needed; none where it makes none, or at no rate of its own.
    pub time_needed: Option<Duration>,
}

impl ExpectedObservations {
    /// Whether it will have fewer than it needs.
    pub fn are_too_few(&self) -> bool {
        self.expected.zip(self.needed).is_some_and(|(expected, needed)| expected < needed)
    }
}

/// The observations of every objective of `workload`, in the plan's order.
pub fn expected_observations(workload: &Workload) -> Vec<ExpectedObservations> {
    workload.objectives.iter().map(|objective| observations(workload, objective)).collect()
}

fn observations(workload: &Workload, objective: &Objective) -> ExpectedObservations {
    let confidence = workload.until_decided.as_ref().map_or(CONFIDENCE, |until| until.confidence);
    let least = allowed_share(objective).map(|allowed| stats::fewest_without(allowed, confidence));
    let needed = least.map(|least| (least as f64 * stats::UNKNOWN_DESIGN_EFFECT) as u64);
    let is_about_requests = !matches!(objective.measure, Measure::Series { .. });
    let planned =
        Some(objective).filter(|_| is_about_requests).and_then(|objective| planned(workload, objective));
    let time_needed = needed.zip(planned.as_ref()).and_then(|(needed, planned)| planned.time_of(needed));
    ExpectedObservations {
        name: objective.name.clone(),
        expected: planned.map(|planned| planned.count.round() as u64),
        least,
        needed,
        time_needed,
    }
}

/// The share of observations that may be beyond the bound; none where the objective is not about such a share.
fn allowed_share(objective: &Objective) -> Option<f64> {
    let is_upper = matches!(objective.comparison, Comparison::Below | Comparison::AtMost);
    let share = match &objective.measure {
        Measure::ResponseTime(Statistic::Quantile(q))
        | Measure::ServiceTime(Statistic::Quantile(q))
        | Measure::IterationTime(Statistic::Quantile(q))
            if is_upper =>
        {
            1.0 - q
        }
        Measure::ErrorRate if is_upper => objective.bound,
        Measure::CheckRate { .. } if !is_upper => 1.0 - objective.bound,
        _ => return None,
    };
    (share > 0.0 && share < 1.0).then_some(share)
}

/// Observations that the plan makes, and in which time.
struct PlannedObservations {
    count: f64,
    /// None where the target's speed decides.
    length: Option<Duration>,
}

impl PlannedObservations {
    fn time_of(&self, needed: u64) -> Option<Duration> {
        let seconds = self.length?.as_secs_f64() * needed as f64 / self.count;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

fn planned(workload: &Workload, objective: &Objective) -> Option<PlannedObservations> {
    let filter = &objective.filter;
    let (start, end) = match &filter.phase {
        Some(name) => {
            workload.phases.iter().find(|phase| phase.name == *name).map(|phase| (phase.start, phase.end))?
        }
        None => (Duration::ZERO, Duration::MAX),
    };
    let mut planned = PlannedObservations { count: 0.0, length: Some(Duration::ZERO) };
    let is_counted =
        |scenario: &&Scenario| filter.scenario.as_ref().is_none_or(|name| *name == scenario.name);
    for scenario in workload.scenarios.iter().filter(is_counted) {
        let each = per_iteration(scenario, &objective.measure, filter)?;
        if each == 0.0 {
            continue;
        }
        let stop = scenario.start + scenario.executor.duration();
        let (from, to) = (start.clamp(scenario.start, stop), end.clamp(scenario.start, stop));
        let (iterations, length) = match Schedule::new(&scenario.executor) {
            Some(schedule) => {
                (schedule.arrivals_between(from - scenario.start, to - scenario.start), Some(to - from))
            }
            None => (scenario.executor.iterations().filter(|_| filter.phase.is_none())?, None),
        };
        planned.count += iterations as f64 * each;
        planned.length = planned.length.zip(length).map(|(longest, length)| longest.max(length));
    }
    Some(planned)
}

/// How many of the objective's observations an iteration makes, if no step fails; none where a data file decides, or
/// the number of virtual users, which send setup steps once.
fn per_iteration(scenario: &Scenario, measure: &Measure, filter: &Filter) -> Option<f64> {
    let is_counted = |step: &Step| filter.endpoint.as_ref().is_none_or(|name| *name == step.name);
    if matches!(measure, Measure::IterationTime(_)) {
        return Some(if filter.endpoint.is_none() { 1.0 } else { 0.0 });
    }
    if filter.endpoint.is_some() && scenario.setup.iter().any(is_counted) {
        return None;
    }
    match &scenario.flow {
        Flow::Sequence(steps) => Some(steps.iter().filter(|step| is_counted(step)).count() as f64),
        Flow::Mix(steps) => {
            let all: f64 = steps.iter().map(|weighted| f64::from(weighted.weight)).sum();
            let counted = steps.iter().filter(|weighted| is_counted(&weighted.step));
            Some(counted.map(|weighted| f64::from(weighted.weight)).sum::<f64>() / all.max(1.0))
        }
        Flow::InTurn { steps, .. } if steps.iter().all(is_counted) => Some(1.0),
        Flow::InTurn { steps, .. } if !steps.iter().any(is_counted) => Some(0.0),
        Flow::InTurn { .. } => None,
    }
}

#[cfg(test)]
mod tests;
