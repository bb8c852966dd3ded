//! Quantiles of times over the last minute or two, in bounded memory and without locks: counts in buckets each a
//! sixteenth wider than its lower bound, so that a quantile is at most 6.25 % too high.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Buckets to a doubling.
const STEPS: u32 = 16;
/// Below this many nanoseconds everything is one bucket.
const FLOOR_BITS: u32 = 10;
/// From 1 µs to 2^26 µs (67 s); what is longer is in the last.
const DOUBLINGS: u32 = 26;
const BUCKETS: usize = (STEPS * DOUBLINGS) as usize + 1;
/// Each of the two halves is for so long; quantiles are over both.
const HALF: Duration = Duration::from_secs(60);

/// Times that were seen.
#[derive(Debug)]
pub struct Quantiles {
    began: Instant,
    halves: [Half; 2],
}

#[derive(Debug)]
struct Half {
    /// Which minute since the beginning is in it.
    minute: AtomicU64,
    counts: Box<[AtomicU64]>,
}

impl Half {
    fn new(minute: u64) -> Self {
        Self { minute: AtomicU64::new(minute), counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Quantiles {
    /// None seen yet.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { began: now, halves: [Half::new(0), Half::new(1)] }
    }

    /// Adds a time that was seen at `now`.
    pub fn add(&self, time: Duration, now: Instant) {
        let minute = self.minute(now);
        let half = &self.halves[(minute % 2) as usize];
        let held = half.minute.load(Ordering::Relaxed);
        let is_old = held < minute;
        if is_old && half.minute.compare_exchange(held, minute, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            half.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
        half.counts[bucket(time)].fetch_add(1, Ordering::Relaxed);
    }

    /// The times below which these shares (0 to 1) of what was seen lie; none when nothing was.
    #[must_use]
    pub fn at<const N: usize>(&self, shares: [f64; N], now: Instant) -> Option<[Duration; N]> {
        let minute = self.minute(now);
        let recent = self.halves.iter().filter(|half| half.minute.load(Ordering::Relaxed) + 1 >= minute);
        let mut counts = vec![0; BUCKETS];
        for half in recent {
            counts
                .iter_mut()
                .zip(&half.counts)
                .for_each(|(sum, count)| *sum += count.load(Ordering::Relaxed));
        }
        let all: u64 = counts.iter().sum();
        (all > 0).then(|| shares.map(|share| upper_bound(rank(&counts, (share * all as f64).ceil() as u64))))
    }

    fn minute(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.began).as_secs() / HALF.as_secs()
    }
}

/// The bucket in which the `wanted`th time lies.
fn rank(counts: &[u64], wanted: u64) -> usize {
    let mut seen = 0;
    let reached = |count: &u64| {
        seen += count;
        seen >= wanted.max(1)
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
    let step = (nanos >> (doubling - STEPS.ilog2())) as u32 & (STEPS - 1);
    let place = (doubling - FLOOR_BITS) * STEPS + step + 1;
    (place as usize).min(BUCKETS - 1)
}

fn upper_bound(bucket: usize) -> Duration {
    let place = bucket as u32;
    let lower = 1_u64 << (FLOOR_BITS + place / STEPS);
    Duration::from_nanos(lower + lower / u64::from(STEPS) * u64::from(place % STEPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_lies_below_its_bound_by_at_most_a_sixteenth(us in 2_u64..60_000_000) {
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
