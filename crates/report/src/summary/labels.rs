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

    /// The endpoint's name, with its scenario's where several scenarios of the run have an endpoint of that name.
    pub(super) fn of(&self, scenario: &str, endpoint: &str) -> String {
        let name = if endpoint.is_empty() { WHOLE_ITERATION } else { endpoint };
        match self.0.get(endpoint) {
            Some(scenarios) if scenarios.len() > 1 => format!("{scenario} / {name}"),
            _ => name.to_owned(),
        }
    }
}
