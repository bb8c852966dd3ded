//! The trait through which a judge or a report reads a run, window by window.
//!
//! The archive implements it, and so does [`crate::memory::MemoryRun`], which tests fill by hand. A
//! reader cannot distinguish a run that has just ended from one of last year.

mod excerpt;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use crate::exemplar::Exemplar;
use crate::histogram::Histogram;
use crate::key::{Key, KeyId, Metric, Name};
use crate::manifest::{Ending, Manifest, RunEnd};
use crate::metric::{MetricId, MetricKey, MetricSums};
use crate::observed::{Notice, NoticeKind, Profile};
use crate::outcome::Outcome;
use crate::series::{Sample, SeriesKey};
use crate::time::Instant;

pub use excerpt::Excerpt;

/// A half-open range of the run's seconds.
pub type Seconds = Range<u32>;

/// Evidence that could not be read: the file is damaged or went away.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the run's evidence: {0}")]
pub struct ReadError(pub String);

/// Whether the evidence of a run is unchanged since it was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// It has the digest that was written at the seal.
    Intact,
    /// It has another one, or the seal of a run that ended is gone: it was changed since.
    Changed,
    /// It was never sealed: the run was killed, so there is no digest to compare with.
    Unsealed,
}

/// Until when a run offered its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadEnd {
    /// It offered all of it; after this time nothing was due any more.
    Complete(Duration),
    /// It was stopped after this time.
    CutShort(Duration),
}

/// One run, as it was recorded.
///
/// Keys, series and manifest are held in memory; histograms and sums are read for the window asked.
pub trait Run {
    /// What the run was.
    fn manifest(&self) -> &Manifest;

    /// How it ended; none when it was killed before it could be sealed.
    fn end(&self) -> Option<&RunEnd>;

    /// The SHA-256 digest of the evidence, hexadecimal, as written at the seal; none when it is not sealed.
    fn digest(&self) -> Option<&str>;

    /// The number of seconds for which there is evidence: one past the last second of the load that was recorded. Without
    /// any load it is one past the last second in which something was watched.
    fn seconds(&self) -> u32;

    /// How long the load was recorded: from the start of the run to the end of its last tick, which is within the last of
    /// [`Run::seconds`]. All of these where ticks do not say how much time they cover, as in imported runs.
    fn recorded(&self) -> Duration;

    /// Every key, with its number in this run.
    fn keys(&self) -> &[(KeyId, Key)];

    /// All histograms of `key` in `window`, merged. Empty when there are none.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn histogram(&self, key: KeyId, window: Seconds) -> Result<Histogram, ReadError>;

    /// The histogram of `key` in each second of `window` that has one, ascending.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn histograms(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, Histogram)>, ReadError>;

    /// The sum of the counter `key` in each second of `window` that has one, ascending.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn counts(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, u64)>, ReadError>;

    /// Every metric of scripts, with its number in this run.
    fn metrics(&self) -> &[(MetricId, MetricKey)];

    /// What was added to a metric of scripts in the intervals that begin in `window`, see [`Run::metric_intervals`].
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn metric(&self, metric: MetricId, window: Seconds) -> Result<MetricSums, ReadError>;

    /// What was added to a metric of scripts in each interval that has any and begins in `window`, ascending: in each second,
    /// or where the evidence is coarser in each few seconds.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn metric_intervals(
        &self,
        metric: MetricId,
        window: Seconds,
    ) -> Result<Vec<(Seconds, MetricSums)>, ReadError>;

    /// Every series that was observed.
    fn series(&self) -> &[SeriesKey];

    /// The samples of one series in `window`, ascending. A window that reaches the end of the run has those that were
    /// taken after its last second, too: the closing ones, whose rates cover the time up to the end.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn samples(&self, series: &SeriesKey, window: Seconds) -> Result<Vec<Sample>, ReadError>;

    /// The exchanges that were kept.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn exemplars(&self) -> Result<Vec<Exemplar>, ReadError>;

    /// What observers had to say, in order of time.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn notices(&self) -> Result<Vec<Notice>, ReadError>;

    /// The profiles that were captured, in the order of their ends.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn profiles(&self) -> Result<Vec<Profile>, ReadError>;

    /// All seconds of the run.
    fn whole(&self) -> Seconds {
        0..self.seconds()
    }

    /// The sum of the counter `key` over the whole run.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    fn total(&self, key: KeyId) -> Result<u64, ReadError> {
        Ok(self.counts(key, self.whole())?.iter().map(|(_, n)| n).sum())
    }
}

