//! What endpoints are called in tables and plots.

use std::collections::{BTreeMap, BTreeSet};

use evidence::key::Name;

/// The label of whole iterations.
const WHOLE_ITERATION: &str = "(whole iteration)";

/// The scenarios that have an endpoint, by the endpoint's name.
#[derive(Debug, Default)]
pub(super) struct Labels(BTreeMap<Name, BTreeSet<Name>>);

impl Labels {
    pub(super) fn add(&mut self, scenario: &Name, endpoint: &Name) {
        self.0.entry(endpoint.clone()).or_default().insert(scenario.clone());
    }

    /// The endpoint's name, with its scenario's where several scenarios of the run have an endpoint of that name. Whole
    /// iterations are named after their scenario as soon as there are two.
    pub(super) fn of(&self, scenario: &str, endpoint: &str) -> String {
        if endpoint.is_empty() {
            let all: BTreeSet<&Name> = self.0.values().flatten().collect();
            return label(scenario, WHOLE_ITERATION, all.len());
        }
        label(scenario, endpoint, self.0.get(endpoint).map_or(0, BTreeSet::len))
    }
}

fn label(scenario: &str, name: &str, scenarios: usize) -> String {
    if scenarios > 1 { format!("{scenario} / {name}") } else { name.to_owned() }
}
