//! Watches the generator itself.

use std::time::Duration;

use evidence::{Instant, Notice, Sample, SeriesKey};
use rustix::time::{ClockId, clock_gettime};

use crate::process::{ProcessObserver, ProcessRef};
use crate::watch::Observer;

/// Samples this very process, as the target [`SeriesKey::GENERATOR`].
///
/// Its CPU time is that of the process's own clock, in nanoseconds and with the time of threads that
/// ended; everything else is read as of any process. The work of observing is part of it.
#[derive(Debug)]
pub struct OwnProcess {
    process: ProcessObserver,
    base: Option<(Instant, Duration)>,
}

impl OwnProcess {
    /// Watches the process that calls.
    pub fn new() -> Self {
        let process = ProcessObserver::alone(SeriesKey::GENERATOR, ProcessRef::Pid(std::process::id()));
        OwnProcess { process, base: None }
    }
}

impl Default for OwnProcess {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for OwnProcess {
    fn name(&self) -> &str {
        self.process.name()
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let mut samples = self.process.sample(at);
        samples.retain(|(key, _)| !matches!(&*key.name, "cpu" | "processes"));
        let cpu = own_cpu();
        let (base_at, base_cpu) = *self.base.get_or_insert((at, cpu));
        if at > base_at {
            let value = cpu.saturating_sub(base_cpu).div_duration_f64(at.since(base_at));
            let key = SeriesKey::new("cpu", SeriesKey::GENERATOR, "cores");
            samples.push((key, Sample { at, value }));
            self.base = Some((at, cpu));
        }
        samples
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.process.take_notices()
    }
}

/// CPU time of this process, all threads, since it began.
fn own_cpu() -> Duration {
    spent(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread since it began.
pub(crate) fn own_thread_cpu() -> Duration {
    spent(ClockId::ThreadCPUTime)
}

fn spent(clock: ClockId) -> Duration {
    let spent = clock_gettime(clock);
    let nanos = u32::try_from(spent.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(spent.tv_sec).unwrap_or(0), nanos)
}
