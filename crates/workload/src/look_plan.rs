//! When a run that ends as soon as it is decided is looked at, and which objectives need the whole of it.

use std::time::Duration;

use crate::model::Workload;
use crate::objective::{Filter, Measure, Objective, Statistic};
use crate::until_decided::{EARLIEST_LOOK, LOOKS, UntilDecided, WholeRunObjective};

/// From where to where arrivals of an objective are due, from the start of the run.
#[derive(Debug, Clone, Copy)]
struct ObjectiveTime {
    start: Duration,
    end: Duration,
}

impl Workload {
    /// When the first observation that counts can be due.
    pub fn window_start(&self, filter: &Filter) -> Duration {
        let phase = self.phases.iter().find(|phase| Some(&phase.name) == filter.phase.as_ref());
        let scenario =
            self.scenarios.iter().find(|scenario| Some(&scenario.name) == filter.scenario.as_ref());
        phase.map(|phase| phase.start).max(scenario.map(|scenario| scenario.start)).unwrap_or_default()
    }

    /// When a run that ends as soon as it is decided is judged: after equal parts of the time that the objectives count, in
    /// whole seconds, but for those before [`EARLIEST_LOOK`].
    pub fn planned_looks(&self) -> UntilDecided {
        let whole_run = self.objectives.iter().filter_map(|objective| {
            let why = self.needs_whole_run(objective)?.to_owned();
            Some(WholeRunObjective { objective: objective.name.clone(), why })
        });
        UntilDecided::new(self.looks(), whole_run.collect())
    }

    fn looks(&self) -> Vec<Duration> {
        let mut times: Vec<ObjectiveTime> =
            self.objectives.iter().map(|objective| self.time_of(&objective.filter)).collect();
        times.sort_by_key(|time| time.start);
        let counted = times.iter().fold(Vec::new(), merged);
        let length: Duration = counted.iter().map(|time| time.end.saturating_sub(time.start)).sum();
        let parts = (1..LOOKS).map(|part| length * part / LOOKS).filter(|passed| *passed >= EARLIEST_LOOK);
        let mut looks: Vec<Duration> = parts.filter_map(|passed| after(&counted, passed)).collect();
        looks.dedup();
        looks
    }

    /// When what a filter selects is due.
    fn time_of(&self, filter: &Filter) -> ObjectiveTime {
        let phase = self.phases.iter().find(|phase| Some(&phase.name) == filter.phase.as_ref());
        let scenario =
            self.scenarios.iter().find(|scenario| Some(&scenario.name) == filter.scenario.as_ref());
        let run_end = self.phases.last().map_or(Duration::ZERO, |phase| phase.end);
        let ends = [
            phase.map(|phase| phase.end),
            scenario.map(|scenario| scenario.start + scenario.executor.duration()),
            Some(run_end),
        ];
        ObjectiveTime {
            start: self.window_start(filter),
            end: ends.into_iter().flatten().min().unwrap_or_default(),
        }
    }

    /// Why a part of the run cannot decide this objective.
    fn needs_whole_run(&self, objective: &Objective) -> Option<&'static str> {
        let ObjectiveTime { start, end } = self.time_of(&objective.filter);
        let is_in = |start_of: Duration, length: Duration| start_of < end && start_of + length > start;
        let ends_when_done = self
            .scenarios
            .iter()
            .any(|s| s.executor.iterations().is_some() && is_in(s.start, s.executor.duration()));
        match &objective.measure {
            Measure::Series { .. } => Some("is about an observed series"),
            Measure::Metric(_) => Some("is a threshold of a script"),
            Measure::Throughput => Some("is about a rate, whose limits are not known"),
            Measure::ResponseTime(statistic)
            | Measure::ServiceTime(statistic)
            | Measure::IterationTime(statistic)
                if !matches!(statistic, Statistic::Quantile(_)) =>
            {
                Some("is about a mean, a highest or a lowest time, whose limits are not known")
            }
            _ if allows_none(objective) => Some("allows no failure in the whole run"),
            _ if ends_when_done => Some("counts iterations that are planned by number, not by time"),
            _ if !self.is_load_constant(start, end) => {
                Some("counts a time in which the planned load changes: name a phase of constant load")
            }
            _ => None,
        }
    }
}

/// Whether a single arrival on the wrong side violates it.
fn allows_none(objective: &Objective) -> bool {
    let is_upper = objective.comparison.is_upper();
    match objective.measure {
        Measure::ErrorRate => is_upper && objective.bound <= 0.0,
        Measure::CheckRate { .. } => !is_upper && objective.bound >= 1.0,
        _ => false,
    }
}

/// Times in order, those that overlap as one.
fn merged(mut all: Vec<ObjectiveTime>, next: &ObjectiveTime) -> Vec<ObjectiveTime> {
    match all.last_mut() {
        Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
        _ => all.push(*next),
    }
    all
}

/// The first whole second at which so much of these times has passed.
fn after(times: &[ObjectiveTime], passed: Duration) -> Option<Duration> {
    let mut left = passed;
    for time in times {
        let length = time.end.saturating_sub(time.start);
        if left <= length {
            return Some(Duration::from_secs((time.start + left).as_secs_f64().ceil() as u64));
        }
        left -= length;
    }
    None
}
