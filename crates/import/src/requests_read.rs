//! The requests and checks that a file has one by one, added up.

use evidence::{Histogram, Metric, Outcome};

use crate::event::Event;

/// The requests and checks of a file that has them one by one.
#[derive(Debug, Default)]
pub(crate) struct RequestsRead {
    /// Times of successes, and of requests whose outcome the file does not have.
    pub(crate) ok: Histogram,
    /// Times of failures.
    pub(crate) failed: Histogram,
    pub(crate) checks_passed: u64,
    pub(crate) checks_failed: u64,
}

impl RequestsRead {
    pub(crate) fn add(&mut self, event: &Event<'_>) {
        match *event {
            Event::Times { metric: Metric::ResponseTime, outcome, nanos, .. } => {
                let is_ok = matches!(outcome, None | Some(Outcome::Ok));
                if is_ok { &mut self.ok } else { &mut self.failed }.record_ns(nanos);
            }
            Event::Count { metric: Metric::CheckPassed, value, .. } => self.checks_passed += value,
            Event::Count { metric: Metric::CheckFailed, value, .. } => self.checks_failed += value,
            _ => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &RequestsRead) {
        self.ok.merge(&other.ok);
        self.failed.merge(&other.failed);
        self.checks_passed += other.checks_passed;
        self.checks_failed += other.checks_failed;
    }

    /// Of any outcome.
    pub(crate) fn requests(&self) -> u64 {
        self.ok.count() + self.failed.count()
    }
}
