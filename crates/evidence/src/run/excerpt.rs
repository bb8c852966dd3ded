//! A run of which a part may be read.

use std::time::Duration;

use super::{ReadError, Run, Seconds};
use crate::exemplar::Exemplar;
use crate::histogram::Histogram;
use crate::key::{Key, KeyId};
use crate::manifest::{Manifest, RunEnd};
use crate::metric::{MetricId, MetricKey, MetricSums};
use crate::observed::{Notice, Profile};
use crate::series::{Sample, SeriesKey};

/// A run whose evidence is read through `readable`: which part of a window may be read, of a key or of anything else. An error
/// is the answer to the question. What the run holds in memory is not restricted.
pub struct Excerpt<'a, F> {
    run: &'a dyn Run,
    readable: F,
    /// Of how many seconds the run consists.
    seconds: u32,
}

impl<'a, F: Fn(Option<KeyId>, Seconds) -> Result<Seconds, ReadError>> Excerpt<'a, F> {
    /// What `readable` leaves of `run`.
    pub fn new(run: &'a dyn Run, readable: F) -> Excerpt<'a, F> {
        Excerpt { run, readable, seconds: run.seconds() }
    }

    /// The same of the first `seconds` alone, as if the run had lasted no longer.
    #[must_use]
    pub fn of_first(self, seconds: u32) -> Excerpt<'a, F> {
        Excerpt { seconds: self.seconds.min(seconds), ..self }
    }

    /// The part of `window` that may be read.
    fn window(&self, key: Option<KeyId>, window: Seconds) -> Result<Seconds, ReadError> {
        let window = (self.readable)(key, window)?;
        if self.seconds == self.run.seconds() {
            return Ok(window);
        }
        let end = window.end.min(self.seconds);
        Ok(window.start.min(end)..end)
    }

    /// The same of samples, which are dated a little after the second that they cover.
    fn window_of_samples(&self, window: Seconds) -> Result<Seconds, ReadError> {
        let window = (self.readable)(None, window)?;
        let is_whole = self.seconds == self.run.seconds();
        let end = if is_whole { window.end } else { window.end.min(self.seconds + 1) };
        Ok(window.start.min(end)..end)
    }
}

impl<F: Fn(Option<KeyId>, Seconds) -> Result<Seconds, ReadError>> Run for Excerpt<'_, F> {
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
        self.seconds
    }

    fn recorded(&self) -> Duration {
        match self.seconds == self.run.seconds() {
            true => self.run.recorded(),
            false => self.run.recorded().min(Duration::from_secs(u64::from(self.seconds))),
        }
    }

    fn keys(&self) -> &[(KeyId, Key)] {
        self.run.keys()
    }

    fn histogram(&self, key: KeyId, window: Seconds) -> Result<Histogram, ReadError> {
        self.run.histogram(key, self.window(Some(key), window)?)
    }

    fn histograms(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, Histogram)>, ReadError> {
        self.run.histograms(key, self.window(Some(key), window)?)
    }

    fn counts(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, u64)>, ReadError> {
        self.run.counts(key, self.window(Some(key), window)?)
    }

    fn metrics(&self) -> &[(MetricId, MetricKey)] {
        self.run.metrics()
    }

    fn metric(&self, metric: MetricId, window: Seconds) -> Result<MetricSums, ReadError> {
        self.run.metric(metric, self.window(None, window)?)
    }

    fn metric_intervals(
        &self,
        metric: MetricId,
        window: Seconds,
    ) -> Result<Vec<(Seconds, MetricSums)>, ReadError> {
        self.run.metric_intervals(metric, self.window(None, window)?)
    }

    fn series(&self) -> &[SeriesKey] {
        self.run.series()
    }

    fn samples(&self, series: &SeriesKey, window: Seconds) -> Result<Vec<Sample>, ReadError> {
        self.run.samples(series, self.window_of_samples(window)?)
    }

    fn exemplars(&self) -> Result<Vec<Exemplar>, ReadError> {
        (self.readable)(None, self.whole())?;
        self.run.exemplars()
    }

    fn notices(&self) -> Result<Vec<Notice>, ReadError> {
        (self.readable)(None, self.whole())?;
        self.run.notices()
    }

    fn profiles(&self) -> Result<Vec<Profile>, ReadError> {
        (self.readable)(None, self.whole())?;
        self.run.profiles()
    }
}
