//! What puts an arrival beyond the bound of an objective.

use evidence::Histogram;

/// What puts an arrival beyond a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    /// That it failed.
    Failure,
    /// That it failed or took longer.
    Time(TimeBound),
}

/// A time, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimeBound {
    pub(super) us: f64,
    /// Whether a time that equals it is beyond it.
    pub(super) is_strict: bool,
}

/// Times by their side of a bound. A bucket that contains the bound is on neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) within: u64,
    pub(super) at: u64,
    pub(super) beyond: u64,
}

impl Bound {
    pub(super) fn sides(self, times: &Histogram) -> Sides {
        let Bound::Time(bound) = self else { return Sides { within: times.count(), ..Sides::default() } };
        times.buckets().fold(Sides::default(), |mut sides, (low, high, count)| {
            let side = match (bound.is_beyond(low), bound.is_beyond(high)) {
                (true, _) => &mut sides.beyond,
                (false, true) => &mut sides.at,
                (false, false) => &mut sides.within,
            };
            *side += count;
            sides
        })
    }

    /// The bound's time in seconds, where it is one.
    pub(super) fn seconds(self) -> Option<f64> {
        match self {
            Bound::Failure => None,
            Bound::Time(bound) => Some(bound.us / 1e6),
        }
    }
}

impl TimeBound {
    fn is_beyond(self, us: u64) -> bool {
        let us = us as f64;
        if self.is_strict { us >= self.us } else { us > self.us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_that_contains_the_bound_is_on_neither_side() {
        let mut times = Histogram::new();
        for us in [10_000, 49_960, 50_010, 80_000] {
            times.record_us(us, 1);
        }
        let sides = |us: f64, is_strict| Bound::Time(TimeBound { us, is_strict }).sides(&times);
        // The buckets of 49,952 to 49,983 and of 49,984 to 50,015.
        assert_eq!(sides(50_000.0, true), Sides { within: 2, at: 1, beyond: 1 });
        assert_eq!(sides(50_015.0, false), Sides { within: 3, at: 0, beyond: 1 });
        assert_eq!(sides(50_015.0, true), Sides { within: 2, at: 1, beyond: 1 });
        assert_eq!(Bound::Failure.sides(&times), Sides { within: 4, at: 0, beyond: 0 });
    }
}
