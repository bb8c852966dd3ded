//! What every observer is, and the clock that dates its samples.

use std::sync::Arc;
use std::time::Duration;

use evidence::{Instant, Notice, Sample, SeriesKey};
use rustix::time::{ClockId, clock_gettime};

/// The run's clock: monotonic time since the run's epoch. This crate reads no other.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Watches something from outside.
pub trait Observer: Send {
    /// What it watches, for notices and for the series of its own cost.
    fn name(&self) -> &str;

    /// Samples at the present instant `at`, and returns soon: an observer that queries over a network does so on a thread
    /// of its own (see the module `remote`). The first call may only take the base of rates that later calls return;
    /// what cannot be observed has no sample.
    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)>;

    /// The closing samples, at the present instant `at`: the watch ends. What queries over a network begins a query now,
    /// whenever its next one is due, and returns what comes of it from [`Observer::await_closing`].
    fn sample_closing(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        self.sample(at)
    }

    /// Closing samples that took their time. Waits for them for `patience` at most; what is not there by then is a gap.
    fn await_closing(&mut self, _patience: Duration) -> Vec<(SeriesKey, Sample)> {
        Vec::new()
    }

    /// Notices since this was last called.
    fn take_notices(&mut self) -> Vec<Notice>;

    /// The CPU time that watching took since this was last called, besides that of the calls to [`Observer::sample`].
    fn take_cost(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// CPU time of this process, all threads, since it began.
pub(crate) fn own_cpu() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread since it began.
pub(crate) fn own_thread_cpu() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}
