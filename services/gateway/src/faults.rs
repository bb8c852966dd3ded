//! The faults that only this service can be started with. This module exists in builds with the feature `faults` alone.

use kit::faults::{Fault, amount};
use std::time::Duration;

/// Takes in more samples than it should.
pub(crate) const BOUNDLESS: &str = "boundless";
/// Hands tasks on later than it could.
const SLOW_SINK: &str = "slow-sink";

/// Its own faults, beside [`kit::faults::COMMON`].
pub const FAULTS: &[Fault] = &[
    Fault {
        name: BOUNDLESS,
        amount: "samples held at most, instead of `QUEUE_SIZE`",
        does: "samples are taken in that cannot be handed on in time",
        shows: "nothing is refused; `queue_depth`, `rss` and the time until samples are handed on rise as long as the load is above what the sink can take",
    },
    Fault {
        name: SLOW_SINK,
        amount: "milliseconds that handing on takes longer",
        does: "each worker waits before it asks the sink",
        shows: "`queue_wait_seconds` longer by as much; above `WORKERS` times 256 a wait `queue_depth` rises and requests are refused; CPU as it was",
    },
];

/// Waits, in a worker.
pub(crate) async fn slow_sink() {
    if let Some(ms) = amount(SLOW_SINK) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_documented() {
        let documentation = include_str!("../../../docs/fault-injection.md");
        for fault in FAULTS {
            assert!(documentation.contains(&fault.row()), "docs/fault-injection.md lacks\n{}", fault.row());
        }
    }
}
