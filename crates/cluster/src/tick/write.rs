//! A tick from a loop, in the parts in which it is sent.

use evidence::Tick;
use evidence::metric::{MetricKey, MetricSums};
use evidence::tick::{LoopState, ScenarioState};
use serde::Serialize;

use super::{Item, PART_BYTES};
use crate::fields::Put;

/// Hand the parts of `tick` to `send`, in order.
///
/// # Errors
/// Those of `send`.
pub fn write<E>(tick: &Tick, send: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut parts = Parts::of(tick, send);
    for (id, key) in &tick.new_keys {
        parts.item(Item::Key, |to| {
            to.number(id.0.into());
            put_json(to, key);
        })?;
    }
    for scenario in &tick.scenarios {
        parts.item(Item::Scenario, |to| put_scenario(to, scenario))?;
    }
    let mut histograms: Vec<_> = tick.histograms().collect();
    histograms.sort_unstable_by_key(|(key, _)| *key);
    for (key, histogram) in histograms {
        parts.item(Item::Histogram, |to| {
            to.number(key.0.into());
            to.bytes(&histogram.to_v2());
        })?;
    }
    for count in tick.counts() {
        let numbers = [count.key.0.into(), count.second.into(), count.value];
        parts.item(Item::Count, |to| numbers.into_iter().for_each(|number| to.number(number)))?;
    }
    for (id, key) in &tick.metrics.new {
        parts.item(Item::Metric, |to| {
            to.number(id.0.into());
            put_metric(to, key);
        })?;
    }
    for (id, sums) in tick.metrics.sums() {
        parts.item(Item::Sums, |to| {
            to.number(id.0.into());
            put_sums(to, sums);
        })?;
    }
    for exemplar in &tick.exemplars {
        parts.item(Item::Exemplar, |to| put_json(to, exemplar))?;
    }
    parts.end(tick)
}

/// The part that is being written.
struct Parts<S> {
    loop_index: u16,
    part: Vec<u8>,
    send: S,
}

impl<E, S: FnMut(&[u8]) -> Result<(), E>> Parts<S> {
    fn of(tick: &Tick, send: S) -> Parts<S> {
        let mut parts = Parts { loop_index: tick.instance.loop_index, part: Vec::new(), send };
        parts.begin();
        parts
    }

    fn begin(&mut self) {
        self.part.clear();
        self.part.number(self.loop_index.into());
    }

    /// Add an item, whose fields `put` appends.
    fn item(&mut self, item: Item, put: impl FnOnce(&mut Vec<u8>)) -> Result<(), E> {
        if self.part.len() >= PART_BYTES {
            self.part.push(Item::GoesOn as u8);
            (self.send)(&self.part)?;
            self.begin();
        }
        self.part.push(item as u8);
        put(&mut self.part);
        Ok(())
    }

    fn end(mut self, tick: &Tick) -> Result<(), E> {
        self.item(Item::End, |to| {
            to.number(tick.second.into());
            to.push(u8::from(tick.is_last));
            put_state(to, &tick.state);
        })?;
        (self.send)(&self.part)
    }
}

fn put_scenario(to: &mut Vec<u8>, scenario: &ScenarioState) {
    to.text(&scenario.scenario);
    to.real(scenario.active_mean);
    to.number(scenario.active_max.into());
    to.number(scenario.cap.into());
    to.real(scenario.at_cap);
}

fn put_state(to: &mut Vec<u8>, state: &LoopState) {
    to.real(state.in_flight_mean);
    let of_script = state.script_cpu_ns.map_or(0, |ns| ns.saturating_add(1));
    let numbers = [
        u64::from(state.in_flight),
        state.iterations.into(),
        state.virtual_users.into(),
        state.connections.into(),
        state.cpu_ns,
        of_script,
        state.covered_ns,
        state.folded.into(),
    ];
    numbers.into_iter().for_each(|number| to.number(number));
}

fn put_metric(to: &mut Vec<u8>, key: &MetricKey) {
    to.text(&key.kind.to_string());
    to.text(&key.name);
    to.text(&key.phase);
    to.number(key.tags.len() as u64);
    for (name, value) in &key.tags {
        to.text(name);
        to.text(value);
    }
}

fn put_sums(to: &mut Vec<u8>, sums: &MetricSums) {
    [sums.count, sums.nonzero].into_iter().for_each(|number| to.number(number));
    [sums.sum, sums.min, sums.max, sums.last].into_iter().for_each(|value| to.real(value));
    to.number(sums.last_at.as_nanos());
    let buckets: Vec<(i32, u64)> = sums.buckets.iter().collect();
    to.number(buckets.len() as u64);
    for (bucket, count) in buckets {
        to.number(bucket.cast_unsigned().into());
        to.number(count);
    }
}

fn put_json(to: &mut Vec<u8>, value: &impl Serialize) {
    // Keys and exemplars are texts, numbers and lists of them: writing them does not fail.
    to.bytes(&serde_json::to_vec(value).unwrap_or_default());
}
