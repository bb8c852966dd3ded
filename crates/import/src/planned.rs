//! What a plan adds to an imported run: its phases, and the scenarios of endpoints.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::Name;

/// The name of the only phase of an imported run without a plan.
pub const PHASE: &str = "run";

/// The phases and scenarios of the run, from its plan.
#[derive(Debug, Clone)]
pub struct PlannedRun {
    /// Ascending, without gaps; at least one.
    phases: Vec<PlannedPhase>,
    /// The scenario of each endpoint that only one scenario has, for sources without scenarios.
    scenarios: BTreeMap<String, Name>,
}

#[derive(Debug, Clone)]
struct PlannedPhase {
    name: Name,
    end: Duration,
}

impl Default for PlannedRun {
    /// A run without a plan: one phase.
    fn default() -> PlannedRun {
        let phase = PlannedPhase { name: PHASE.into(), end: Duration::MAX };
        PlannedRun { phases: vec![phase], scenarios: BTreeMap::new() }
    }
}

impl PlannedRun {
    /// A run with these phases, as name and end, ascending, and the scenarios of these endpoints.
    pub fn new<'p>(
        phases: impl IntoIterator<Item = (&'p str, Duration)>,
        scenarios: BTreeMap<String, String>,
    ) -> PlannedRun {
        let planned = |phase: (&str, Duration)| PlannedPhase { name: phase.0.into(), end: phase.1 };
        let phases: Vec<PlannedPhase> = phases.into_iter().map(planned).collect();
        let scenarios = scenarios.into_iter().map(|(endpoint, name)| (endpoint, name.into())).collect();
        if phases.is_empty() { PlannedRun::default() } else { PlannedRun { phases, scenarios } }
    }

    /// The phase at this time since the start of the run; the last one for what ends after it.
    pub(crate) fn phase_at(&self, at: Duration) -> Name {
        let found = self.phases.iter().find(|phase| at < phase.end).or(self.phases.last());
        found.map_or_else(|| PHASE.into(), |phase| phase.name.clone())
    }

    /// The scenario of a request whose source names none.
    pub(crate) fn scenario_of(&self, endpoint: &str) -> Option<Name> {
        self.scenarios.get(endpoint).cloned()
    }
}
