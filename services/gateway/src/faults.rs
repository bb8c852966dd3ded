//! The gateway's own faults. Only builds with the feature `faults` have this module.

use std::io;
use std::time::Duration;

use kit::faults::{Fault, FaultCounter, amount};

/// Accepts more samples than it should.
pub(crate) const BOUNDLESS: &str = "boundless";
/// Hands tasks on later than it could.
const SLOW_SINK: &str = "slow-sink";
/// Fails as a disk does that cannot write.
const FAILING_SYNC: &str = "failing-sync";

/// The gateway's own faults, beside [`kit::faults::COMMON`].
pub const FAULTS: &[Fault] = &[
    Fault {
        name: BOUNDLESS,
        amount: "limit on queued samples, instead of `QUEUE_SIZE`",
        does: "samples are accepted that cannot be handed on in time",
        shows: "nothing is refused; `queue_depth`, `rss` and the time until samples are handed on rise as long as the load exceeds the sink's rate",
    },
    Fault {
        name: SLOW_SINK,
        amount: "milliseconds added to each batch handed on",
        does: "each worker waits before it writes a batch to the sink",
        shows: "`queue_wait_seconds` is longer by the amount; at more than `WORKERS` × 256 samples per wait, `queue_depth` rises and requests are refused; CPU does not change",
    },
    Fault {
        name: FAILING_SYNC,
        amount: "N: one in N groups of requests is hit; with `DURABILITY=disk`",
        does: "the group is in the journal's file, and its `fsync` reports an error",
        shows: "the group's requests are refused (503), `samples_without_room` rises; each failure ends a file of the journal",
    },
];

/// Waits, in a worker.
pub(crate) async fn slow_sink() {
    if let Some(ms) = amount(SLOW_SINK) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// The error of an `fsync` that the fault hits.
pub(crate) fn failing_sync() -> io::Result<()> {
    static GROUPS: FaultCounter = FaultCounter::new();
    if GROUPS.hits_next(FAILING_SYNC) { Err(io::Error::other("an injected fault")) } else { Ok(()) }
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
