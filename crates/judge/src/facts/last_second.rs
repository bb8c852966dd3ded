//! The last second of the run.

use evidence::run::{ReadError, select};
use evidence::{Coverage, Metric, Outcome, Run, SeriesKey, Window};

/// Failures of the last second, and requests in flight when it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastSecond {
    pub(crate) failed: u64,
    pub(crate) in_flight: f64,
}

/// None where requests in flight were not counted.
pub(super) fn last_second(run: &dyn Run) -> Result<Option<LastSecond>, ReadError> {
    let Some(last) = run.seconds().checked_sub(1).filter(|last| *last > 0) else { return Ok(None) };
    let mut failed = 0;
    for (id, _) in select(run.keys(), Metric::ResponseTime, |key| key.outcome.is_some_and(may_be_cut_off)) {
        failed += run.histogram(id, last..last + 1)?.count();
    }
    let is_in_flight = |key: &&SeriesKey| &*key.name == "in_flight" && &*key.target == SeriesKey::GENERATOR;
    let mut in_flight = None;
    for key in run.series().iter().filter(is_in_flight) {
        if let Some(sample) = Coverage::read(run, key)?.within(Window::new(&(last - 1..last))).last() {
            in_flight = Some(in_flight.unwrap_or(0.0) + sample.value);
        }
    }
    Ok(in_flight.map(|in_flight| LastSecond { failed, in_flight }))
}

/// Whether the end of a run may be why a request failed: not where a response came. The status of a gRPC call may be its client's.
fn may_be_cut_off(outcome: Outcome) -> bool {
    outcome.is_failure() && (!outcome.is_answer() || matches!(outcome, Outcome::Grpc(_)))
}
