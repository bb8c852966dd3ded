//! What ended in the window of a phase, whenever it was due.

use evidence::{Key, Metric, Outcome};

/// What ended of one row in the window of its phase; fractions where a run file counts seconds in proportion.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndedCounts {
    /// Successes, and responses whose outcome is not known.
    pub ok: f64,
    /// Failures of the target.
    pub failed: f64,
    /// Whole iterations that were counted as done.
    done: Option<f64>,
    /// Whole iterations that have a time.
    timed: Option<f64>,
}

impl EndedCounts {
    /// Requests that ended, in success or failure.
    pub fn completed(&self) -> f64 {
        self.ok + self.failed
    }

    /// Whole iterations that ended; none where they were not counted.
    pub fn iterations(&self) -> Option<f64> {
        self.done.or(self.timed)
    }

    /// Whether observations of `metric` end in a window.
    pub(crate) fn counts(metric: Metric) -> bool {
        matches!(
            metric,
            Metric::ResponseTime
                | Metric::MovedResponseTime
                | Metric::IterationsDone
                | Metric::MovedIterationsDone
                | Metric::IterationTime
        )
    }

    /// Adds what `key` counts.
    pub(crate) fn add(&mut self, key: &Key, count: f64) {
        match (key.metric, key.outcome.unwrap_or(Outcome::Ok)) {
            (Metric::ResponseTime | Metric::MovedResponseTime, Outcome::Ok) => self.ok += count,
            (Metric::ResponseTime | Metric::MovedResponseTime, outcome) if outcome.is_failure() => {
                self.failed += count;
            }
            (Metric::IterationsDone | Metric::MovedIterationsDone, _) => {
                *self.done.get_or_insert_default() += count;
            }
            (Metric::IterationTime, _) => *self.timed.get_or_insert_default() += count,
            _ => {}
        }
    }
}
