//! What a histogram says: quantiles, mean, extremes, shares.

use super::{Histogram, highest_of, lowest_of, slot_of};

/// A quantile of response times, where failed and dropped arrivals count as infinitely slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// Nothing was counted.
    Empty,
    /// In microseconds.
    Finite(f64),
    /// More than the asked share of arrivals never got their answer.
    Infinite,
}

impl Quantile {
    /// In microseconds, when there is a finite answer.
    pub fn finite_us(self) -> Option<f64> {
        match self {
            Quantile::Finite(us) => Some(us),
            Quantile::Empty | Quantile::Infinite => None,
        }
    }
}

impl Histogram {
    /// The `q`-quantile (0 to 1) in microseconds, interpolated linearly inside its bucket.
    pub fn quantile(&self, q: f64) -> Quantile {
        self.quantile_with(q, 0)
    }

    /// The `q`-quantile (0 to 1) over the counted values and `infinite` further ones that are infinitely
    /// slow: arrivals that failed or were dropped.
    ///
    /// The target rank is `q × n`, at least one; the value at that rank is found inside its bucket by
    /// linear interpolation, so that a bucket's width (0.1 % of the value) bounds the error.
    pub fn quantile_with(&self, q: f64, infinite: u64) -> Quantile {
        let n = self.total + infinite;
        if n == 0 {
            return Quantile::Empty;
        }
        let rank = (q.clamp(0.0, 1.0) * n as f64).max(1.0);
        if rank > self.total as f64 {
            return Quantile::Infinite;
        }
        let mut below = 0.0;
        let mut last = 0.0;
        for (low, high, count) in self.buckets() {
            let count = count as f64;
            if below + count >= rank {
                let inside = (rank - below) / count;
                return Quantile::Finite(low as f64 + (high - low) as f64 * inside);
            }
            below += count;
            last = high as f64;
        }
        Quantile::Finite(last)
    }

    /// The arithmetic mean in microseconds, from the middle of each bucket; none when empty.
    pub fn mean_us(&self) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let sum: f64 = self.buckets().map(|(low, high, n)| (low + high) as f64 / 2.0 * n as f64).sum();
        Some(sum / self.total as f64)
    }

    /// The highest value counted, as its bucket's upper end in microseconds; none when empty.
    pub fn max_us(&self) -> Option<u64> {
        self.slots().last().map(|(slot, _)| highest_of(slot))
    }

    /// The lowest value counted, as its bucket's lower end in microseconds; none when empty.
    pub fn min_us(&self) -> Option<u64> {
        self.slots().next().map(|(slot, _)| lowest_of(slot))
    }

    /// The lowest and the highest value of the bucket that counts `micros` microseconds.
    pub fn bucket_of(micros: u64) -> (u64, u64) {
        let slot = slot_of(micros.min(Self::MAX_US));
        (lowest_of(slot), highest_of(slot))
    }

    /// How many values are at most `micros` microseconds, the bucket of that value included.
    pub fn count_within_us(&self, micros: u64) -> u64 {
        let limit = slot_of(micros.min(Self::MAX_US));
        self.slots().take_while(|(slot, _)| *slot <= limit).map(|(_, count)| count).sum()
    }

    /// How many values are at least `micros` microseconds, the bucket of that value included.
    pub fn count_from_us(&self, micros: u64) -> u64 {
        let limit = slot_of(micros.min(Self::MAX_US));
        self.slots().filter(|(slot, _)| *slot >= limit).map(|(_, count)| count).sum()
    }
}
