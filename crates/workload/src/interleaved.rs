//! A workload as one arm's share of the load of two ([`Turns`]).

use serde::{Deserialize, Serialize};

use crate::model::Workload;
use crate::turns::{Interleaved, Turns};

#[cfg(test)]
mod tests;

/// What two arms are offered together, measured by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SharedLoad {
    /// The plan's load, of which each arm gets half.
    #[default]
    Half,
    /// Twice the plan's load, so that each arm gets all of it.
    Full,
}

impl SharedLoad {
    fn factor(self) -> f64 {
        match self {
            SharedLoad::Half => 1.0,
            SharedLoad::Full => 2.0,
        }
    }
}

impl Workload {
    /// Whether arrivals alone decide its load, so that each can go to either of two arms.
    pub fn can_be_interleaved(&self) -> bool {
        self.scenarios.iter().all(|scenario| scenario.executor.is_open())
    }

    /// Keep one arm's share of the load of two, of which there is `load` times as much as is usual.
    pub fn interleave(&mut self, turns: Turns, shared: SharedLoad, load: f64) {
        let mut both = Vec::new();
        for scenario in &mut self.scenarios {
            scenario.executor.scale_rate(shared.factor() * load);
            both.push(scenario.executor.clone());
            scenario.executor.scale_rate(turns.share());
        }
        self.interleaved = Some(Interleaved { turns, load, both });
    }
}
