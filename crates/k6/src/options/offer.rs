//! The workload of a script.

use std::time::Duration;

use workload::Workload;
use workload::model::{Phase, Scenario};

use super::derive::ConsolidatedOptions;
use super::shape::ScenarioShape;

/// The name of the one phase, as of a plan without phases.
const PHASE: &str = "run";
/// The length of a phase whose load takes no time.
const SHORTEST_PHASE: Duration = Duration::from_secs(1);

impl ConsolidatedOptions {
    /// The workload of this name: the scenarios, with the run's tags where they have none of the same name, and one phase
    /// until nothing is started any more. It has no objectives, which thresholds are not, and no targets, which a script
    /// meets while it runs.
    pub fn workload(&self, name: &str) -> Workload {
        let end = self.offered.iter().map(|scenario| scenario.start + scenario.executor.duration()).max();
        let end = end.unwrap_or_default().max(SHORTEST_PHASE);
        Workload {
            phases: vec![Phase { name: PHASE.to_owned(), start: Duration::ZERO, end }],
            scenarios: self.offered.iter().map(|scenario| self.tagged(scenario)).collect(),
            ..Workload::named(name)
        }
    }

    fn tagged(&self, shape: &ScenarioShape) -> Scenario {
        let mut tags = self.options.tags.clone().unwrap_or_default();
        tags.extend(shape.tags.clone());
        Scenario { tags, ..shape.scenario() }
    }
}
