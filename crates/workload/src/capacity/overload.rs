//! The load of a capacity search's last run: below the capacity, beyond it, and below it again.

use std::time::Duration;

use crate::executor::{Executor, MOST_DEFAULT_VUS, Stage, VuStage};
use crate::model::{Phase, Scenario, Workload};

/// Loads as multiples of the plan's, and how long each lasts.
#[derive(Debug, Clone, PartialEq)]
pub struct OverloadShape {
    /// The name of each phase, its load and its length.
    pub parts: Vec<(String, f64, Duration)>,
}

impl OverloadShape {
    /// Before, at so many times the capacity, and after, where the plan at a load of 1 offers the capacity.
    pub fn around(low: f64, factors: &[f64], each: Duration) -> OverloadShape {
        let mut parts = vec![("before".to_owned(), low, each)];
        parts.extend(factors.iter().map(|factor| (format!("{factor} times"), *factor, each)));
        parts.push(("after".to_owned(), low, each.max(Duration::from_secs(30))));
        OverloadShape { parts }
    }

    /// The workload with this shape instead of its own: each scenario at the load that it offers in `measured`, without
    /// objectives.
    pub fn apply_to(&self, workload: &Workload, measured: &Phase) -> Workload {
        let mut at = Duration::ZERO;
        let phase = |(name, _, length): &(String, f64, Duration)| {
            let start = at;
            at += *length;
            Phase { name: name.clone(), start, end: at }
        };
        let phases: Vec<Phase> = self.parts.iter().map(phase).collect();
        let scenarios = workload.scenarios.iter().filter(|scenario| scenario.runs_in(measured));
        Workload {
            phases,
            scenarios: scenarios.map(|scenario| self.scenario(scenario, measured)).collect(),
            objectives: Vec::new(),
            until_decided: None,
            profiles: Vec::new(),
            ..workload.clone()
        }
    }

    fn scenario(&self, scenario: &Scenario, measured: &Phase) -> Scenario {
        let executor = match scenario.executor.peak_vus() {
            None => {
                let rate = scenario.rate_in(measured);
                Executor::RampingArrivalRate {
                    start_rate: rate * self.parts.first().map_or(1.0, |(_, factor, _)| *factor),
                    stages: self.stages(|factor, over| Stage { to: rate * factor, over }),
                }
            }
            Some(vus) => {
                let scaled = |factor: f64| (f64::from(vus) * factor).round().max(1.0) as u32;
                Executor::RampingVus {
                    start_vus: scaled(self.parts.first().map_or(1.0, |(_, factor, _)| *factor)),
                    stages: self.stages(|factor, over| VuStage { to: scaled(factor), over }),
                    graceful_ramp_down: scenario.graceful_stop,
                }
            }
        };
        let most = self.parts.iter().map(|(_, factor, _)| *factor).fold(1.0, f64::max);
        let max_vus = match executor.peak_vus() {
            Some(vus) => vus,
            // No more files than the plan's own load or its defaults may need.
            None => {
                let scaled = (f64::from(scenario.max_vus) * most).ceil() as u32;
                scaled.min(scenario.max_vus.max(MOST_DEFAULT_VUS))
            }
        };
        Scenario { executor, start: Duration::ZERO, max_vus, ..scenario.clone() }
    }

    /// A jump to each load, and the time at it.
    fn stages<S>(&self, stage: impl Fn(f64, Duration) -> S) -> Vec<S> {
        self.parts
            .iter()
            .flat_map(|(_, factor, length)| [stage(*factor, Duration::ZERO), stage(*factor, *length)])
            .collect()
    }
}
