//! Before a run: how many observations each objective will have by the schedule, and how many it needs.

use std::time::Duration;

use figures::is_any_or;
use workload::offer::think_pace;
use workload::{
    Filter, Flow, Measure, MetricMeasure, MetricStatistic, Objective, Scenario, Schedule, Statistic, Step,
    Workload,
};

use crate::shares::{CONFIDENCE, SHARE_ERROR, assumed_effect};

/// The observations of one objective.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedObservations {
    pub name: String,
    /// Whether it is about requests, and not about an observed series.
    pub is_about_requests: bool,
    /// How many it will have; none where virtual users, the target's speed or a data file decide.
    pub expected: Option<u64>,
    /// How many iterations begin, where a script decides how many observations each makes.
    pub iterations: Option<u64>,
    /// Whether they may be fewer: as many as virtual users make whose requests take no time.
    pub is_at_most: bool,
    /// The fewest that can meet it, none of them beyond the bound, if each is independent; none for objectives that are
    /// not about a share of requests, or allow none beyond the bound.
    pub least: Option<u64>,
    /// The same with observations that cluster as much as is assumed without knowledge.
    pub needed: Option<u64>,
    /// How many observations act as one by that assumption.
    pub assumed_effect: f64,
    /// How long the plan takes to make what is needed; none where it makes none, or at no rate of its own.
    pub time_needed: Option<Duration>,
    /// Whether none may be beyond the bound: then one violates it, however many there are.
    pub allows_none: bool,
    /// The requests a second that the plan offers, where the objective asks for more completions a second.
    pub offered_below: Option<f64>,
}

impl ExpectedObservations {
    /// Whether it will have fewer than it needs.
    pub fn are_too_few(&self) -> bool {
        self.expected.zip(self.needed).is_some_and(|(expected, needed)| expected < needed)
    }

    /// Whether it will have enough, and less than twice that: a few requests beyond the bound leave it undecided.
    pub fn are_hardly_enough(&self) -> bool {
        !self.are_too_few()
            && self.expected.zip(self.needed).is_some_and(|(expected, needed)| expected < 2 * needed)
    }
}

/// The observations of every objective of `workload`, in the plan's order.
pub fn expected_observations(workload: &Workload) -> Vec<ExpectedObservations> {
    workload.objectives.iter().map(|objective| observations(workload, objective)).collect()
}

fn observations(workload: &Workload, objective: &Objective) -> ExpectedObservations {
    let confidence = workload.until_decided.as_ref().map_or(CONFIDENCE, |until| until.confidence);
    let is_about_requests = !matches!(objective.measure, Measure::Series { .. });
    let planned =
        is_about_requests.then(|| planned(workload, &objective.measure, &objective.filter)).flatten();
    // A script usually makes one an iteration, or more.
    let iterations = match planned {
        None if is_about_requests => iterations(workload, &objective.filter),
        _ => None,
    };
    let per_s = planned.as_ref().or(iterations.as_ref()).and_then(PlannedObservations::per_s);
    let offered = offered_rate(workload, objective);
    let allowed = allowed_share(objective);
    let is_share = |share: &f64| *share > SHARE_ERROR && *share < 1.0;
    let least = allowed.filter(is_share).map(|allowed| stats::fewest_without(allowed, confidence));
    let assumed_effect = match objective.measure {
        Measure::ErrorRate
        | Measure::CheckRate { .. }
        | Measure::Metric(MetricMeasure { statistic: MetricStatistic::NonzeroShare, .. }) => {
            stats::UNKNOWN_DESIGN_EFFECT
        }
        _ => assumed_effect(per_s.unwrap_or(0.0)),
    };
    let needed = least.map(|least| (least as f64 * assumed_effect).ceil() as u64);
    let time_needed = needed.zip(planned.as_ref()).and_then(|(needed, planned)| planned.time_of(needed));
    ExpectedObservations {
        name: objective.name.clone(),
        is_about_requests,
        is_at_most: planned.as_ref().is_some_and(|planned| planned.is_at_most),
        expected: planned.map(|planned| planned.count.round() as u64),
        iterations: iterations.map(|iterations| iterations.count.round() as u64),
        least,
        needed,
        assumed_effect,
        time_needed,
        allows_none: allowed.is_some_and(|share| share.abs() <= SHARE_ERROR),
        offered_below: offered
            .filter(|rate| !objective.comparison.is_upper() && *rate < objective.bound * (1.0 - SHARE_ERROR)),
    }
}

/// The share of observations that may be beyond the bound; none where the objective is not about such a share.
fn allowed_share(objective: &Objective) -> Option<f64> {
    let (is_upper, bound) = (objective.comparison.is_upper(), objective.bound);
    match &objective.measure {
        Measure::ResponseTime(Statistic::Quantile(q))
        | Measure::ServiceTime(Statistic::Quantile(q))
        | Measure::IterationTime(Statistic::Quantile(q))
        | Measure::Metric(MetricMeasure { statistic: MetricStatistic::Quantile(q), .. }) => {
            Some(if is_upper { 1.0 - q } else { *q })
        }
        Measure::ErrorRate
        | Measure::CheckRate { .. }
        | Measure::Metric(MetricMeasure { statistic: MetricStatistic::NonzeroShare, .. }) => {
            Some(if is_upper { bound } else { 1.0 - bound })
        }
        _ => None,
    }
}

