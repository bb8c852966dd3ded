//! The distribution of the values of a trend.

use std::collections::BTreeMap;
use std::fmt;

mod codec;

pub use codec::BrokenBuckets;

/// A distribution of finite values of any size and sign: each power of two is divided into 1,024 equal buckets, as
/// HdrHistogram does with whole numbers (also Hartmann and Schlossnagle, "Circllhist", arXiv:2001.06561). Counts by bucket are
/// merged exactly.
///
/// The bucket of a positive value is the first 22 bits of its IEEE 754 form: sign, exponent and 10 bits of the fraction. That of
/// a negative one is −1 − the bucket of its magnitude.
#[derive(Clone, Default)]
pub struct Buckets {
    /// Count of bucket 0, where most values of some metrics are: the times of connecting over a kept connection.
    zeros: u64,
    /// Positive values within [`Pages::MOST_OCTAVES`] of each other, which are nearly all.
    pages: Pages,
    /// All others.
    far: BTreeMap<i32, u64>,
}

/// Bits of a value that its bucket ignores.
const IGNORED_BITS: u32 = 42;
/// The bucket of the largest finite value.
pub(super) const LAST_BUCKET: i32 = (f64::MAX.to_bits() >> IGNORED_BITS) as i32;

impl Buckets {
    /// A value read from a bucket differs from the one that was added by at most this share of it, unless that is smaller than
    /// 10⁻³⁰⁷.
    pub const RELATIVE_ERROR: f64 = 0.0005;

    /// Count one value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.add_to(bucket_of(value), 1);
    }

    /// Add every value of `other`.
    pub fn merge(&mut self, other: &Buckets) {
        other.each().for_each(|(bucket, count)| self.add_to(bucket, count));
    }

    /// Forget all values, but keep the memory for the next ones.
    pub fn clear(&mut self) {
        self.zeros = 0;
        self.pages.clear();
        self.far.clear();
    }

    #[inline]
    fn add_to(&mut self, bucket: i32, times: u64) {
        if bucket == 0 {
            self.zeros += times;
            return;
        }
        match self.pages.count_of(bucket) {
            Some(count) => *count += times,
            None => self.add_elsewhere(bucket, times),
        }
    }

    #[cold]
    fn add_elsewhere(&mut self, bucket: i32, times: u64) {
        match self.pages.grown_to(bucket) {
            Some(count) => *count += times,
            None => *self.far.entry(bucket).or_default() += times,
        }
    }

    /// Every bucket with its count, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        let start = self.pages.start().max(1);
        let zeros = Some((0, self.zeros)).filter(|(_, count)| *count > 0);
        let far = |from, to| self.far.range(from..to).map(|(bucket, count)| (*bucket, *count));
        far(i32::MIN, 0)
            .chain(zeros)
            .chain(far(1, start))
            .chain(self.pages.iter())
            .chain(far(start, i32::MAX))
    }

    /// Every bucket with its count, in any order.
    fn each(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        let zeros = Some((0, self.zeros)).filter(|(_, count)| *count > 0);
        self.pages.iter().chain(zeros).chain(self.far.iter().map(|(bucket, count)| (*bucket, *count)))
    }

    /// The lowest and the highest value of every bucket with its count, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.iter().map(|(bucket, count)| {
            let (low, high) = range_of(bucket);
            (low, high, count)
        })
    }

    /// The distribution of these buckets and counts; none where a bucket is that of no finite value or is there twice, or the
    /// counts together are beyond what 64 bits hold.
    pub fn from_counts(counts: impl IntoIterator<Item = (i32, u64)>) -> Option<Buckets> {
        let mut buckets = Buckets::default();
        let mut total = 0_u64;
        for (bucket, count) in counts {
            let is_one = (-1 - LAST_BUCKET..=LAST_BUCKET).contains(&bucket) && count > 0;
            total = total.checked_add(count).filter(|_| is_one && !buckets.has(bucket))?;
            buckets.add_to(bucket, count);
        }
        Some(buckets)
    }

    fn has(&mut self, bucket: i32) -> bool {
        let in_pages = self.pages.count_of(bucket).is_some_and(|count| *count > 0);
        in_pages || bucket == 0 && self.zeros > 0 || self.far.contains_key(&bucket)
    }
}

