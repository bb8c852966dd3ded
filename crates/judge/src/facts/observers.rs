//! Notices of observers, and how much of the run their series do not cover.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Instant, Notice, NoticeKind, Run, SeriesKey};

/// An interval between two observations that is longer than usual by more than this factor is a gap.
const GAP: f64 = 1.5;
/// Series that have a sample for every observation, of observers without a thread of their own.
const SAMPLED_EVERY_TIME: [&str; 2] = ["threads", "host_memory_available"];

/// An observer that reported anything.
pub(crate) struct ObserverNotices {
    /// Its name: the target's, and the part of it that was observed.
    pub(crate) name: String,
    /// In order of time.
    pub(crate) notices: Vec<Notice>,
    /// Seconds of the run that its series do not cover; none when it has no series.
    pub(crate) missing_s: Option<f64>,
}

/// Every observer that reported anything, by name.
pub(super) fn notices(run: &dyn Run) -> Result<Vec<ObserverNotices>, ReadError> {
    let mut by_name: BTreeMap<String, Vec<Notice>> = BTreeMap::new();
    // Who stopped the run is no observer.
    let is_of_observer = |notice: &Notice| notice.kind != NoticeKind::Stopped;
    for notice in run.notices()?.into_iter().filter(is_of_observer) {
        by_name.entry(notice.observer.clone()).or_default().push(notice);
    }
    let observer = |(name, mut notices): (String, Vec<Notice>)| {
        notices.sort_by_key(|notice| notice.at);
        let missing_s = missing_s(run, &name)?;
        Ok(ObserverNotices { name, notices, missing_s })
    };
    by_name.into_iter().map(observer).collect()
}

fn missing_s(run: &dyn Run, observer: &str) -> Result<Option<f64>, ReadError> {
    let of_generator = |name: &str| {
        let is_it =
            |s: &&SeriesKey| &*s.target == SeriesKey::GENERATOR && &*s.name == name && &*s.part == observer;
        run.series().iter().find(is_it)
    };
    let level = |s: &&SeriesKey| &*s.target == observer && SAMPLED_EVERY_TIME.contains(&&*s.name);
    let observations = of_generator("observer_took").or_else(|| run.series().iter().find(level));
    let run_s = f64::from(run.seconds());
    match observations {
        Some(series) => {
            let samples = run.samples(series, run.whole())?;
            Ok(Some(uncovered_s(samples.iter().map(|sample| sample.at), run_s)))
        }
        // It ran all the time and never got a sample.
        None => Ok(of_generator("observer_cpu").map(|_| run_s)),
    }
}

/// Seconds in gaps: between two observations, before the first and after the last.
fn uncovered_s(observations: impl Iterator<Item = Instant>, run_s: f64) -> f64 {
    let times: Vec<f64> = observations.map(|at| at.offset().as_secs_f64()).collect();
    let mut between: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    between.sort_by(f64::total_cmp);
    let usual = between.get(between.len() / 2).copied().unwrap_or(1.0).max(1.0);
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return run_s };
    let gaps = between.iter().copied().chain([*first, run_s - last]);
    let missing = gaps.filter(|gap| *gap > GAP * usual).fold(0.0, |sum, gap| sum + gap - usual);
    missing.min(run_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncovered(seconds: impl Iterator<Item = u64>, run_s: f64) -> f64 {
        uncovered_s(seconds.map(|second| Instant::from_nanos(second * 1_000_000_000)), run_s)
    }

    #[test]
    fn seconds_without_an_observation_are_missing() {
        assert_eq!(uncovered(0..60, 60.0), 0.0);
        assert_eq!(uncovered((0..20).chain(30..60), 60.0), 10.0);
        assert_eq!(uncovered(10..50, 60.0), 19.0);
        assert_eq!(uncovered((0..60).step_by(5), 60.0), 0.0, "a longer usual interval is no gap");
        assert_eq!(uncovered((0..30).step_by(5), 60.0), 30.0);
        assert_eq!(uncovered(0..0, 60.0), 60.0);
    }
}
