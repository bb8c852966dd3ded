//! Captured profiles, as far as rules need them.

use evidence::run::{ReadError, completed};
use evidence::{Profile, ProfileKind, Run, Sampling};

/// A profile that was captured over a window of the run.
#[derive(Debug, Clone)]
pub(crate) struct CapturedProfile {
    pub(crate) target: String,
    pub(crate) kind: ProfileKind,
    pub(crate) mark: String,
    pub(crate) sampling: Sampling,
    /// Requests that ended in exactly its window, successful or not.
    pub(crate) completed: u64,
    /// Whether it covers its window alone, and not everything since the process started.
    pub(crate) is_of_window: bool,
}

/// Every profile over a window. A snapshot has no window; it is the beginning of another profile's.
pub(super) fn captured(run: &dyn Run) -> Result<Vec<CapturedProfile>, ReadError> {
    let all = run.profiles()?;
    let (begins, ends): (Vec<_>, Vec<_>) = all.iter().partition(|profile| profile.begin == profile.end);
    let captured = |end: &&Profile| {
        let accumulates = matches!(end.kind, ProfileKind::Heap | ProfileKind::Mutex | ProfileKind::Block);
        let has_begin = begins.iter().any(|begin| {
            (&begin.target, begin.kind, begin.end) == (&end.target, end.kind, end.begin)
                && begin.mark == end.mark
        });
        let window = end.begin.second()..end.end.second();
        let completed = completed(run, &window)?.iter().map(|row| row.ok + row.failed).sum();
        Ok(CapturedProfile {
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