/// The same values, whatever order they came in.
impl PartialEq for Buckets {
    fn eq(&self, other: &Buckets) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Buckets {}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Counters of the buckets of some octaves, in pages that come into being when first touched.
#[derive(Clone, Default)]
struct Pages {
    /// The octave that `directory` begins with.
    first_octave: i32,
    /// For each page of these octaves its place in `counts`, or `NO_PAGE`.
    directory: Vec<u16>,
    counts: Vec<u64>,
}

/// Buckets of one power of two.
const OCTAVE: i32 = 1 << 10;
/// Two lines of a processor's cache, which it fetches together.
const PAGE: i32 = 16;
const PAGES_AN_OCTAVE: usize = (OCTAVE / PAGE) as usize;
const NO_PAGE: u16 = u16::MAX;

impl Pages {
    /// From a nanosecond to five hundred years: more would make directories large for a few odd values.
    const MOST_OCTAVES: usize = 64;

    /// The lowest bucket of its octaves.
    fn start(&self) -> i32 {
        self.first_octave * OCTAVE
    }

    /// The counter of a bucket whose page is there.
    #[inline]
    fn count_of(&mut self, bucket: i32) -> Option<&mut u64> {
        // Buckets below the first octave become numbers that no directory reaches.
        let at = bucket.wrapping_sub(self.start()).cast_unsigned() as usize;
        let place = usize::from(*self.directory.get(at / PAGE as usize)?);
        self.counts.get_mut(place * PAGE as usize + at % PAGE as usize)
    }

    /// The counter of a bucket whose page comes into being now; none where it is not among the octaves, and these cannot
    /// reach it.
    fn grown_to(&mut self, bucket: i32) -> Option<&mut u64> {
        if bucket < 0 {
            return None;
        }
        self.reach(bucket / OCTAVE)?;
        let at = (bucket - self.start()) as usize / PAGE as usize;
        if self.directory[at] == NO_PAGE {
            // There are at most `MOST_OCTAVES` × `PAGES_AN_OCTAVE` of them.
            self.directory[at] = (self.counts.len() / PAGE as usize) as u16;
            self.counts.resize(self.counts.len() + PAGE as usize, 0);
        }
        self.count_of(bucket)
    }

    fn reach(&mut self, octave: i32) -> Option<()> {
        let octaves = (self.directory.len() / PAGES_AN_OCTAVE) as i32;
        let (first, end) = match octaves {
            0 => (octave, octave + 1),
            _ => (self.first_octave.min(octave), (self.first_octave + octaves).max(octave + 1)),
        };
        let length = usize::try_from(end - first).ok().filter(|length| *length <= Self::MOST_OCTAVES)?;
        let before = if octaves == 0 { 0 } else { (self.first_octave - first) as usize };
        self.directory.splice(0..0, std::iter::repeat_n(NO_PAGE, before * PAGES_AN_OCTAVE));
        self.directory.resize(length * PAGES_AN_OCTAVE, NO_PAGE);
        self.first_octave = first;
        Some(())
    }

    fn iter(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        let pages = (self.start()..).step_by(PAGE as usize).zip(&self.directory);
        pages.filter(|(_, place)| **place != NO_PAGE).flat_map(|(first, place)| {
            let from = usize::from(*place) * PAGE as usize;
            let counts = (first..).zip(&self.counts[from..from + PAGE as usize]);
            counts.filter(|(_, count)| **count > 0).map(|(bucket, count)| (bucket, *count))
        })
    }

    fn clear(&mut self) {
        self.directory.fill(NO_PAGE);
        self.counts.clear();
    }
}

pub(super) fn bucket_of(value: f64) -> i32 {
    let magnitude = (value.abs().to_bits() >> IGNORED_BITS) as i32;
    if value < 0.0 { -1 - magnitude } else { magnitude }
}

fn range_of(bucket: i32) -> (f64, f64) {
    let magnitude = if bucket < 0 { -1 - bucket } else { bucket } as u64;
    let nearest = f64::from_bits(magnitude << IGNORED_BITS);
    let farthest = f64::from_bits(((magnitude + 1) << IGNORED_BITS) - 1);
    if bucket < 0 { (-farthest, -nearest) } else { (nearest, farthest) }
}

pub(super) fn middle_of(bucket: i32) -> f64 {
    // Of what is that small nearly all is 0.
    if bucket == 0 {
        return 0.0;
    }
    let (lowest, highest) = range_of(bucket);
    lowest + (highest - lowest) / 2.0
}
