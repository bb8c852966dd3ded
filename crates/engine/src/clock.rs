//! The one clock of a run: nanoseconds of `CLOCK_MONOTONIC` since the run's epoch, and the epoch's time of day.
//!
//! Nothing else in the engine reads the time; everything that needs it is given this clock.

use std::time::{Duration, SystemTime};

use evidence::Instant;
use rustix::time::{ClockId, clock_gettime};

/// A clock that counts from a fixed epoch. Copies of it agree, in every thread.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch_ns: u64,
    epoch_unix_ns: i128,
    /// The time of day less the monotonic clock, of this machine, when this clock was made.
    wall_ahead_ns: i128,
}

impl Clock {
    /// A clock whose epoch lies `lead` in the future, so that loops can be ready when it begins.
    pub fn starting_in(lead: Duration) -> Self {
        let lead_ns = u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX);
        let (epoch_ns, wall_ahead_ns) = (monotonic_ns().saturating_add(lead_ns), wall_ahead_ns());
        Clock { epoch_ns, epoch_unix_ns: i128::from(epoch_ns) + wall_ahead_ns, wall_ahead_ns }
    }

    /// A clock whose epoch is this reading of `CLOCK_MONOTONIC`, which another machine has dated.
    pub fn with_epoch(epoch_ns: u64, epoch_unix_ns: i128) -> Self {
        Clock { epoch_ns, epoch_unix_ns, wall_ahead_ns: wall_ahead_ns() }
    }

    /// The epoch in nanoseconds since 1970, UTC: read once, when the clock is made. It dates the run; durations never
    /// come from it.
    pub fn epoch_unix_ns(&self) -> i128 {
        self.epoch_unix_ns
    }

    /// The time of day at `instant`, which is about now, in nanoseconds since 1970, UTC: what users of the target would read. When this
    /// machine's time of day is set, it follows.
    pub fn unix_ns(&self, instant: Instant) -> i128 {
        let set_by = wall_ahead_ns() - self.wall_ahead_ns;
        self.epoch_unix_ns + i128::from(instant.as_nanos()) + set_by
    }

    /// Time since the epoch; zero before it.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(read(ClockId::Monotonic).saturating_sub(self.epoch_ns))
    }

    /// Sleep until the epoch.
    pub(crate) fn wait_for_epoch(&self) {
        while let Some(left) = self.epoch_ns.checked_sub(read(ClockId::Monotonic)).filter(|left| *left > 0) {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }

    /// The reading of `CLOCK_MONOTONIC` at `instant`, in nanoseconds.
    pub fn monotonic_ns(&self, instant: Instant) -> u64 {
        self.epoch_ns.saturating_add(instant.as_nanos())
    }
}

/// The reading of `CLOCK_MONOTONIC`, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// The time of day less the monotonic clock, in nanoseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the one wall clock of the engine: it dates the run, and is what requests ask for"
)]
fn wall_ahead_ns() -> i128 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since_1970.as_nanos() as i128 - i128::from(monotonic_ns())
}

/// The CPU time of the calling thread, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).expect("these clocks never show a time before their start");
    let nanos = u64::try_from(now.tv_nsec).expect("nanoseconds of a clock are never negative");
    seconds * 1_000_000_000 + nanos
}
