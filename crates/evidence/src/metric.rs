//! Numbers that a script makes: counters, gauges, rates and trends, each with a name and tags.
//!
//! What was added in one second is one [`MetricSums`]. Those of several loops and seconds are merged: counts and the buckets of
//! trends exactly, sums as far as adding `f64` is exact.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key::Name;
use crate::time::Instant;

mod buckets;

pub use buckets::{BrokenBuckets, Buckets};

use buckets::middle_of;

/// How the values of a metric are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Their sum, which may be fractional.
    Counter,
    /// The last, the lowest and the highest.
    Gauge,
    /// The share of those that are not zero.
    Rate,
    /// Their distribution.
    Trend,
}

impl MetricKind {
    const ALL: [(MetricKind, &'static str); 4] = [
        (MetricKind::Counter, "counter"),
        (MetricKind::Gauge, "gauge"),
        (MetricKind::Rate, "rate"),
        (MetricKind::Trend, "trend"),
    ];
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().find(|(kind, _)| kind == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

/// A word that names no kind of metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of metric")]
pub struct UnknownMetricKind(String);

impl FromStr for MetricKind {
    type Err = UnknownMetricKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.iter().find(|(_, name)| *name == text);
        named.map(|(kind, _)| *kind).ok_or_else(|| UnknownMetricKind(text.to_owned()))
    }
}

/// The number by which everything else refers to a [`MetricKey`]; dense, from 0, in one loop or one archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(pub u32);

/// What a script calls a metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MetricKey {
    /// How its values are read.
    pub kind: MetricKind,
    /// Its name.
    pub name: Name,
    /// What its values belong to.
    pub tags: BTreeMap<Name, Name>,
    /// The phase in which the arrivals were due whose iterations added them; empty in files that do not record it.
    pub phase: Name,
}

impl MetricKey {
    /// The name of the metrics that were met when there were too many already, counted as one of each kind.
    pub const FOLDED: &'static str = "(other)";
    /// The tag that names the scenario whose iteration added a value.
    pub const SCENARIO: &'static str = "scenario";
    /// The tag that names the group in which a value was added: the path of its names, each after [`MetricKey::SEPARATOR`].
    pub const GROUP: &'static str = "group";
    /// The tag that names the check that a value is of.
    pub const CHECK: &'static str = "check";
    /// Before each name in the path of a group.
    pub const SEPARATOR: &'static str = "::";

    /// The metric that all metrics of one kind are counted as that were met when there were too many already.
    pub fn folded(kind: MetricKind) -> MetricKey {
        MetricKey { kind, name: MetricKey::FOLDED.into(), tags: BTreeMap::new(), phase: "".into() }
    }

    /// Whether it is that metric, in any phase.
    pub fn is_folded(&self) -> bool {
        *self.name == *MetricKey::FOLDED && self.tags.is_empty()
    }

    /// The same for all further groups and checks; none where it belongs to neither.
    pub fn wider(&self) -> Option<MetricKey> {
        MetricKey::wider_tags(&self.tags).map(|tags| MetricKey { tags, ..self.clone() })
    }

    /// These tags with those of all further groups and checks; none where there is neither.
    pub fn wider_tags<T>(tags: &BTreeMap<T, T>) -> Option<BTreeMap<T, T>>
    where
        T: Borrow<str> + Clone + Ord + From<String>,
    {
        let mut wider = tags.clone();
        let group = wider.get_mut(MetricKey::GROUP).filter(|group| !(**group).borrow().is_empty());
        let other_groups = || T::from(format!("{}{}", MetricKey::SEPARATOR, MetricKey::FOLDED));
        let is_in_group = group.map(|group| *group = other_groups()).is_some();
        let check = wider.get_mut(MetricKey::CHECK);
        let is_check = check.map(|check| *check = T::from(MetricKey::FOLDED.to_owned())).is_some();
        (is_in_group || is_check).then_some(wider)
    }
}

/// By which a loop adds to a metric; its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricHandle {
    /// The loop's number of the metric.
    pub id: MetricId,
    /// How its values are read.
    pub kind: MetricKind,
}

