//! A run whose evidence can be read until its load is over: nothing that reads it keeps its file from being sealed for longer than
//! one question to it takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evidence::metric::{MetricId, MetricKey, MetricSums};
use evidence::run::{ReadError, Run, Seconds};
use evidence::{Exemplar, Histogram, Key, KeyId, Manifest, Notice, Profile, RunEnd, Sample, SeriesKey};

pub(super) struct UntilOver<'a> {
    pub(super) run: &'a dyn Run,
    pub(super) is_over: &'a AtomicBool,
}

impl UntilOver<'_> {
    fn still(&self) -> Result<&dyn Run, ReadError> {
        match self.is_over.load(Ordering::Relaxed) {
            false => Ok(self.run),
            true => Err(ReadError("its load is over".to_owned())),
        }
    }
}

impl Run for UntilOver<'_> {
    fn manifest(&self) -> &Manifest {
        self.run.manifest()
    }

    fn end(&self) -> Option<&RunEnd> {
        self.run.end()
    }

    fn digest(&self) -> Option<&str> {
        self.run.digest()
    }

    fn seconds(&self) -> u32 {
        self.run.seconds()
    }

    fn recorded(&self) -> Duration {
        self.run.recorded()
    }

    fn keys(&self) -> &[(KeyId, Key)] {
        self.run.keys()
    }

    fn histogram(&self, key: KeyId, window: Seconds) -> Result<Histogram, ReadError> {
        self.still()?.histogram(key, window)
    }

    fn histograms(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, Histogram)>, ReadError> {
        self.still()?.histograms(key, window)
    }

    fn counts(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, u64)>, ReadError> {
        self.still()?.counts(key, window)
    }

    fn metrics(&self) -> &[(MetricId, MetricKey)] {
        self.run.metrics()
    }

    fn metric(&self, metric: MetricId, window: Seconds) -> Result<MetricSums, ReadError> {
        self.still()?.metric(metric, window)
    }

    fn metric_intervals(
        &self,
        metric: MetricId,
        window: Seconds,
    ) -> Result<Vec<(Seconds, MetricSums)>, ReadError> {
        self.still()?.metric_intervals(metric, window)
    }

    fn series(&self) -> &[SeriesKey] {
        self.run.series()
    }

    fn samples(&self, series: &SeriesKey, window: Seconds) -> Result<Vec<Sample>, ReadError> {
        self.still()?.samples(series, window)
    }

    fn exemplars(&self) -> Result<Vec<Exemplar>, ReadError> {
        self.still()?.exemplars()
    }

    fn notices(&self) -> Result<Vec<Notice>, ReadError> {
        self.still()?.notices()
    }

    fn profiles(&self) -> Result<Vec<Profile>, ReadError> {
        self.still()?.profiles()
    }
}

#[cfg(test)]
mod tests {
    use evidence::Metric;
    use evidence::memory::MemoryRun;

    use super::*;

    #[test]
    fn a_run_that_is_over_answers_no_further_question() {
        let mut memory = MemoryRun::new(Manifest::named("demo"));
        memory.add(&Key::of(Metric::Requests), 3, 7);
        let is_over = AtomicBool::new(false);
        let run = UntilOver { run: &memory, is_over: &is_over };
        let key = run.keys()[0].0;
        assert_eq!(run.total(key).unwrap(), 7);
        is_over.store(true, Ordering::Relaxed);
        assert!(run.total(key).is_err() && run.notices().is_err() && run.histogram(key, 0..4).is_err());
        assert_eq!(run.seconds(), 4);
    }
}
