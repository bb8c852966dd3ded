//! Numbers that a script makes: counters, gauges, rates and trends, each with a name and tags.
//!
//! What was added in one second is one [`MetricSums`]. Those of several loops and seconds are merged: counts and the buckets of
//! trends exactly, sums as far as adding `f64` is exact.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key::Name;
use crate::time::Instant;

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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The last one; 0 without any.
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
        // Several values may be added at one instant, in an order that only their loop knows.
        (self.last, self.last_at) = (value, at);
        if kind == MetricKind::Trend {
            self.buckets.add(value);
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

/// A distribution of finite values of any size and sign: each power of two is divided into 1,024 equal buckets, as
/// HdrHistogram does with whole numbers (also Hartmann and Schlossnagle, "Circllhist", arXiv:2001.06561). Counts by bucket are
/// merged exactly.
///
/// The bucket of a positive value is the first 22 bits of its IEEE 754 form: sign, exponent and 10 bits of the fraction. That of
/// a negative one is −1 − the bucket of its magnitude.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buckets {
    /// Count of bucket 0, where most values of some metrics are: the times of connecting over a kept connection.
    zeros: u64,
    others: HashMap<i32, u64, BuildHasherDefault<BucketHasher>>,
}

/// Bits of a value that its bucket ignores.
const IGNORED_BITS: u32 = 42;
/// The bucket of the largest finite value.
const LAST_BUCKET: i32 = (f64::MAX.to_bits() >> IGNORED_BITS) as i32;

impl Buckets {
    /// A value read from a bucket differs from the one that was added by at most this share of it, unless that is smaller than
    /// 10⁻³⁰⁷.
    pub const RELATIVE_ERROR: f64 = 0.0005;

    /// Count one value.
    pub fn add(&mut self, value: f64) {
        *self.count_of(bucket_of(value)) += 1;
    }

    /// Add every value of `other`.
    pub fn merge(&mut self, other: &Buckets) {
        self.zeros += other.zeros;
        for (bucket, count) in &other.others {
            *self.count_of(*bucket) += count;
        }
    }

    fn count_of(&mut self, bucket: i32) -> &mut u64 {
        if bucket == 0 { &mut self.zeros } else { self.others.entry(bucket).or_default() }
    }

    /// Every bucket with its count, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (i32, u64)> + use<> {
        let zeros = Some((0, self.zeros)).filter(|(_, count)| *count > 0);
        let others = self.others.iter().map(|(bucket, count)| (*bucket, *count));
        let mut counts: Vec<(i32, u64)> = others.chain(zeros).collect();
        counts.sort_unstable();
        counts.into_iter()
    }

    /// The lowest and the highest value of every bucket with its count, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = (f64, f64, u64)> + use<> {
        self.iter().map(|(bucket, count)| {
            let (low, high) = range_of(bucket);
            (low, high, count)
        })
    }

    /// The distribution of these buckets and counts; none where a bucket is that of no finite value or is there twice.
    pub fn of(counts: impl IntoIterator<Item = (i32, u64)>) -> Option<Buckets> {
        let mut buckets = Buckets::default();
        for (bucket, count) in counts {
            let is_one = (-1 - LAST_BUCKET..=LAST_BUCKET).contains(&bucket) && count > 0;
            if !is_one || std::mem::replace(buckets.count_of(bucket), count) > 0 {
                return None;
            }
        }
        Some(buckets)
    }
}

/// Numbers of buckets are spread by one multiplication: a value is added for each part of each request.
#[derive(Debug, Default)]
pub struct BucketHasher(u64);

impl Hasher for BucketHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(ODD);
        }
    }

    fn write_i32(&mut self, bucket: i32) {
        self.0 = u64::from(bucket.cast_unsigned()).wrapping_mul(ODD);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// 2⁶⁴ divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

fn bucket_of(value: f64) -> i32 {
    let magnitude = (value.abs().to_bits() >> IGNORED_BITS) as i32;
    if value < 0.0 { -1 - magnitude } else { magnitude }
}

fn range_of(bucket: i32) -> (f64, f64) {
    let magnitude = if bucket < 0 { -1 - bucket } else { bucket } as u64;
    let nearest = f64::from_bits(magnitude << IGNORED_BITS);
    let farthest = f64::from_bits(((magnitude + 1) << IGNORED_BITS) - 1);
    if bucket < 0 { (-farthest, -nearest) } else { (nearest, farthest) }
}

fn middle_of(bucket: i32) -> f64 {
    // Of what is that small nearly all is 0.
    if bucket == 0 {
        return 0.0;
    }
    let (lowest, highest) = range_of(bucket);
    lowest + (highest - lowest) / 2.0
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
        self.of(to.id).add(to.kind, value, at);
    }

    /// Add every value of `sums`.
    pub fn merge(&mut self, to: MetricId, sums: &MetricSums) {
        self.of(to).merge(sums);
    }

    fn of(&mut self, id: MetricId) -> &mut MetricSums {
        let index = id.0 as usize;
        if index >= self.sums.len() {
            self.sums.resize_with(index + 1, MetricSums::default);
        }
        &mut self.sums[index]
    }

    /// What was added, by metric, in the order of their numbers.
    pub fn sums(&self) -> Vec<(MetricId, &MetricSums)> {
        let numbered = self.sums.iter().enumerate().filter(|(_, sums)| sums.count > 0);
        numbered.map(|(index, sums)| (MetricId(index as u32), sums)).collect()
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.new.clear();
        self.sums.clear();
    }
}

#[cfg(test)]
mod tests;
