//! The names of a run whose loops are in several processes. Each process has a name of its own for what it meets, up to a
//! limit, and counts the rest together. What they hand over is folded once more by the same limit, so that a run has as many names
//! as one process would have given it.

use std::sync::Arc;

use evidence::metric::MetricKey;
use evidence::{Exemplar, Key, Metric, Name, Tick};

use crate::index::ScenarioIndex;
use crate::metrics::MetricDirectory;
use crate::program::{OTHERS, Program};

/// The names of a run, in the order in which its loops announce them. The program's own directory has them, whose load is
/// offered elsewhere.
#[derive(Debug)]
pub struct MergedNames {
    program: Arc<Program>,
    metrics: MetricDirectory,
}

impl MergedNames {
    /// With the names of the program's own steps.
    pub fn new(program: Arc<Program>) -> MergedNames {
        MergedNames { program, metrics: MetricDirectory::default() }
    }

    /// Count what is announced in this tick for names that there is space for, and the rest together.
    pub fn fold(&self, tick: &mut Tick) {
        tick.new_keys.iter_mut().for_each(|(_, key)| self.fold_key(key));
        for Exemplar { scenario, endpoint, .. } in &mut tick.exemplars {
            self.fold_endpoint(scenario, endpoint);
        }
        tick.metrics.new.iter_mut().for_each(|(_, key)| self.fold_metric(key));
    }

    /// What a process whose load is over has folded itself; see [`Program::folded_names`].
    pub fn add_folded(&self, fingerprints: &[u64]) {
        self.program.directory.add_folded(fingerprints);
    }

    fn fold_key(&self, key: &mut Key) {
        if !key.endpoint.is_empty() {
            return self.fold_endpoint(&key.scenario, &mut key.endpoint);
        }
        // Checks of plans belong to an endpoint.
        if matches!(key.metric, Metric::CheckPassed | Metric::CheckFailed)
            && let Some(name) = key.tags.get_mut(Key::CHECK)
            && **name != *OTHERS
        {
            let directory = &self.program.directory;
            name.clone_from(directory.check(directory.check_for(name)));
        }
    }

    /// Names of the run's setup come from this process, and are folded already.
    fn fold_endpoint(&self, scenario: &Name, endpoint: &mut Name) {
        // What a process has folded itself takes no name's place.
        if **endpoint == *OTHERS {
            return;
        }
        let scenarios = &self.program.shape.scenarios;
        if let Some(index) = scenarios.iter().position(|known| known.name == *scenario) {
            let directory = &self.program.directory;
            let place = directory.endpoint_for(ScenarioIndex(index), endpoint);
            endpoint.clone_from(&directory.endpoint(place).name);
        }
    }

    fn fold_metric(&self, key: &mut MetricKey) {
        if key.is_folded() {
            return;
        }
        let own = MetricKey { phase: Name::from(""), ..key.clone() };
        // Space for the wider one is kept before the first of its parts takes it, as loops do.
        let wider = own.wider().filter(|wider| self.metrics.has_own_name(wider));
        if self.metrics.has_own_name(&own) {
            return;
        }
        let folded = wider.unwrap_or_else(|| MetricKey::folded(key.kind));
        *key = MetricKey { phase: key.phase.clone(), ..folded };
    }
}

#[cfg(test)]
mod tests;
