//! The ticks of one loop, from their parts.
//!
//! Numbers of keys and metrics are those of the loop, so a [`TickReader`] belongs to one loop. It accepts only ticks that a recorder
//! can record: numbers that were announced, each in the shape of its metric.

use evidence::key::{KeyId, Shape};
use evidence::metric::{Buckets, MetricId, MetricKind, MetricSums};
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Histogram, Instance, Metric, Tick};
use serde::Deserialize;

use super::{Item, Sums};
use crate::ClusterError;

/// The most keys of one loop, and the most metrics.
const MOST_KEYS: usize = 1 << 17;
/// The most values of one histogram or metric in one tick; so many ticks can be merged that no sum overflows.
const MOST_VALUES: u64 = 1 << 48;
/// The longest tick, over all its parts: that of 3,000 keys whose seconds were merged for three hours.
const MOST_BYTES: usize = 256 << 20;

/// Reads the ticks of one loop.
#[derive(Debug, Default)]
pub struct TickReader {
    keys: Vec<Metric>,
    metrics: Vec<MetricKind>,
    partial: Partial,
}

/// What was read of a tick that has further parts.
#[derive(Debug, Default)]
struct Partial {
    bytes: usize,
    /// The lowest key whose histogram may follow, and the lowest metric whose sums may: each comes once.
    next_key: u32,
    next_metric: u32,
    /// The sum of all counts.
    counted: u64,
}

/// The number of the loop in its worker that a part of a tick comes from, without reading the part.
///
/// # Errors
/// [`ClusterError::Malformed`] when it begins with no number of a loop.
pub fn loop_of(part: &[u8]) -> Result<u16, ClusterError> {
    take(&mut &*part)
}

impl TickReader {
    /// How many keys the loop has announced: numbers from here on are free.
    pub fn known_keys(&self) -> u32 {
        self.keys.len() as u32
    }

    /// How many arrivals a tick that was read counts as begun.
    pub(crate) fn begun(&self, tick: &Tick) -> u64 {
        let is_begun = |key: KeyId| self.keys.get(key.0 as usize) == Some(&Metric::Started);
        tick.counts().iter().filter(|count| is_begun(count.key)).map(|count| count.value).sum()
    }

    /// Read the next part of a tick into it, which is empty before the first; whether this was the last part. The tick comes
    /// from the loop of this worker that it names.
    ///
    /// # Errors
    /// [`ClusterError::Malformed`] for anything that [`write`](super::write) does not write; no input panics.
    pub fn read(&mut self, part: &[u8], worker: Instance, tick: &mut Tick) -> Result<bool, ClusterError> {
        self.partial.bytes += part.len();
        if self.partial.bytes > MOST_BYTES {
            return Err(ClusterError::malformed("it is too long for a tick"));
        }
        let mut rest = part;
        tick.instance = Instance { loop_index: take(&mut rest)?, ..worker };
        let is_last_part = loop {
            match take(&mut rest)? {
                Item::GoesOn => break false,
                Item::End { second, is_last, state } => {
                    self.partial = Partial::default();
                    (tick.second, tick.is_last, tick.state) = (second, is_last, checked(state)?);
                    break true;
                }
                item => self.read_item(item, tick)?,
            }
        };
        match rest.is_empty() {
            true => Ok(is_last_part),
            false => Err(ClusterError::malformed("it is longer than its items")),
        }
    }

    fn read_item(&mut self, item: Item<'_>, tick: &mut Tick) -> Result<(), ClusterError> {
        match item {
            Item::GoesOn | Item::End { .. } => {}
            Item::Key(id, key) => {
                announce(&mut self.keys, id, key.metric)?;
                tick.new_keys.push((KeyId(id), key));
            }
            Item::Scenario(scenario) => tick.scenarios.push(scenario_of(scenario)?),
            Item::Histogram(key, bytes) => self.read_histogram(key, bytes, tick)?,
            Item::Count { key, second, value } => {
                let key = self.key(key, Shape::Counter)?;
                self.partial.counted = self.partial.counted.checked_add(value).ok_or_else(too_many)?;
                tick.add(key, second, value);
            }
            Item::Metric(id, key) => {
                announce(&mut self.metrics, id, key.kind)?;
                tick.metrics.new.push((MetricId(id), key));
            }
            Item::Sums(id, sums) => {
                if id < self.partial.next_metric || id as usize >= self.metrics.len() {
                    return Err(ClusterError::malformed("a metric was not announced, or is there twice"));
                }
                self.partial.next_metric = id + 1;
                tick.metrics.merge(MetricId(id), &sums_of(&sums)?);
            }
            Item::Exemplar(exemplar) => tick.exemplars.push(exemplar),
        }
        Ok(())
    }

    fn key(&self, id: u32, shape: Shape) -> Result<KeyId, ClusterError> {
        match self.keys.get(id as usize) {
            Some(known) if known.shape() == shape => Ok(KeyId(id)),
            _ => Err(ClusterError::malformed(format!("key {id} was not announced for this"))),
        }
    }

    fn read_histogram(&mut self, key: u32, bytes: &[u8], tick: &mut Tick) -> Result<(), ClusterError> {
        let key = self.key(key, Shape::Histogram)?;
        let histogram =
            Histogram::from_v2(bytes).map_err(|error| ClusterError::malformed(error.to_string()))?;
        if histogram.count() > MOST_VALUES || key.0 < self.partial.next_key {
            return Err(too_many());
        }
        self.partial.next_key = key.0 + 1;
        tick.merge(key, &histogram);
        Ok(())
    }
}

/// The next value of a part.
fn take<'a, T: Deserialize<'a>>(part: &mut &'a [u8]) -> Result<T, ClusterError> {
    let taken = postcard::take_from_bytes(part);
    let (value, rest) = taken.map_err(|error| ClusterError::malformed(error.to_string()))?;
    *part = rest;
    Ok(value)
}

fn too_many() -> ClusterError {
    ClusterError::malformed("it counts more than can be")
}

/// The next number is announced, or one of those before it anew.
fn announce<T>(known: &mut Vec<T>, id: u32, what: T) -> Result<(), ClusterError> {
    let (index, count) = (id as usize, known.len());
    match known.get_mut(index) {
        Some(before) => *before = what,
        None if index == count && index < MOST_KEYS => known.push(what),
        None => return Err(ClusterError::malformed(format!("number {id} is not the next one"))),
    }
    Ok(())
}

fn finite(values: &[f64]) -> Result<(), ClusterError> {
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(ClusterError::malformed("a number is not finite")),
    }
}

fn scenario_of(scenario: ScenarioState) -> Result<ScenarioState, ClusterError> {
    finite(&[scenario.active_mean, scenario.at_cap]).map(|()| scenario)
}

fn checked(state: LoopState) -> Result<LoopState, ClusterError> {
    finite(&[state.in_flight_mean]).map(|()| state)
}

fn sums_of(sums: &Sums<'_>) -> Result<MetricSums, ClusterError> {
    let Sums { count, nonzero, sum, min, max, last, last_at, buckets } = *sums;
    finite(&[sum, min, max, last])?;
    let buckets = Buckets::from_bytes(buckets).map_err(|error| ClusterError::malformed(error.to_string()))?;
    if count > MOST_VALUES || nonzero > count || buckets.count() > MOST_VALUES {
        return Err(ClusterError::malformed("the values of a metric contradict each other"));
    }
    Ok(MetricSums { count, nonzero, sum, min, max, last, last_at, buckets })
}
