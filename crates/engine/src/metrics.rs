//! The metrics that iterations make: numbered by each loop when it first meets them, folded past a limit alike on all, and
//! counted for the phases of the load.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind, MetricTick};
use evidence::{Instant, Name, Tick};

use crate::index::{PhaseIndex, grown};

/// How many metrics a run has in each phase, each combination of tags being one; those that are met later are counted as one of each kind.
pub(crate) const METRICS_LIMIT: usize = 1_024;

/// A value that is not a finite number was not added.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a finite number: it was not added")]
pub struct NotFinite(pub f64);

/// The metrics of a run, over its loops; locked only when a loop first meets one, and not once there are too many.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricDirectory(Arc<MetricNames>);

#[derive(Debug, Default)]
struct MetricNames {
    growing: Mutex<HashSet<MetricKey>>,
    /// All of them, once there are as many as there may be.
    full: OnceLock<HashSet<MetricKey>>,
}

impl MetricDirectory {
    /// Whether `key` is counted under its own name, which is added if there is space.
    pub(crate) fn has_own_name(&self, key: &MetricKey) -> bool {
        if let Some(full) = self.0.full.get() {
            return full.contains(key);
        }
        let mut growing = self.growing();
        if growing.len() < METRICS_LIMIT {
            growing.insert(key.clone());
        }
        if growing.len() == METRICS_LIMIT {
            self.0.full.get_or_init(|| growing.clone());
        }
        growing.contains(key)
    }

    fn growing(&self) -> MutexGuard<'_, HashSet<MetricKey>> {
        self.0.growing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
        self.own_handle(kind, name, tags).unwrap_or_else(|| self.folded(kind))
    }

    /// The handle of a metric that is counted under its own name; none where there are too many.
    pub(crate) fn own_handle(
        &mut self,
        kind: MetricKind,
        name: &str,
        tags: &[(&str, &str)],
    ) -> Option<MetricHandle> {
        let tags = tags.iter().map(|(name, value)| (Name::from(*name), Name::from(*value))).collect();
        let key = MetricKey { kind, name: name.into(), tags, phase: Name::from("") };
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        if !self.directory.has_own_name(&key) {
            return None;
        }
        let handle = self.number(key.clone());
        self.known.insert(key, handle);
        Some(handle)
    }

    /// What is folded is not remembered by its name: there may be any number of them.
    fn folded(&mut self, kind: MetricKind) -> MetricHandle {
        if let Some(folded) = self.folded.get(&kind) {
            return *folded;
        }
        let handle = self.number(MetricKey::folded(kind));
        self.folded.insert(kind, handle);
        handle
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
        let known = grown(&mut self.ids, number * self.phases.len() + phase.0 as usize, None);
        if let Some(id) = known {
            return *id;
        }
        let id = *known.insert(MetricId(self.announced));
        self.announced += 1;
        self.tick.new.push((
            id,
            MetricKey { phase: self.phases[phase.0 as usize].clone(), ..self.keys[number].clone() },
        ));
        id
    }

    /// Add what the run's setup has added.
    pub(crate) fn add_setup(&mut self, ticks: &[Tick]) {
        let mut keys: BTreeMap<MetricId, &MetricKey> = BTreeMap::new();
        for tick in ticks {
            keys.extend(tick.metrics.new.iter().map(|(id, key)| (*id, key)));
            for (id, sums) in tick.metrics.sums() {
                let Some(key) = keys.get(&id) else { continue };
                let Some(phase) = self.phases.iter().position(|phase| *phase == key.phase) else { continue };
                let tags: Vec<(&str, &str)> =
                    key.tags.iter().map(|(name, value)| (&**name, &**value)).collect();
                let handle = self.handle(key.kind, &key.name, &tags);
                let id = self.id_in(handle, PhaseIndex(phase as u32));
                self.tick.merge(id, sums);
            }
        }
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
    fn names_past_the_limit_take_no_lock() {
        let directory = MetricDirectory::default();
        let mut metrics = LoopMetrics::new(directory.clone(), vec![Name::from("all")]);
        let mut meet = |name: usize| metrics.handle(MetricKind::Counter, &format!("m{name}"), &[]);
        let folded = (0..=METRICS_LIMIT).map(&mut meet).last().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let growing = directory.growing();
            scope.spawn(move || sender.send(meet(METRICS_LIMIT + 1)));
            let met = receiver.recv_timeout(std::time::Duration::from_secs(20));
            drop(growing);
            assert_eq!(met, Ok(folded));
        });
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
