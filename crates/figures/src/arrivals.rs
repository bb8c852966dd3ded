//! Counts of arrivals.

/// Arrivals: scheduled = started + dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Arrivals {
    /// Arrivals that were due.
    pub scheduled: u64,
    /// Arrivals that started.
    pub started: u64,
    /// Never started because no virtual user was free: "dropped: VU limit".
    pub dropped_cap: u64,
    /// Never started because the generator was late: "dropped: generator late".
    pub dropped_late: u64,
}

impl Arrivals {
    /// Arrivals that were due and never started.
    pub fn dropped(&self) -> u64 {
        self.dropped_cap + self.dropped_late
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Arrivals) -> Arrivals {
        Arrivals {
            scheduled: self.scheduled + other.scheduled,
            started: self.started + other.started,
            dropped_cap: self.dropped_cap + other.dropped_cap,
            dropped_late: self.dropped_late + other.dropped_late,
        }
    }
}
