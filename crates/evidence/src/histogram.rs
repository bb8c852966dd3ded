//! A high-dynamic-range histogram of microseconds: three significant digits from 1 µs to 1 h.
//!
//! The bucket layout is HdrHistogram's (G. Tene, <https://hdrhistogram.org>), so its V2 encoding can be
//! read by every tool that knows that format. What differs is memory: pages of buckets come into being
//! when first touched, because a full one takes 188 KB and most of a run's keys use a handful of pages.
//! Histograms are merged exactly and never averaged.

mod codec;
mod quantile;

pub use codec::DecodeError;
pub use quantile::Quantile;

/// Values that fit the finest resolution, twice the half below: 2^11 for three significant digits.
const SUB_BUCKETS: u64 = 2048;
const SUB_BUCKET_HALF: u64 = SUB_BUCKETS / 2;
const SUB_BUCKET_HALF_BITS: u32 = SUB_BUCKET_HALF.trailing_zeros();
/// Doublings needed to reach one hour.
const BUCKETS: u64 = 22;
/// How many counts a full histogram has.
const SLOTS: usize = ((BUCKETS + 1) * SUB_BUCKET_HALF) as usize;
const PAGE: usize = 64;
const PAGES: usize = SLOTS / PAGE;
const NO_PAGE: u16 = u16::MAX;

/// A histogram of microseconds, three significant digits from 1 µs to 1 h.
///
/// ```
/// use evidence::Histogram;
/// let mut h = Histogram::new();
/// for ms in 1..=100u64 {
///     h.record_ns(ms * 1_000_000);
/// }
/// assert_eq!(h.count(), 100);
/// let p95 = h.quantile(0.95).finite_us().unwrap();
/// assert!((p95 - 95_000.0).abs() < 95_000.0 * 0.001);
/// ```
#[derive(Clone, PartialEq)]
pub struct Histogram {
    /// For each page of slots its place in `counts`, or `NO_PAGE`.
    directory: Box<[u16; PAGES]>,
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    /// The highest value that is recorded, in microseconds: one hour. Longer ones count as this.
    pub const MAX_US: u64 = 3_600_000_000;

    /// An empty histogram.
    pub fn new() -> Self {
        Histogram { directory: Box::new([NO_PAGE; PAGES]), counts: Vec::new(), total: 0 }
    }

    /// Count one value of `nanos` nanoseconds, rounded up to whole microseconds so that a wait is never
    /// understated.
    #[inline]
    pub fn record_ns(&mut self, nanos: u64) {
        self.record_us(nanos.div_ceil(1_000), 1);
    }

    /// Count `times` values of `micros` microseconds; above one hour they count as one hour.
    #[inline]
    pub fn record_us(&mut self, micros: u64, times: u64) {
        self.add_at(slot_of(micros.min(Self::MAX_US)), times);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Forget all values, but keep the memory for the next ones.
    pub fn clear(&mut self) {
        self.directory.fill(NO_PAGE);
        self.counts.clear();
        self.total = 0;
    }

    /// Add every value of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (slot, count) in other.slots() {
            self.add_at(slot, count);
        }
    }

    /// Every non-empty bucket as (lowest, highest value in microseconds, count), ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.slots().map(|(slot, count)| (lowest_of(slot), highest_of(slot), count))
    }

    #[inline]
    fn add_at(&mut self, slot: usize, times: u64) {
        let place = usize::from(self.directory[slot / PAGE]);
        match self.counts.get_mut(place * PAGE + slot % PAGE) {
            Some(count) => *count += times,
            None => self.add_page(slot, times),
        }
        self.total += times;
    }

    #[cold]
    fn add_page(&mut self, slot: usize, times: u64) {
        if times > 0 {
            let place =
                u16::try_from(self.counts.len() / PAGE).expect("there are fewer pages than u16 holds");
            self.directory[slot / PAGE] = place;
            self.counts.resize(self.counts.len() + PAGE, 0);
            self.counts[usize::from(place) * PAGE + slot % PAGE] = times;
        }
    }

    fn slots(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.directory.iter().enumerate().filter(|(_, place)| **place != NO_PAGE).flat_map(|(page, place)| {
            let start = *place as usize * PAGE;
            let counts = &self.counts[start..start + PAGE];
            counts.iter().enumerate().filter(|(_, c)| **c > 0).map(move |(i, c)| (page * PAGE + i, *c))
        })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.buckets()).finish()
    }
}

/// The slot a value falls into. Below `SUB_BUCKETS` each value has its own; above, each doubling is
/// divided into `SUB_BUCKET_HALF` equal parts.
fn slot_of(micros: u64) -> usize {
    let bucket = 63 - (micros | (SUB_BUCKETS - 1)).leading_zeros() - SUB_BUCKET_HALF_BITS;
    let sub = micros >> bucket;
    ((u64::from(bucket) << SUB_BUCKET_HALF_BITS) + sub) as usize
}

fn bucket_of_slot(slot: usize) -> (u32, u64) {
    let slot = slot as u64;
    if slot < SUB_BUCKETS {
        return (0, slot);
    }
    let bucket = (slot >> SUB_BUCKET_HALF_BITS) - 1;
    (bucket as u32, slot - (bucket << SUB_BUCKET_HALF_BITS))
}

fn lowest_of(slot: usize) -> u64 {
    let (bucket, sub) = bucket_of_slot(slot);
    sub << bucket
}

fn highest_of(slot: usize) -> u64 {
    let (bucket, _) = bucket_of_slot(slot);
    lowest_of(slot) + (1 << bucket) - 1
}

#[cfg(test)]
mod tests;
