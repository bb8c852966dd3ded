//! The ticks of one loop, from their parts.
//!
//! Numbers of keys and metrics are those of the loop, so a [`TickReader`] belongs to one loop. It accepts only ticks that a recorder
//! can record: numbers that were announced, each in the shape of its metric.

use std::str::FromStr as _;

use evidence::key::{KeyId, Shape};
use evidence::metric::{Buckets, MetricId, MetricKey, MetricKind, MetricSums};
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Exemplar, Histogram, Instance, Instant, Key, Metric, Name, Tick};
use serde::de::DeserializeOwned;

use super::Item;
use crate::ClusterError;
use crate::fields::Fields;

/// The most keys of one loop, and the most metrics.
const MOST_KEYS: usize = 1 << 17;
/// The most tags of one metric.
const MOST_TAGS: usize = 1 << 14;
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
    Fields::of(part).narrow()
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
        let mut fields = Fields::of(part);
        tick.instance = Instance { loop_index: fields.narrow()?, ..worker };
        loop {
            let item = fields.byte()?;
            let item = Item::of(item)
                .ok_or_else(|| ClusterError::malformed(format!("{item} is not an item of a tick")))?;
            match item {
                Item::GoesOn => return fields.end().map(|()| false),
                Item::End => break,
                _ => self.read_item(item, &mut fields, tick)?,
            }
        }
        self.partial = Partial::default();
        tick.second = fields.narrow()?;
        tick.is_last = match fields.byte()? {
            flag @ (0 | 1) => flag == 1,
            flag => return Err(ClusterError::malformed(format!("{flag} is not a flag"))),
        };
        tick.state = state(&mut fields)?;
        fields.end().map(|()| true)
    }

    fn read_item(
        &mut self,
        item: Item,
        fields: &mut Fields<'_>,
        tick: &mut Tick,
    ) -> Result<(), ClusterError> {
        match item {
            Item::GoesOn | Item::End => {}
            Item::Key => {
                let id: u32 = fields.narrow()?;
                let key: Key = json(fields)?;
                announce(&mut self.keys, id, key.metric)?;
                tick.new_keys.push((KeyId(id), key));
            }
            Item::Scenario => tick.scenarios.push(scenario(fields)?),
            Item::Histogram => self.read_histogram(fields, tick)?,
            Item::Count => self.read_count(fields, tick)?,
            Item::Metric => {
                let id: u32 = fields.narrow()?;
                let key = metric(fields)?;
                announce(&mut self.metrics, id, key.kind)?;
                tick.metrics.new.push((MetricId(id), key));
            }
            Item::Sums => {
                let id: u32 = fields.narrow()?;
                if id < self.partial.next_metric || id as usize >= self.metrics.len() {
                    return Err(ClusterError::malformed("a metric was not announced, or is there twice"));
                }
                self.partial.next_metric = id + 1;
                tick.metrics.merge(MetricId(id), &sums(fields)?);
            }
            Item::Exemplar => {
                let exemplar: Exemplar = json(fields)?;
                tick.exemplars.push(exemplar);
            }
        }
        Ok(())
    }

    fn key(&self, fields: &mut Fields<'_>, shape: Shape) -> Result<KeyId, ClusterError> {
        let id: u32 = fields.narrow()?;
        match self.keys.get(id as usize) {
            Some(known) if known.shape() == shape => Ok(KeyId(id)),
            _ => Err(ClusterError::malformed(format!("key {id} was not announced for this"))),
        }
    }

    fn read_histogram(&mut self, fields: &mut Fields<'_>, tick: &mut Tick) -> Result<(), ClusterError> {
        let key = self.key(fields, Shape::Histogram)?;
        let histogram = Histogram::from_v2(fields.bytes()?)
            .map_err(|error| ClusterError::malformed(error.to_string()))?;
        if histogram.count() > MOST_VALUES || key.0 < self.partial.next_key {
            return Err(too_many());
        }
        self.partial.next_key = key.0 + 1;
        tick.merge(key, &histogram);
        Ok(())
    }

    fn read_count(&mut self, fields: &mut Fields<'_>, tick: &mut Tick) -> Result<(), ClusterError> {
        let key = self.key(fields, Shape::Counter)?;
        let (second, value) = (fields.narrow()?, fields.number()?);
        self.partial.counted = self.partial.counted.checked_add(value).ok_or_else(too_many)?;
        tick.add(key, second, value);
        Ok(())
    }
}

fn too_many() -> ClusterError {
    ClusterError::malformed("it counts more than can be")
}

fn json<T: DeserializeOwned>(fields: &mut Fields<'_>) -> Result<T, ClusterError> {
    serde_json::from_slice(fields.bytes()?).map_err(|error| ClusterError::malformed(error.to_string()))
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

fn scenario(fields: &mut Fields<'_>) -> Result<ScenarioState, ClusterError> {
    Ok(ScenarioState {
        scenario: fields.text()?.into(),
        active_mean: fields.real()?,
        active_max: fields.narrow()?,
        cap: fields.narrow()?,
        at_cap: fields.real()?,
    })
}

fn metric(fields: &mut Fields<'_>) -> Result<MetricKey, ClusterError> {
    let kind = MetricKind::from_str(fields.text()?);
    let kind = kind.map_err(|error| ClusterError::malformed(error.to_string()))?;
    let (name, phase) = (Name::from(fields.text()?), Name::from(fields.text()?));
    let mut tags = std::collections::BTreeMap::new();
    for _ in 0..fields.count(MOST_TAGS)? {
        tags.insert(Name::from(fields.text()?), Name::from(fields.text()?));
    }
    Ok(MetricKey { kind, name, tags, phase })
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
