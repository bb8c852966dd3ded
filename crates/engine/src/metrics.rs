//! The metrics that iterations make: numbered by each loop when it first meets them, folded past a limit alike on all, and
//! counted for the phases of the load.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind, MetricTick};
use evidence::{Instant, Name};

use crate::index::{PhaseIndex, grown};

/// How many metrics a run has in each phase, each combination of tags being one; those that are met later are counted as one of each kind.
pub(crate) const METRICS_LIMIT: usize = 256;

/// A value that is no finite number was not added.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a finite number: it was not added")]
pub struct NotFinite(pub f64);

/// The metrics of a run, over its loops; locked only when a loop first meets one.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricDirectory(Arc<Mutex<HashSet<MetricKey>>>);

impl MetricDirectory {
    /// What `key` is counted as.
    fn counted_as(&self, key: &MetricKey) -> MetricKey {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(key) {
            return key.clone();
        }
        if known.len() < METRICS_LIMIT {
            known.insert(key.clone());
            return key.clone();
        }
        MetricKey { name: MetricKey::FOLDED.into(), tags: BTreeMap::new(), ..key.clone() }
    }
}

/// The metrics of one loop.
#[derive(Debug, Default)]
pub(crate) struct LoopMetrics {
    directory: MetricDirectory,
    /// The names of the run's phases.
    phases: Vec<Name>,
    /// By handle; without a phase.
    keys: Vec<MetricKey>,
    known: HashMap<MetricKey, MetricHandle>,
    folded: HashMap<MetricKind, MetricHandle>,
    /// What the tick calls a metric, by handle and phase; none until something is added.
    ids: Vec<Option<MetricId>>,
    announced: u32,
    tick: MetricTick,
}

impl LoopMetrics {
    pub(crate) fn new(directory: MetricDirectory, phases: Vec<Name>) -> Self {
        LoopMetrics { directory, phases, ..LoopMetrics::default() }
    }

    pub(crate) fn handle(&mut self, kind: MetricKind, name: &str, tags: &[(&str, &str)]) -> MetricHandle {
        let tags = tags.iter().map(|(name, value)| (Name::from(*name), Name::from(*value))).collect();
        let key = MetricKey { kind, name: name.into(), tags, phase: Name::from("") };
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let counted_as = self.directory.counted_as(&key);
        if counted_as == key {
            let handle = self.number(key.clone());
            self.known.insert(key, handle);
            return handle;
        }
        // What is folded is not remembered by its name: there may be any number of them.
        match self.folded.get(&kind) {
            Some(folded) => *folded,
            None => {
                let handle = self.number(counted_as);
                self.folded.insert(kind, handle);
                handle
            }
        }
    }

    fn number(&mut self, key: MetricKey) -> MetricHandle {
        let handle = MetricHandle { id: MetricId(self.keys.len() as u32), kind: key.kind };
        self.keys.push(key);
        handle
    }

    /// Add a value at an instant, for an iteration of a phase.
    pub(crate) fn add(
        &mut self,
        to: MetricHandle,
        value: f64,
        at: Instant,
        phase: PhaseIndex,
    ) -> Result<(), NotFinite> {
        if !value.is_finite() {
            return Err(NotFinite(value));
        }
        let id = self.id_in(to, phase);
        self.tick.add(MetricHandle { id, ..to }, value, at);
        Ok(())
    }

    /// What the tick calls a metric in a phase.
    fn id_in(&mut self, metric: MetricHandle, phase: PhaseIndex) -> MetricId {
        let number = metric.id.0 as usize;
        let known = grown(&mut self.ids, number * self.phases.len() + phase.0, None);
        if let Some(id) = known {
            return *id;
        }
        let id = *known.insert(MetricId(self.announced));
        self.announced += 1;
        self.tick
            .new
            .push((id, MetricKey { phase: self.phases[phase.0].clone(), ..self.keys[number].clone() }));
        id
    }

    /// What was added since the last time; what follows is added to `next`.
    pub(crate) fn exchange(&mut self, next: MetricTick) -> MetricTick {
        std::mem::replace(&mut self.tick, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_past_the_limit_are_one_of_each_kind_on_every_loop() {
        let directory = MetricDirectory::default();
        let loop_metrics = |directory| LoopMetrics::new(directory, vec![Name::from("all")]);
        let [mut one, mut other] = [directory.clone(), directory].map(loop_metrics);
        let add = |metrics: &mut LoopMetrics, kind: MetricKind, name: &str, tags: &[(&str, &str)]| {
            let handle = metrics.handle(kind, name, tags);
            metrics.add(handle, 1.0, Instant::EPOCH, PhaseIndex(0)).unwrap();
        };
        let names: Vec<String> = (0..METRICS_LIMIT + 40).map(|n| format!("m{n}")).collect();
        for name in &names {
            add(&mut one, MetricKind::Counter, name, &[("group", "a")]);
        }
        for name in names.iter().rev() {
            add(&mut other, MetricKind::Counter, name, &[("group", "a")]);
        }
        add(&mut other, MetricKind::Trend, "late", &[]);
        let names = |metrics: &mut LoopMetrics| {
            let tick = metrics.exchange(MetricTick::default());
            let mut names: Vec<String> = tick.new.iter().map(|(_, key)| key.name.to_string()).collect();
            names.sort();
            names
        };
        let (of_one, mut of_other) = (names(&mut one), names(&mut other));
        assert_eq!((of_one.len(), of_other.len()), (METRICS_LIMIT + 1, METRICS_LIMIT + 2));
        of_other.dedup();
        assert_eq!(of_one, of_other);
        assert!(of_one.contains(&MetricKey::FOLDED.to_owned()));
    }

    #[test]
    fn a_metric_has_one_handle_and_tags_make_another() {
        let mut metrics = LoopMetrics::default();
        let hits = metrics.handle(MetricKind::Counter, "hits", &[]);
        assert_eq!(metrics.handle(MetricKind::Counter, "hits", &[]), hits);
        assert_ne!(metrics.handle(MetricKind::Counter, "hits", &[("page", "a")]), hits);
        assert_ne!(metrics.handle(MetricKind::Rate, "hits", &[]).id, hits.id);
        let refused = metrics.add(hits, f64::NAN, Instant::EPOCH, PhaseIndex(0)).unwrap_err();
        assert_eq!(refused.to_string(), "NaN is not a finite number: it was not added");
    }
}
