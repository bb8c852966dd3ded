//! Quantiles of times over the last minute or two, in bounded memory and without locks: a histogram whose buckets are a
//! sixteenth of their lower bound wide, so that a quantile is at most 6.25 % too high.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const BUCKETS_PER_DOUBLING: u32 = 16;
/// Times below 2 to this power, in nanoseconds, share one bucket.
const FLOOR_BITS: u32 = 10;
/// From 1 µs to 2^26 µs (67 s); longer times are in the last bucket.
const DOUBLINGS: u32 = 26;
const BUCKETS: usize = (BUCKETS_PER_DOUBLING * DOUBLINGS) as usize + 1;
/// The time that one histogram covers; quantiles are computed over two.
const HISTOGRAM_PERIOD: Duration = Duration::from_secs(60);

/// A sliding histogram of times.
#[derive(Debug)]
pub struct Quantiles {
    began: Instant,
    minutes: [MinuteHistogram; 2],
}

#[derive(Debug)]
struct MinuteHistogram {
    /// The minute since the beginning that it covers.
    minute: AtomicU64,
    counts: Box<[AtomicU64]>,
}

impl MinuteHistogram {
    fn new(minute: u64) -> Self {
        Self { minute: AtomicU64::new(minute), counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Quantiles {
    /// An empty histogram.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { began: now, minutes: [MinuteHistogram::new(0), MinuteHistogram::new(1)] }
    }

    /// Adds a time that was measured at `now`.
    pub fn add(&self, time: Duration, now: Instant) {
        let minute = self.minute(now);
        let histogram = &self.minutes[(minute % 2) as usize];
        let covered = histogram.minute.load(Ordering::Relaxed);
        let is_old = covered < minute;
        if is_old
            && histogram
                .minute
                .compare_exchange(covered, minute, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            histogram.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
        histogram.counts[bucket(time)].fetch_add(1, Ordering::Relaxed);
    }

    /// The quantiles of these ranks (0 to 1); `None` when no time was added recently.
    #[must_use]
    pub fn at<const N: usize>(&self, ranks: [f64; N], now: Instant) -> Option<[Duration; N]> {
        let minute = self.minute(now);
        let recent =
            self.minutes.iter().filter(|histogram| histogram.minute.load(Ordering::Relaxed) + 1 >= minute);
        let mut counts = vec![0; BUCKETS];
        for histogram in recent {
            counts
                .iter_mut()
                .zip(&histogram.counts)
                .for_each(|(sum, count)| *sum += count.load(Ordering::Relaxed));
        }
        let all: u64 = counts.iter().sum();
        let time = |rank: f64| upper_bound(bucket_of_nth(&counts, (rank * all as f64).ceil() as u64));
        (all > 0).then(|| ranks.map(time))
    }

    fn minute(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.began).as_secs() / HISTOGRAM_PERIOD.as_secs()
    }
}

/// The bucket of the `nth` shortest time.
fn bucket_of_nth(counts: &[u64], nth: u64) -> usize {
    let mut seen = 0;
    let reached = |count: &u64| {
        seen += count;
        seen >= nth.max(1)
    };
    counts.iter().position(reached).unwrap_or(BUCKETS - 1)
}

fn bucket(time: Duration) -> usize {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if nanos < 1 << FLOOR_BITS {
        return 0;
    }
    let doubling = nanos.ilog2();
    // The bits below the highest one, as sixteenths.
    let step = (nanos >> (doubling - BUCKETS_PER_DOUBLING.ilog2())) as u32 & (BUCKETS_PER_DOUBLING - 1);
    let index = (doubling - FLOOR_BITS) * BUCKETS_PER_DOUBLING + step + 1;
    (index as usize).min(BUCKETS - 1)
}

fn upper_bound(bucket: usize) -> Duration {
    let index = bucket as u32;
    let lower = 1_u64 << (FLOOR_BITS + index / BUCKETS_PER_DOUBLING);
    Duration::from_nanos(
        lower + lower / u64::from(BUCKETS_PER_DOUBLING) * u64::from(index % BUCKETS_PER_DOUBLING),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bucket_bound_exceeds_its_times_by_at_most_a_sixteenth(us in 2_u64..60_000_000) {
            let time = Duration::from_micros(us);
            let bound = upper_bound(bucket(time));
            prop_assert!(time <= bound && bound.as_secs_f64() <= time.as_secs_f64() * 1.0626, "{time:?} {bound:?}");
        }
    }

    #[test]
    fn quantiles_are_of_the_last_two_minutes() {
        let began = Instant::now();
        let quantiles = Quantiles::new(began);
        assert_eq!(quantiles.at([0.5], began), None);
        (1..=100).for_each(|ms| quantiles.add(Duration::from_millis(ms), began));
        let [p50, p99] = quantiles.at([0.5, 0.99], began).unwrap();
        assert!(
            (50..54).contains(&p50.as_millis()) && (99..106).contains(&p99.as_millis()),
            "{p50:?} {p99:?}"
        );
        let at = |s| began + Duration::from_secs(s);
        quantiles.add(Duration::from_secs(1), at(70));
        assert!(quantiles.at([0.5], at(119)).unwrap()[0] < Duration::from_millis(60));
        assert!(
            quantiles.at([0.5], at(130)).unwrap()[0] >= Duration::from_secs(1),
            "the first minute is gone"
        );
        quantiles.add(Duration::from_millis(1), at(130));
        assert!(quantiles.at([0.5], at(131)).unwrap()[0] < Duration::from_millis(2));
        assert_eq!(quantiles.at([0.5], at(400)), None);
    }
}
