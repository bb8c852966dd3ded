//! What observers had to say, and how much of the run they did not see.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Instant, Notice, Run, SeriesKey};

/// A gap is longer than the usual time between two looks by more than this factor.
const GAP: f64 = 1.5;
/// Levels that their observer takes at every look, of those that look without a thread of their own.
const AT_EVERY_LOOK: [&str; 2] = ["threads", "host_memory_available"];

/// An observer that had something to say.
pub(crate) struct Watcher {
    /// Its name: the target's, and what of it was watched.
    pub(crate) name: String,
    /// In the order of time.
    pub(crate) notices: Vec<Notice>,
    /// Seconds of the run that its series do not cover; none when it has no series.
    pub(crate) missing_s: Option<f64>,
}

/// Every observer that had something to say, by name.
pub(crate) fn watchers(run: &dyn Run) -> Result<Vec<Watcher>, ReadError> {
    let mut by_name: BTreeMap<String, Vec<Notice>> = BTreeMap::new();
    for notice in run.notices()? {
        by_name.entry(notice.observer.clone()).or_default().push(notice);
    }
    let watcher = |(name, mut notices): (String, Vec<Notice>)| {
        notices.sort_by_key(|notice| notice.at);
        let missing_s = missing_s(run, &name)?;
        Ok(Watcher { name, notices, missing_s })
    };
    by_name.into_iter().map(watcher).collect()
}

fn missing_s(run: &dyn Run, observer: &str) -> Result<Option<f64>, ReadError> {
    let of_generator = |name: &str| {
        let is_it =
            |s: &&SeriesKey| &*s.target == SeriesKey::GENERATOR && &*s.name == name && &*s.part == observer;
        run.series().iter().find(is_it)
    };
    let level = |s: &&SeriesKey| &*s.target == observer && AT_EVERY_LOOK.contains(&&*s.name);
    let looks = of_generator("observer_took").or_else(|| run.series().iter().find(level));
    let run_s = f64::from(run.seconds());
    match looks {
        Some(looks) => {
            let looks = run.samples(looks, run.whole())?;
            Ok(Some(uncovered_s(looks.iter().map(|sample| sample.at), run_s)))
        }
        // It looked at all times, and never saw anything.
        None => Ok(of_generator("observer_cpu").map(|_| run_s)),
    }
}

/// What is too long between two looks, before the first and after the last.
fn uncovered_s(looks: impl Iterator<Item = Instant>, run_s: f64) -> f64 {
    let times: Vec<f64> = looks.map(|at| at.offset().as_secs_f64()).collect();
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
    fn what_no_look_covers_is_missing() {
        assert_eq!(uncovered(0..60, 60.0), 0.0);
        assert_eq!(uncovered((0..20).chain(30..60), 60.0), 10.0);
        assert_eq!(uncovered(10..50, 60.0), 19.0);
        assert_eq!(uncovered((0..60).step_by(5), 60.0), 0.0, "looks may be rarer");
        assert_eq!(uncovered((0..30).step_by(5), 60.0), 30.0);
        assert_eq!(uncovered(0..0, 60.0), 60.0);
    }
}
