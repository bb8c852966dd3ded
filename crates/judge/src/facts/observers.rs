//! Notices of observers, and how much of the run their series do not cover.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Notice, NoticeKind, Run, SeriesKey};

use crate::gaps::Covered;

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
    // Who stopped the run or marked an event is not an observer, and a part of the generator that vanished has a separate rule.
    let is_lost_worker = |notice: &Notice| notice.instance.is_some() && notice.kind == NoticeKind::Gone;
    let is_of_observer = |notice: &Notice| {
        !matches!(notice.kind, NoticeKind::Stopped | NoticeKind::Mark) && !is_lost_worker(notice)
    };
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
            let times: Vec<f64> = samples.iter().map(|sample| sample.at.offset().as_secs_f64()).collect();
            let mut covered = Covered::default();
            covered.add(&times, run_s);
            Ok(Some(covered.missing_s(&(0.0..run_s))))
        }
        // It ran all the time and never got a sample.
        None => Ok(of_generator("observer_cpu").map(|_| run_s)),
    }
}
