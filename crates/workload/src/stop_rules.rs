//! The stop rules that a workload's objectives make: which observations count for each, and when it is evaluated.

use std::time::Duration;

use evidence::stop_rule::{Counted, StopRule, Watched};
use evidence::{Key, Metric, Outcome};

use crate::model::{Flow, Workload};
use crate::objective::{Filter, Measure, Objective, Statistic};

impl Workload {
    /// A rule for each objective that stops the run when it fails.
    pub fn stop_rules(&self) -> Vec<StopRule> {
        self.objectives.iter().filter_map(|objective| self.stop_rule(objective)).collect()
    }

    fn stop_rule(&self, objective: &Objective) -> Option<StopRule> {
        let after = objective.abort_after?;
        let (comparison, bound) = (objective.comparison, objective.bound);
        Some(StopRule {
            objective: objective.name.clone(),
            source: objective.source.clone(),
            not_before: self.window_start(&objective.filter) + after,
            watched: objective.measure.watched()?,
            counted: self.counted(objective),
            holds: Box::new(move |value| comparison.holds(value, bound)),
        })
    }

    /// When the first observation that counts can be due.
    pub(crate) fn window_start(&self, filter: &Filter) -> Duration {
        let phase = self.phases.iter().find(|phase| Some(&phase.name) == filter.phase.as_ref());
        let scenario =
            self.scenarios.iter().find(|scenario| Some(&scenario.name) == filter.scenario.as_ref());
        phase.map(|phase| phase.start).max(scenario.map(|scenario| scenario.start)).unwrap_or_default()
    }

    /// What a key's observations are to an objective: as the judge counts them.
    fn counted(&self, objective: &Objective) -> Box<dyn Fn(&Key) -> Counted + Send> {
        let (filter, measure) = (objective.filter.clone(), objective.measure.clone());
        let sequences: Vec<(String, Vec<String>)> = self.sequences();
        Box::new(move |key| {
            // A dropped arrival of a sequence would have made every step of it.
            let steps = sequences.iter().filter(|(scenario, _)| **scenario == *key.scenario);
            let missed = match key.endpoint.is_empty() {
                true => {
                    steps.flat_map(|(_, steps)| steps).filter(|step| filter.selects(key, step)).count() as u64
                }
                false => u64::from(filter.selects(key, &key.endpoint)),
            };
            let ended = match key.outcome.unwrap_or(Outcome::Ok) {
                _ if !filter.selects(key, &key.endpoint) => Counted::Ignored,
                Outcome::Ok => Counted::Good,
                outcome if outcome.is_failure() => Counted::Bad(1),
                _ => Counted::Ignored,
            };
            match (&measure, key.metric) {
                (Measure::ResponseTime(_) | Measure::ErrorRate, Metric::ResponseTime)
                | (Measure::ServiceTime(_), Metric::ServiceTime)
                | (Measure::IterationTime(_), Metric::IterationTime) => ended,
                (Measure::ResponseTime(_), Metric::DroppedCap | Metric::DroppedLate)
                | (Measure::ErrorRate, Metric::DroppedCap) => Counted::Bad(missed),
                (Measure::IterationTime(_), Metric::DroppedCap | Metric::DroppedLate) => {
                    Counted::Bad(u64::from(filter.selects(key, "")))
                }
                (Measure::CheckRate { check }, Metric::CheckPassed | Metric::CheckFailed)
                    if filter.selects(key, &key.endpoint) && is_check(key, check.as_deref()) =>
                {
                    if key.metric == Metric::CheckPassed { Counted::Good } else { Counted::Bad(1) }
                }
                _ => Counted::Ignored,
            }
        })
    }

    /// The names of the steps of every sequence, by scenario.
    fn sequences(&self) -> Vec<(String, Vec<String>)> {
        let steps = |flow: &Flow| match flow {
            Flow::Sequence(steps) => steps.iter().map(|step| step.name.clone()).collect(),
            Flow::Mix(_) | Flow::InTurn { .. } | Flow::Script { .. } => Vec::new(),
        };
        self.scenarios.iter().map(|scenario| (scenario.name.clone(), steps(&scenario.flow))).collect()
    }
}

fn is_check(key: &Key, check: Option<&str>) -> bool {
    check.is_none_or(|check| key.tags.get("check").is_some_and(|name| &**name == check))
}

impl Filter {
    /// Whether observations of this endpoint in the key's scenario and phase count. The run's setup and its
    /// teardown are no load.
    fn selects(&self, key: &Key, endpoint: &str) -> bool {
        let is_any_or = |filter: &Option<String>, name: &str| filter.as_ref().is_none_or(|f| f == name);
        !Key::is_beside_load(&key.phase)
            && is_any_or(&self.endpoint, endpoint)
            && is_any_or(&self.scenario, &key.scenario)
            && is_any_or(&self.phase, &key.phase)
    }
}

impl Measure {
    /// What a stop rule compares; none where it cannot be evaluated during the run.
    pub fn watched(&self) -> Option<Watched> {
        match self {
            Measure::ResponseTime(statistic)
            | Measure::ServiceTime(statistic)
            | Measure::IterationTime(statistic) => Some(match statistic {
                Statistic::Quantile(q) => Watched::Quantile(*q),
                Statistic::Mean => Watched::Mean,
                Statistic::Max => Watched::Max,
                Statistic::Min => Watched::Min,
            }),
            Measure::ErrorRate => Some(Watched::BadShare),
            Measure::CheckRate { .. } => Some(Watched::GoodShare),
            Measure::Goodput { .. } | Measure::Throughput | Measure::Series { .. } | Measure::Metric(_) => {
                None
            }
        }
    }
}
