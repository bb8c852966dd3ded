//! The reading that a rate is taken from.

use std::time::Duration;

use evidence::Instant;

/// A rate covers at least this much. Over a shorter time one tick of the kernel's clock, 10 ms, would look like many
/// cores.
pub(crate) const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// The last reading of something that only grows, and the one before it.
///
/// The closing sample of a watch may come just after another one. Its rate is taken from the reading before that one,
/// so that it covers [`SHORTEST_INTERVAL`].
#[derive(Debug, Clone)]
pub(crate) struct Base<T> {
    last: Dated<T>,
    earlier: Option<Dated<T>>,
}

/// A reading and its instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dated<T> {
    pub(crate) at: Instant,
    pub(crate) reading: T,
}

impl<T> Base<T> {
    /// The first reading, or the first one that can be compared with later ones.
    pub(crate) fn new(at: Instant, reading: T) -> Base<T> {
        Base { last: Dated { at, reading }, earlier: None }
    }

    /// The last reading.
    pub(crate) fn last(&self) -> &T {
        &self.last.reading
    }

    /// The reading from which a rate up to `at` is taken; none where all are too recent, or no time has passed.
    pub(crate) fn of_rate_until(&self, at: Instant) -> Option<&Dated<T>> {
        if at <= self.last.at {
            return None;
        }
        let is_long_enough = |dated: &&Dated<T>| at.since(dated.at) >= SHORTEST_INTERVAL;
        Some(&self.last).filter(is_long_enough).or(self.earlier.as_ref().filter(is_long_enough))
    }

    /// Makes `reading` the base of later rates, unless the last one is as good as it.
    pub(crate) fn advance(&mut self, at: Instant, reading: T) {
        if at.since(self.last.at) >= SHORTEST_INTERVAL {
            let last = std::mem::replace(&mut self.last, Dated { at, reading });
            self.earlier = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::at(Duration::from_micros(micros))
    }

    fn base_of(base: &Base<u32>, micros: u64) -> Option<u32> {
        base.of_rate_until(at(micros)).map(|dated| dated.reading)
    }

    #[test]
    fn a_rate_is_taken_from_the_last_reading_that_is_not_too_recent() {
        let mut base = Base::new(at(4_000_087), 4);
        assert_eq!(base_of(&base, 4_050_000), None, "there is no earlier one");
        base.advance(at(5_000_142), 5);
        assert_eq!((base_of(&base, 5_000_311), base_of(&base, 5_000_142)), (Some(4), None));
        assert_eq!(base_of(&base, 5_100_142), Some(5));
        base.advance(at(5_000_311), 6);
        assert_eq!((base_of(&base, 6_000_142), *base.last()), (Some(5), 5));
    }
}
