//! A second of one loop as a message.
//!
//! Keys and metrics are announced once, in the tick that first uses them, and are numbers from then on; so a [`TickReader`]
//! belongs to one loop. It accepts only ticks that a recorder can record: numbers that were announced, each in the shape of its
//! metric.

use std::str::FromStr as _;

use evidence::key::{KeyId, Shape};
use evidence::metric::{Buckets, MetricId, MetricKey, MetricKind, MetricSums, MetricTick};
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Exemplar, Histogram, Instance, Instant, Key, Metric, Name, Tick};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ClusterError;
use crate::fields::{Fields, Put};

/// The most keys of one loop, and the most metrics.
const MOST_KEYS: usize = 1 << 17;
/// The most sums of one tick: a tick that covers a minute has some for each of its seconds.
const MOST_COUNTS: usize = 1 << 16;
/// The most of anything else in one tick.
const MOST_PARTS: usize = 1 << 14;
/// The most values of one histogram or metric in one tick; so many ticks can be merged that no sum overflows.
const MOST_VALUES: u64 = 1 << 48;

/// Append the message of `tick`.
pub fn write(tick: &Tick, to: &mut Vec<u8>) {
    to.number(tick.instance.loop_index.into());
    to.number(tick.second.into());
    to.push(u8::from(tick.is_last));
    to.number(tick.new_keys.len() as u64);
    for (id, key) in &tick.new_keys {
        to.number(id.0.into());
        put_json(to, key);
    }
    put_state(to, &tick.state);
    to.number(tick.scenarios.len() as u64);
    for scenario in &tick.scenarios {
        to.text(&scenario.scenario);
        to.real(scenario.active_mean);
        to.number(scenario.active_max.into());
        to.number(scenario.cap.into());
        to.real(scenario.at_cap);
    }
    let mut histograms: Vec<_> = tick.histograms().collect();
    histograms.sort_unstable_by_key(|(key, _)| *key);
    to.number(histograms.len() as u64);
    for (key, histogram) in histograms {
        to.number(key.0.into());
        to.bytes(&histogram.to_v2());
    }
    to.number(tick.counts().len() as u64);
    for count in tick.counts() {
        [count.key.0.into(), count.second.into(), count.value].into_iter().for_each(|n| to.number(n));
    }
    put_metrics(to, &tick.metrics);
    to.number(tick.exemplars.len() as u64);
    tick.exemplars.iter().for_each(|exemplar| put_json(to, exemplar));
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

fn put_metrics(to: &mut Vec<u8>, metrics: &MetricTick) {
    to.number(metrics.new.len() as u64);
    for (id, key) in &metrics.new {
        to.number(id.0.into());
        to.text(&key.kind.to_string());
        to.text(&key.name);
        to.text(&key.phase);
        to.number(key.tags.len() as u64);
        for (name, value) in &key.tags {
            to.text(name);
            to.text(value);
        }
    }
    let sums = metrics.sums();
    to.number(sums.len() as u64);
    for (id, sums) in sums {
        [id.0.into(), sums.count, sums.nonzero].into_iter().for_each(|number| to.number(number));
        [sums.sum, sums.min, sums.max, sums.last].into_iter().for_each(|value| to.real(value));
        to.number(sums.last_at.as_nanos());
        let buckets: Vec<(i32, u64)> = sums.buckets.iter().collect();
        to.number(buckets.len() as u64);
        for (bucket, count) in buckets {
            to.number(bucket.cast_unsigned().into());
            to.number(count);
        }
    }
}

fn put_json(to: &mut Vec<u8>, value: &impl Serialize) {
    // Keys and exemplars are texts, numbers and lists of them: writing them does not fail.
    to.bytes(&serde_json::to_vec(value).unwrap_or_default());
}

fn json<T: DeserializeOwned>(fields: &mut Fields<'_>) -> Result<T, ClusterError> {
    serde_json::from_slice(fields.bytes()?).map_err(|error| ClusterError::malformed(error.to_string()))
}

/// Reads the ticks of one loop.
#[derive(Debug, Default)]
pub struct TickReader {
    keys: Vec<Metric>,
    metrics: Vec<MetricKind>,
}

/// The number of the loop in its worker that a tick comes from, without reading the tick.
///
/// # Errors
/// [`ClusterError::Malformed`] when it begins with no number of a loop.
pub fn loop_of(message: &[u8]) -> Result<u16, ClusterError> {
    Fields::of(message).narrow()
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

    /// Read a tick into an empty one; it comes from the loop of this worker that it names.
    ///
    /// # Errors
    /// [`ClusterError::Malformed`] for anything that [`write`] does not write; no input panics.
    pub fn read(&mut self, message: &[u8], worker: Instance, tick: &mut Tick) -> Result<(), ClusterError> {
        let mut fields = Fields::of(message);
        tick.instance = Instance { loop_index: fields.narrow()?, ..worker };
        tick.second = fields.narrow()?;
        tick.is_last = match fields.byte()? {
            flag @ (0 | 1) => flag == 1,
            flag => return Err(ClusterError::malformed(format!("{flag} is no flag"))),
        };
        for _ in 0..fields.count(MOST_KEYS)? {
            let id: u32 = fields.narrow()?;
            let key: Key = json(&mut fields)?;
            announce(&mut self.keys, id, key.metric)?;
            tick.new_keys.push((KeyId(id), key));
        }
        tick.state = state(&mut fields)?;
        for _ in 0..fields.count(MOST_PARTS)? {
            tick.scenarios.push(ScenarioState {
                scenario: fields.text()?.into(),
                active_mean: fields.real()?,
                active_max: fields.narrow()?,
                cap: fields.narrow()?,
                at_cap: fields.real()?,
            });
        }
        self.read_sums(&mut fields, tick)?;
        self.read_metrics(&mut fields, &mut tick.metrics)?;
        for _ in 0..fields.count(MOST_PARTS)? {
            let exemplar: Exemplar = json(&mut fields)?;
            tick.exemplars.push(exemplar);
        }
        fields.end()
    }

    fn key(&self, fields: &mut Fields<'_>, shape: Shape) -> Result<KeyId, ClusterError> {
        let id: u32 = fields.narrow()?;
        match self.keys.get(id as usize) {
            Some(known) if known.shape() == shape => Ok(KeyId(id)),
            _ => Err(ClusterError::malformed(format!("key {id} was not announced for this"))),
        }
    }

    fn read_sums(&self, fields: &mut Fields<'_>, tick: &mut Tick) -> Result<(), ClusterError> {
        let too_many = || ClusterError::malformed("it counts more than can be");
        let mut next = KeyId(0);
        for _ in 0..fields.count(MOST_COUNTS)? {
            let key = self.key(fields, Shape::Histogram)?;
            let histogram = Histogram::from_v2(fields.bytes()?)
                .map_err(|error| ClusterError::malformed(error.to_string()))?;
            if histogram.count() > MOST_VALUES || key < next {
                return Err(too_many());
            }
            next = KeyId(key.0 + 1);
            tick.merge(key, &histogram);
        }
        let mut total = 0_u64;
        for _ in 0..fields.count(MOST_COUNTS)? {
            let key = self.key(fields, Shape::Counter)?;
            let (second, value) = (fields.narrow()?, fields.number()?);
            total = total.checked_add(value).ok_or_else(too_many)?;
            tick.add(key, second, value);
        }
        Ok(())
    }

    fn read_metrics(
        &mut self,
        fields: &mut Fields<'_>,
        metrics: &mut MetricTick,
    ) -> Result<(), ClusterError> {
        let malformed = |what: &str| ClusterError::malformed(what);
        for _ in 0..fields.count(MOST_KEYS)? {
            let id: u32 = fields.narrow()?;
            let kind = MetricKind::from_str(fields.text()?).map_err(|error| malformed(&error.to_string()))?;
            let (name, phase) = (Name::from(fields.text()?), Name::from(fields.text()?));
            let mut tags = std::collections::BTreeMap::new();
            for _ in 0..fields.count(MOST_PARTS)? {
                tags.insert(Name::from(fields.text()?), Name::from(fields.text()?));
            }
            announce(&mut self.metrics, id, kind)?;
            metrics.new.push((MetricId(id), MetricKey { kind, name, tags, phase }));
        }
        let mut next = 0;
        for _ in 0..fields.count(MOST_KEYS)? {
            let id: u32 = fields.narrow()?;
            if id < next || id as usize >= self.metrics.len() {
                return Err(malformed("a metric was not announced, or is there twice"));
            }
            next = id + 1;
            metrics.merge(MetricId(id), &sums(fields)?);
        }
        Ok(())
    }
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

fn state(fields: &mut Fields<'_>) -> Result<LoopState, ClusterError> {
    Ok(LoopState {
        in_flight_mean: fields.real()?,
        in_flight: fields.narrow()?,
        iterations: fields.narrow()?,
        virtual_users: fields.narrow()?,
        connections: fields.narrow()?,
        cpu_ns: fields.number()?,
        script_cpu_ns: fields.number()?.checked_sub(1),
        covered_ns: fields.number()?,
        folded: fields.narrow()?,
    })
}

fn sums(fields: &mut Fields<'_>) -> Result<MetricSums, ClusterError> {
    let (count, nonzero) = (fields.number()?, fields.number()?);
    let [sum, min, max, last] = [fields.real()?, fields.real()?, fields.real()?, fields.real()?];
    let last_at = Instant::from_nanos(fields.number()?);
    let mut counts = Vec::new();
    for _ in 0..fields.count(MOST_KEYS)? {
        let bucket: u32 = fields.narrow()?;
        counts.push((bucket.cast_signed(), fields.number()?));
    }
    let total = counts.iter().try_fold(0_u64, |total, (_, count)| total.checked_add(*count));
    let buckets = Buckets::of(counts).filter(|_| total.is_some_and(|total| total <= MOST_VALUES));
    match buckets {
        Some(buckets) if count <= MOST_VALUES && nonzero <= count => {
            Ok(MetricSums { count, nonzero, sum, min, max, last, last_at, buckets })
        }
        _ => Err(ClusterError::malformed("the values of a metric contradict each other")),
    }
}

#[cfg(test)]
mod tests;
