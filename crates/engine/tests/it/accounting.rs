//! Queries on a run's accounting, and a check that its counts add up.

use std::collections::BTreeMap;

use evidence::memory::MemoryRun;
use evidence::run::select;
use evidence::{Histogram, Key, Metric, Outcome, Run};

use crate::drive::FinishedRun;

/// Queries on a recorded run.
pub(crate) trait Accounting {
    fn recorded(&self) -> &MemoryRun;

    /// The sum of a counter over the selected keys.
    fn count(&self, metric: Metric, is_selected: impl Fn(&Key) -> bool) -> u64 {
        let run = self.recorded();
        select(run.keys(), metric, is_selected).map(|(id, _)| run.total(id).unwrap()).sum()
    }

    /// The sum of a counter over everything.
    fn all(&self, metric: Metric) -> u64 {
        self.count(metric, |_| true)
    }

    /// The merged histogram of the selected keys.
    fn times(&self, metric: Metric, is_selected: impl Fn(&Key) -> bool) -> Histogram {
        let run = self.recorded();
        let mut merged = Histogram::new();
        for (id, _) in select(run.keys(), metric, is_selected) {
            merged.merge(&run.histogram(id, run.whole()).unwrap());
        }
        merged
    }

    /// How many requests of an endpoint ended with each outcome.
    fn outcomes(&self, endpoint: &str) -> BTreeMap<Outcome, u64> {
        let run = self.recorded();
        let mut outcomes = BTreeMap::new();
        for (id, key) in select(run.keys(), Metric::ResponseTime, |key| &*key.endpoint == endpoint) {
            let outcome = key.outcome.expect("response times have an outcome");
            *outcomes.entry(outcome).or_default() += run.histogram(id, run.whole()).unwrap().count();
        }
        outcomes
    }

    /// How many requests of an endpoint ended with each status, and how many without one (the empty text).
    fn statuses(&self, endpoint: &str) -> BTreeMap<String, u64> {
        self.results_by(endpoint, Key::STATUS)
    }

    /// How many requests of an endpoint failed for each reason.
    fn reasons(&self, endpoint: &str) -> BTreeMap<String, u64> {
        let mut reasons = self.results_by(endpoint, Key::REASON);
        reasons.remove("");
        reasons
    }

    fn results_by(&self, endpoint: &str, tag: &str) -> BTreeMap<String, u64> {
        let run = self.recorded();
        let mut results = BTreeMap::new();
        for (id, key) in select(run.keys(), Metric::Results, |key| &*key.endpoint == endpoint) {
            let value = key.tags.get(tag).map_or("", |value| value);
            *results.entry(value.to_owned()).or_default() += run.total(id).unwrap();
        }
        results
    }

    /// The sum of a counter in each second.
    fn by_second(&self, metric: Metric) -> BTreeMap<u32, u64> {
        let run = self.recorded();
        let mut seconds = BTreeMap::new();
        for (id, _) in select(run.keys(), metric, |_| true) {
            for (second, value) in run.counts(id, run.whole()).unwrap() {
                *seconds.entry(second).or_default() += value;
            }
        }
        seconds
    }

    /// Check that every arrival, iteration and request is counted once: the counts add up in each row.
    fn assert_counts_add_up(&self) {
        let run = self.recorded();
        for (_, row) in select(run.keys(), Metric::Scheduled, |_| true) {
            let here = |key: &Key| {
                (&key.scenario, &key.endpoint, &key.phase) == (&row.scenario, &row.endpoint, &row.phase)
            };
            let started = self.count(Metric::Started, here);
            let dropped = self.count(Metric::DroppedCap, here) + self.count(Metric::DroppedLate, here);
            assert_eq!(self.count(Metric::Scheduled, here), started + dropped, "arrivals of {row:?}");
            let whole = |key: &Key| (&key.scenario, &key.phase) == (&row.scenario, &row.phase);
            let ended =
                self.count(Metric::IterationsDone, whole) + self.count(Metric::IterationsCancelled, whole);
            assert_eq!(self.count(Metric::Started, whole), ended, "iterations of {row:?}");
            assert_eq!(self.count(Metric::Started, whole), self.times(Metric::StartLag, whole).count());
            assert_eq!(
                self.count(Metric::IterationsDone, whole),
                self.times(Metric::IterationTime, whole).count()
            );
        }
        let rows = select(run.keys(), Metric::Requests, |_| true).map(|(_, key)| key);
        for row in rows.chain(select(run.keys(), Metric::ResponseTime, |_| true).map(|(_, key)| key)) {
            let here = |key: &Key| {
                (&key.scenario, &key.endpoint, &key.phase) == (&row.scenario, &row.endpoint, &row.phase)
            };
            let ended = self.times(Metric::ResponseTime, here).count();
            assert_eq!(self.count(Metric::Requests, here), ended, "requests of {row:?}");
            let alike = |key: &Key| here(key) && key.outcome == row.outcome;
            if row.outcome.is_some() {
                let timed = self.times(Metric::ResponseTime, alike).count();
                assert_eq!(self.count(Metric::Results, alike), timed, "results of {row:?}");
            }
            assert!(self.times(Metric::ServiceTime, here).count() <= ended);
        }
    }
}

impl Accounting for MemoryRun {
    fn recorded(&self) -> &MemoryRun {
        self
    }
}

impl FinishedRun {
    /// Check that the run ended by itself, that its counts add up, and that nothing is left in flight.
    pub(crate) fn assert_sound(&self) -> &MemoryRun {
        let totals = self.result.as_ref().unwrap();
        assert_eq!((totals.requests_in_flight, totals.iterations_in_flight), (0, 0));
        self.run.assert_counts_add_up();
        &self.run
    }
}
