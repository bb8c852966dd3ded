//! Profiles as far as rules need them, and the very end of the run.

use evidence::run::{ReadError, completed, select};
use evidence::{Metric, Outcome, ProfileKind, Run, Sampling, SeriesKey};

/// A profile that was captured over a window of the run.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    pub(crate) target: String,
    pub(crate) kind: ProfileKind,
    pub(crate) mark: String,
    pub(crate) sampling: Sampling,
    /// Requests that ended in its very window, well or not.
    pub(crate) completed: u64,
    /// Whether what it shows is from its window, and not from the start of the process on.
    pub(crate) is_of_window: bool,
}

pub(crate) fn profiles(run: &dyn Run) -> Result<Vec<Captured>, ReadError> {
    let all = run.profiles()?;
    let (begins, ends): (Vec<_>, Vec<_>) = all.iter().partition(|profile| profile.begin == profile.end);
    let captured = |end: &&evidence::Profile| {
        let accumulates = matches!(end.kind, ProfileKind::Heap | ProfileKind::Mutex | ProfileKind::Block);
        let has_begin = begins.iter().any(|begin| {
            (&begin.target, begin.kind, begin.end) == (&end.target, end.kind, end.begin)
                && begin.mark == end.mark
        });
        let window = end.begin.second()..end.end.second();
        let completed = completed(run, &window)?.iter().map(|row| row.ok + row.failed).sum();
        Ok(Captured {
            target: end.target.clone(),
            kind: end.kind,
            mark: end.mark.clone(),
            sampling: end.sampling,
            completed,
            is_of_window: has_begin || !accumulates,
        })
    };
    ends.iter().map(captured).collect()
}

/// What failed in the last second, and how many requests were under way when it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastSecond {
    pub(crate) failed: u64,
    pub(crate) in_flight: f64,
}

pub(crate) fn last_second(run: &dyn Run) -> Result<Option<LastSecond>, ReadError> {
    let Some(last) = run.seconds().checked_sub(1).filter(|last| *last > 0) else { return Ok(None) };
    let mut failed = 0;
    for (id, _) in
        select(run.keys(), Metric::ResponseTime, |key| key.outcome.is_some_and(Outcome::is_failure))
    {
        failed += run.histogram(id, last..last + 1)?.count();
    }
    let is_in_flight = |key: &&SeriesKey| &*key.name == "in_flight" && &*key.target == SeriesKey::GENERATOR;
    let mut in_flight = None;
    for key in run.series().iter().filter(is_in_flight) {
        if let Some(sample) = run.samples(key, last - 1..last)?.last() {
            in_flight = Some(in_flight.unwrap_or(0.0) + sample.value);
        }
    }
    Ok(in_flight.map(|in_flight| LastSecond { failed, in_flight }))
}
