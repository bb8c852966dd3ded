//! What a row of figures is about.

use evidence::{Key, Name, Scope};
use workload::{Filter, Workload};

/// The phase, scenario and endpoint that a row belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The phase in which its requests were due.
    pub phase: Name,
    /// The scenario.
    pub scenario: Name,
    /// Empty for whole iterations.
    pub endpoint: Name,
}

impl RowKey {
    /// The scope of a finding about this row.
    pub fn scope(&self) -> Scope {
        let some = |name: &Name| (!name.is_empty()).then(|| name.to_string());
        let (phase, scenario) = (some(&self.phase), some(&self.scenario));
        Scope { phase, scenario, endpoint: some(&self.endpoint), ..Scope::default() }
    }

    /// In words: `list` in `steady`, or iterations of `play` in `steady`.
    pub fn describe(&self) -> String {
        match &*self.endpoint {
            "" => format!("iterations of `{}` in `{}`", self.scenario, self.phase),
            endpoint => format!("`{endpoint}` in `{}`", self.phase),
        }
    }

    /// The same phase and scenario, with another endpoint.
    #[must_use]
    pub fn with_endpoint(&self, endpoint: &str) -> RowKey {
        RowKey { endpoint: endpoint.into(), ..self.clone() }
    }

    /// Whether an objective with this filter counts the row. The run's setup and its teardown are not load.
    pub fn matches(&self, filter: &Filter) -> bool {
        is_any_or(filter.phase.as_ref(), &self.phase)
            && !Key::is_beside_load(&self.phase)
            && is_any_or(filter.scenario.as_ref(), &self.scenario)
            && is_any_or(filter.endpoint.as_ref(), &self.endpoint)
    }

    /// Whether a finding of this scope applies to the row. Whole iterations are in the scope of each endpoint.
    pub fn is_in(&self, scope: &Scope) -> bool {
        is_any_or(scope.phase.as_ref(), &self.phase)
            && is_any_or(scope.scenario.as_ref(), &self.scenario)
            && (self.endpoint.is_empty() || is_any_or(scope.endpoint.as_ref(), &self.endpoint))
    }
}

/// Where a row is in the plan. What the plan does not have comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanPosition {
    /// 0 for the set-up, then the phases in their order.
    pub phase: usize,
    scenario: usize,
    step: usize,
}

impl RowKey {
    /// Its place among the rows.
    pub fn position(&self, workload: &Workload) -> PlanPosition {
        let phase = workload.phases.iter().position(|phase| *phase.name == *self.phase);
        let scenario = workload.scenarios.iter().position(|scenario| *scenario.name == *self.scenario);
        let step = scenario
            .and_then(|at| workload.scenarios[at].flow.steps().position(|step| *step.name == *self.endpoint));
        PlanPosition {
            phase: if *self.phase == *Key::SETUP { 0 } else { phase.map_or(usize::MAX, |at| at + 1) },
            scenario: scenario.unwrap_or(usize::MAX),
            step: step.unwrap_or(usize::MAX),
        }
    }
}

impl From<&Key> for RowKey {
    fn from(key: &Key) -> RowKey {
        RowKey { phase: key.phase.clone(), scenario: key.scenario.clone(), endpoint: key.endpoint.clone() }
    }
}

impl Default for RowKey {
    fn default() -> Self {
        let empty = Name::from("");
        RowKey { phase: empty.clone(), scenario: empty.clone(), endpoint: empty }
    }
}

/// Whether `name` is the selected one, or none is selected.
pub fn is_any_or(selected: Option<&String>, name: &str) -> bool {
    selected.is_none_or(|selected| selected == name)
}
