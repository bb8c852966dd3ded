//! A tick from a loop, in the parts in which it is sent.

use evidence::Tick;
use evidence::metric::MetricSums;

use super::{Item, PART_BYTES, Sums};

/// Hand the parts of `tick` to `send`, in order.
///
/// # Errors
/// Those of `send`.
pub fn write<E>(tick: &Tick, send: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut parts = Parts { loop_index: tick.instance.loop_index, part: Vec::new(), send };
    parts.begin();
    tick.new_keys.iter().try_for_each(|(id, key)| parts.add(&Item::Key(id.0, key.clone())))?;
    tick.scenarios.iter().try_for_each(|scenario| parts.add(&Item::Scenario(scenario.clone())))?;
    let mut histograms: Vec<_> = tick.histograms().collect();
    histograms.sort_unstable_by_key(|(key, _)| *key);
    for (key, histogram) in histograms {
        parts.add(&Item::Histogram(key.0, &histogram.to_v2()))?;
    }
    for count in tick.counts() {
        parts.add(&Item::Count { key: count.key.0, second: count.second, value: count.value })?;
    }
    tick.metrics.new.iter().try_for_each(|(id, key)| parts.add(&Item::Metric(id.0, key.clone())))?;
    for (id, sums) in tick.metrics.sums() {
        let buckets = sums.buckets.to_bytes();
        parts.add(&Item::Sums(id.0, Sums::new(sums, &buckets)))?;
    }
    tick.exemplars.iter().try_for_each(|exemplar| parts.add(&Item::Exemplar(exemplar.clone())))?;
    parts.add(&Item::End { second: tick.second, is_last: tick.is_last, state: tick.state })?;
    parts.send()
}

/// The part that is being written.
struct Parts<S> {
    loop_index: u16,
    part: Vec<u8>,
    send: S,
}

impl<E, S: FnMut(&[u8]) -> Result<(), E>> Parts<S> {
    fn begin(&mut self) {
        self.part.clear();
        self.put(&self.loop_index.clone());
    }

    fn add(&mut self, item: &Item<'_>) -> Result<(), E> {
        if self.part.len() >= PART_BYTES {
            self.put(&Item::GoesOn);
            self.send()?;
            self.begin();
        }
        self.put(item);
        Ok(())
    }

    fn put(&mut self, value: &impl serde::Serialize) {
        let part = std::mem::take(&mut self.part);
        self.part =
            postcard::to_extend(value, part).expect("items have known lengths, and memory takes them");
    }

    fn send(&mut self) -> Result<(), E> {
        (self.send)(&self.part)
    }
}

impl<'a> Sums<'a> {
    fn new(sums: &MetricSums, buckets: &'a [u8]) -> Sums<'a> {
        let MetricSums { count, nonzero, sum, min, max, last, last_at, buckets: _ } = *sums;
        Sums { count, nonzero, sum, min, max, last, last_at, buckets }
    }
}
