//! Watches the generator itself.

use std::time::Duration;

use evidence::{Instant, Notice, Sample, SeriesKey};

use crate::base::Base;
use crate::observer::{Observer, own_cpu};
use crate::process::{ProcessObserver, ProcessRef};

/// Samples this very process, as the target [`SeriesKey::GENERATOR`].
///
/// CPU time comes from the process's own clock, in nanoseconds and including threads that ended; everything else is read
/// as for any process. The work of observing is part of it.
#[derive(Debug)]
pub struct OwnProcess {
    process: ProcessObserver,
    base: Option<Base<Duration>>,
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
        let base = self.base.get_or_insert_with(|| Base::new(at, cpu));
        if let Some(base) = base.of_rate_until(at) {
            let value = cpu.saturating_sub(base.reading).div_duration_f64(at.since(base.at));
            let key = SeriesKey::new("cpu", SeriesKey::GENERATOR, "cores");
            samples.push((key, Sample { at, value }));
        }
        base.advance(at, cpu);
        samples
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.process.take_notices()
    }
}