/// What was added to one metric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricSums {
    /// How many values.
    pub count: u64,
    /// How many of them are not zero.
    pub nonzero: u64,
    /// Their sum, at most the largest finite number.
    pub sum: f64,
    /// The lowest; 0 without any.
    pub min: f64,
    /// The highest; 0 without any.
    pub max: f64,
    /// The last one, of a gauge: several may be added at one instant, in an order that only their loop knows. 0 without any.
    pub last: f64,
    /// When it was added.
    pub last_at: Instant,
    /// The distribution, of a trend.
    pub buckets: Buckets,
}

impl MetricSums {
    /// Add one value, which is finite, and not earlier than those before it.
    pub fn add(&mut self, kind: MetricKind, value: f64, at: Instant) {
        let is_first = self.count == 0;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        self.count += 1;
        self.nonzero += u64::from(value != 0.0);
        self.sum = (self.sum + value).clamp(f64::MIN, f64::MAX);
        match kind {
            MetricKind::Gauge => (self.last, self.last_at) = (value, at),
            MetricKind::Trend => self.buckets.add(value),
            MetricKind::Counter | MetricKind::Rate => {}
        }
    }

    /// Add every value of `other`. Of last values the later one counts, and of two at the same instant the higher one.
    pub fn merge(&mut self, other: &MetricSums) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        let is_later = (other.last_at, other.last) > (self.last_at, self.last);
        if is_first || is_later {
            (self.last, self.last_at) = (other.last, other.last_at);
        }
        self.min = if is_first { other.min } else { self.min.min(other.min) };
        self.max = if is_first { other.max } else { self.max.max(other.max) };
        self.count += other.count;
        self.nonzero += other.nonzero;
        self.sum = (self.sum + other.sum).clamp(f64::MIN, f64::MAX);
        self.buckets.merge(&other.buckets);
    }

    /// Forget every value, but keep the memory of the distribution.
    pub fn clear(&mut self) {
        let mut buckets = std::mem::take(&mut self.buckets);
        buckets.clear();
        *self = MetricSums { buckets, ..MetricSums::default() };
    }

    /// The `q`-quantile (0 to 1) of a trend, within [`Buckets::RELATIVE_ERROR`] of a value that was added; none without any.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|(_, count)| {
            seen += *count;
            seen >= rank
        });
        bucket.map(|(bucket, _)| middle_of(bucket).clamp(self.min, self.max))
    }
}

/// What one loop added to its metrics since they were handed over last.
#[derive(Debug, Default)]
pub struct MetricTick {
    /// Metrics that it uses and did not announce before.
    pub new: Vec<(MetricId, MetricKey)>,
    /// By number.
    sums: Vec<MetricSums>,
}

impl MetricTick {
    /// Add one finite value.
    pub fn add(&mut self, to: MetricHandle, value: f64, at: Instant) {
        self.sums_mut(to.id).add(to.kind, value, at);
    }

    /// Add every value of `sums`.
    pub fn merge(&mut self, to: MetricId, sums: &MetricSums) {
        self.sums_mut(to).merge(sums);
    }

    fn sums_mut(&mut self, id: MetricId) -> &mut MetricSums {
        let index = id.0 as usize;
        if index >= self.sums.len() {
            self.sums.resize_with(index + 1, MetricSums::default);
        }
        &mut self.sums[index]
    }

    /// Say of each gauge's last value that it was added when `corrected` says.
    pub(crate) fn correct_instants(&mut self, corrected: impl Fn(Instant) -> Instant) {
        for sums in self.sums.iter_mut().filter(|sums| sums.last_at > Instant::EPOCH) {
            sums.last_at = corrected(sums.last_at);
        }
    }

    /// What was added, by metric, in the order of their numbers.
    pub fn sums(&self) -> Vec<(MetricId, &MetricSums)> {
        let numbered = self.sums.iter().enumerate().filter(|(_, sums)| sums.count > 0);
        numbered.map(|(index, sums)| (MetricId(index as u32), sums)).collect()
    }

    /// Forget everything, but keep the memory for what is added next.
    pub fn clear(&mut self) {
        self.new.clear();
        self.sums.iter_mut().filter(|sums| sums.count > 0).for_each(MetricSums::clear);
    }
}

#[cfg(test)]
mod tests;
