//! All requests of one phase.

use std::collections::BTreeMap;

use crate::arrivals::Arrivals;
use crate::ended::EndedCounts;
use crate::figures::Figures;
use crate::row::Row;
use crate::row_key::RowKey;

/// All requests of one phase, over its scenarios and endpoints.
#[derive(Debug, Default)]
pub struct PhaseTotal {
    /// What its rows counted, in one; the key names the phase alone. Histograms are merged bucket by bucket, so a quantile is
    /// as exact as one of a single endpoint. Without the times of whole iterations, which are not requests.
    pub row: Row,
    /// What ended in the window of the phase, whenever it was due.
    pub ended: EndedCounts,
}

impl Figures {
    /// One for each phase that has a row, in the order of the rows.
    pub fn phase_totals(&self) -> Vec<PhaseTotal> {
        let mut totals: Vec<PhaseTotal> = Vec::new();
        for row in &self.rows {
            let at = totals.iter().position(|total| total.row.key.phase == row.key.phase);
            let total = match at {
                Some(at) => &mut totals[at],
                None => {
                    let key = RowKey { phase: row.key.phase.clone(), ..RowKey::default() };
                    totals.push(PhaseTotal { row: Row { key, ..Row::default() }, ..PhaseTotal::default() });
                    totals.last_mut().expect("one was pushed")
                }
            };
            total.row.add_requests(row);
        }
        for (key, ended) in &self.ended {
            if let Some(total) = totals.iter_mut().find(|total| total.row.key.phase == key.phase) {
                total.ended.add_requests(ended);
            }
        }
        totals
    }
}

impl Row {
    /// Adds the requests of another row, and its arrivals. The whole iterations of a sequence count the drops that are counted
    /// for each of its steps too.
    pub(crate) fn add_requests(&mut self, other: &Row) {
        self.arrivals = sum(self.arrivals, other.arrivals, Arrivals::plus);
        if !other.key.endpoint.is_empty() {
            self.dropped_vu_limit += other.dropped_vu_limit;
            self.dropped_generator_late += other.dropped_generator_late;
        }
        self.requests = sum(self.requests, other.requests, |a, b| a + b);
        self.retried += other.retried;
        add_each(&mut self.deviations, &other.deviations);
        add_each(&mut self.outcomes, &other.outcomes);
        self.results.merge(&other.results);
        self.ok.merge(&other.ok);
        self.failed.merge(&other.failed);
        self.service_ok.merge(&other.service_ok);
        self.service_failed += other.service_failed;
        self.service_all += other.service_all;
        for (limit, waits) in &other.place_waits {
            self.place_waits.entry(limit.clone()).or_default().merge(waits);
        }
        for (name, check) in &other.checks {
            let sum = self.checks.entry(name.clone()).or_default();
            (sum.passed, sum.failed) = (sum.passed + check.passed, sum.failed + check.failed);
        }
        self.bytes_in = sum(self.bytes_in, other.bytes_in, |a, b| a + b);
        self.bytes_out = sum(self.bytes_out, other.bytes_out, |a, b| a + b);
        add_each(&mut self.part_ns, &other.part_ns);
        self.first_message.merge(&other.first_message);
        self.messages_in += other.messages_in;
        self.messages_out += other.messages_out;
    }
}

impl EndedCounts {
    pub(crate) fn add_requests(&mut self, other: &EndedCounts) {
        self.ok += other.ok;
        self.failed += other.failed;
    }
}

fn sum<T>(a: Option<T>, b: Option<T>, plus: impl Fn(T, T) -> T) -> Option<T> {
    [a, b].into_iter().flatten().reduce(plus)
}

fn add_each<K: Clone + Ord>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, n) in from {
        let sum = to.entry(key.clone()).or_default();
        *sum = sum.saturating_add(*n);
    }
}
