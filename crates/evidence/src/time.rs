//! Time inside a run: monotonic nanoseconds since one epoch that everything in the run is given.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant of a run: monotonic nanoseconds since the run's epoch (its second 0).
///
/// It cannot be mixed up with a [`Duration`], and it is never read from a clock in this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const EPOCH: Instant = Instant(0);
    /// Later than every instant of any run.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// From nanoseconds since the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The instant at which `offset` of the run has passed; saturates after 584 years.
    pub fn at(offset: Duration) -> Self {
        Instant(u64::try_from(offset.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whole seconds of the run that have passed: the number of the second this instant lies in.
    pub fn second(self) -> u32 {
        u32::try_from(self.0 / 1_000_000_000).unwrap_or(u32::MAX)
    }

    /// The time from `earlier` to this instant; zero when `earlier` is in fact later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Time since the epoch.
    pub fn offset(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, rhs: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}