/// Requests a second that the plan offers to an objective on a rate, over the phases in which it offers any.
fn offered_rate(workload: &Workload, objective: &Objective) -> Option<f64> {
    if !matches!(objective.measure, Measure::Goodput { .. } | Measure::Throughput) {
        return None;
    }
    let filter = &objective.filter;
    let (mut count, mut seconds) = (0.0, 0.0);
    for phase in workload.phases.iter().filter(|phase| is_any_or(filter.phase.as_ref(), &phase.name)) {
        let of_phase = Filter { phase: Some(phase.name.clone()), ..filter.clone() };
        let planned = planned(workload, &objective.measure, &of_phase)?;
        if planned.count > 0.0 {
            count += planned.count;
            seconds += phase.end.saturating_sub(phase.start).as_secs_f64();
        }
    }
    (seconds > 0.0).then(|| count / seconds)
}

/// How many observations the plan makes; none where virtual users, the target's speed or a data file decide.
pub(crate) fn planned_count(workload: &Workload, measure: &Measure, filter: &Filter) -> Option<u64> {
    planned(workload, measure, filter).map(|planned| planned.count.round() as u64)
}

/// Observations that the plan makes, and in which time.
struct PlannedObservations {
    count: f64,
    /// None where the target's speed decides.
    length: Option<Duration>,
    /// Whether virtual users make them, who think between requests.
    is_at_most: bool,
}

impl PlannedObservations {
    fn per_s(&self) -> Option<f64> {
        let seconds = self.length?.as_secs_f64();
        (seconds > 0.0).then(|| self.count / seconds)
    }

    fn time_of(&self, needed: u64) -> Option<Duration> {
        let seconds = self.length?.as_secs_f64() * needed as f64 / self.count;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

fn planned(workload: &Workload, measure: &Measure, filter: &Filter) -> Option<PlannedObservations> {
    planned_with(workload, filter, |scenario| per_iteration(scenario, measure, filter))
}

/// The iterations of scripts; none where the target's speed decides, or there is no script.
fn iterations(workload: &Workload, filter: &Filter) -> Option<PlannedObservations> {
    let each = |scenario: &Scenario| matches!(scenario.flow, Flow::Script { .. }).then_some(1.0);
    planned_with(workload, filter, each)
}

/// What the plan makes if each iteration of a scenario makes so many; none if the number of one is not known.
fn planned_with(
    workload: &Workload,
    filter: &Filter,
    each: impl Fn(&Scenario) -> Option<f64>,
) -> Option<PlannedObservations> {
    let (start, end) = match &filter.phase {
        Some(name) => {
            workload.phases.iter().find(|phase| phase.name == *name).map(|phase| (phase.start, phase.end))?
        }
        None => (Duration::ZERO, Duration::MAX),
    };
    let mut planned = PlannedObservations { count: 0.0, length: Some(Duration::ZERO), is_at_most: false };
    let is_counted =
        |scenario: &&Scenario| filter.scenario.as_ref().is_none_or(|name| *name == scenario.name);
    for scenario in workload.scenarios.iter().filter(is_counted) {
        let each = each(scenario)?;
        if each == 0.0 {
            continue;
        }
        let stop = scenario.start + scenario.executor.duration();
        let (from, to) = (start.clamp(scenario.start, stop), end.clamp(scenario.start, stop));
        let (iterations, length) = match Schedule::new(&scenario.executor) {
            Some(schedule) => {
                (schedule.arrivals_between(from - scenario.start, to - scenario.start), Some(to - from))
            }
            None => match scenario.executor.iterations().filter(|_| filter.phase.is_none()) {
                Some(iterations) => (iterations, None),
                None => {
                    planned.is_at_most = true;
                    (most_iterations(scenario, to - from)?, Some(to - from))
                }
            },
        };
        planned.count += iterations as f64 * each;
        planned.length = planned.length.zip(length).map(|(longest, length)| longest.max(length));
    }
    Some(planned)
}

/// The most iterations that virtual users begin in this time: one each, and those that their think times allow.
fn most_iterations(scenario: &Scenario, time: Duration) -> Option<u64> {
    let paced = think_pace(scenario)?.most_per_second * time.as_secs_f64();
    let first = if time.is_zero() { 0 } else { scenario.executor.peak_vus()? };
    Some(paced.ceil() as u64 + u64::from(first))
}

/// How many of the objective's observations an iteration makes, if no step fails; none where a data file or
/// a script decides, or the number of virtual users, which send setup steps once.
fn per_iteration(scenario: &Scenario, measure: &Measure, filter: &Filter) -> Option<f64> {
    if matches!(measure, Measure::IterationTime(_)) {
        return Some(if filter.endpoint.is_none() { 1.0 } else { 0.0 });
    }
    let each = |step: &Step| {
        if is_any_or(filter.endpoint.as_ref(), &step.name) { per_step(step, measure) } else { 0.0 }
    };
    if filter.endpoint.is_some() && scenario.setup.iter().any(|step| each(step) > 0.0) {
        return None;
    }
    match &scenario.flow {
        Flow::Sequence(steps) => Some(steps.iter().map(each).sum()),
        Flow::Mix(steps) => {
            let all: f64 = steps.iter().map(|weighted| f64::from(weighted.weight)).sum();
            let counted = steps.iter().map(|weighted| f64::from(weighted.weight) * each(&weighted.step));
            Some(counted.sum::<f64>() / all.max(1.0))
        }
        Flow::InTurn { steps, .. } => {
            let first = steps.first().map_or(0.0, each);
            steps.iter().all(|step| each(step) == first).then_some(first)
        }
        Flow::Script { .. } => None,
    }
}

/// How many of its observations a request makes: one, or its checks.
fn per_step(step: &Step, measure: &Measure) -> f64 {
    let Measure::CheckRate { check } = measure else { return 1.0 };
    step.expect.check_names().iter().filter(|name| is_any_or(check.as_ref(), name)).count() as f64
}

#[cfg(test)]
mod tests;
