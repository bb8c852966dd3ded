//! Counts of the whole run, second by second.

/// What was due and what ended in one second of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecondCounts {
    /// Arrivals due.
    pub scheduled: u64,
    /// Of these, started.
    pub started: u64,
    /// Of these, dropped, for whatever reason.
    pub dropped: u64,
    /// Requests that succeeded, and those of imported runs whose outcome is not known.
    pub ok: u64,
    /// Requests that the target failed.
    pub failed: u64,
}

impl SecondCounts {
    /// Requests that ended, in success or failure.
    pub fn completed(&self) -> u64 {
        self.ok + self.failed
    }
}