/// Until when the load of `run` was offered. One that is complete to the end of its last tick, when its last iteration had ended. Any
/// other until it was stopped, where that was recorded; else to the end of its last tick, but not longer than the last second in
/// which anything was due. What comes after it is the wait for requests in flight, and when in this second a run ended is not known
/// then: its load ends before it. Results of other tools are complete, unless there are none of single requests.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn load_end(run: &dyn Run) -> Result<LoadEnd, ReadError> {
    let mut last_due = None;
    for (id, _) in select(run.keys(), Metric::Scheduled, |_| true) {
        let last = run.counts(id, run.whole())?.last().map(|(second, _)| *second);
        last_due = last_due.max(last);
    }
    let at = |second: u32| Duration::from_secs(u64::from(second));
    let recorded = run.recorded();
    let waited_after = last_due.filter(|second| recorded > at(second + 1));
    let is_complete = run.end().is_some_and(|end| end.ending == Ending::Completed) && run.seconds() > 0;
    if is_complete {
        return Ok(LoadEnd::Complete(recorded));
    }
    Ok(LoadEnd::CutShort(match stopped_at(run)? {
        Some(stopped) => stopped.offset().max(last_due.map_or(Duration::ZERO, at)).min(recorded),
        None => waited_after.map_or(recorded, at),
    }))
}

/// That the load of `run` was stopped before its planned end, when and why, where that was recorded.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn stop(run: &dyn Run) -> Result<Option<Notice>, ReadError> {
    Ok(run.notices()?.into_iter().find(|notice| notice.kind == NoticeKind::Stopped))
}

/// When the load of `run` was stopped before its planned end, where that was recorded.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn stopped_at(run: &dyn Run) -> Result<Option<Instant>, ReadError> {
    Ok(stop(run)?.map(|notice| notice.at))
}

/// How long a load was recorded whose ticks cover `covered_ns`, those of each loop together, in a run of `seconds`.
pub fn recorded(covered_ns: u64, seconds: u32) -> Duration {
    let whole = Duration::from_secs(u64::from(seconds));
    if covered_ns == 0 { whole } else { Duration::from_nanos(covered_ns).min(whole) }
}

/// Of a run's keys, those of one metric that `filter` accepts.
pub fn select<'a>(
    keys: &'a [(KeyId, Key)],
    metric: Metric,
    filter: impl Fn(&Key) -> bool + 'a,
) -> impl Iterator<Item = (KeyId, &'a Key)> + 'a {
    keys.iter().filter(move |(_, key)| key.metric == metric && filter(key)).map(|(id, key)| (*id, key))
}

/// Requests that were completed in a window, by endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// The endpoint's name.
    pub endpoint: Name,
    /// Those that ended well.
    pub ok: u64,
    /// Those that did not. Requests that the generator cancelled are in neither number.
    pub failed: u64,
}

/// What was completed in `window`, by endpoint in the order of its name; endpoints without any are left out.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn completed(run: &dyn Run, window: &Seconds) -> Result<Vec<Completed>, ReadError> {
    let mut by_endpoint: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    for (id, key) in select(run.keys(), Metric::ResponseTime, |_| true) {
        let count = run.histogram(id, window.clone())?.count();
        let (ok, failed) = by_endpoint.entry(key.endpoint.clone()).or_default();
        match key.outcome {
            Some(Outcome::Cancelled) => {}
            Some(outcome) if outcome.is_failure() => *failed += count,
            _ => *ok += count,
        }
    }
    let rows = by_endpoint.into_iter().filter(|(_, (ok, failed))| ok + failed > 0);
    Ok(rows.map(|(endpoint, (ok, failed))| Completed { endpoint, ok, failed }).collect())
}

#[cfg(test)]
mod tests;
