//! A second of one loop as messages.
//!
//! A tick is a sequence of items in postcard's format, sent in parts: a recorder that lags makes it cover many seconds, and grow
//! with them, but no part grows beyond [`PART_BYTES`] and one item. A part begins with the number of its loop. Keys and metrics are
//! announced once, in the tick that first uses them, and are numbers from then on.

mod read;
mod write;

use evidence::metric::MetricKey;
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Exemplar, Instant, Key};
use serde::{Deserialize, Serialize};

pub use read::{TickReader, loop_of};
pub use write::write;

/// A part that is so long takes no further item.
const PART_BYTES: usize = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
enum Item<'a> {
    /// The part ends, and another one continues the tick.
    GoesOn,
    /// The tick ends.
    End {
        second: u32,
        is_last: bool,
        state: LoopState,
    },
    /// A key is announced by its number.
    Key(u32, Key),
    Scenario(ScenarioState),
    /// The histogram of a key, in HdrHistogram's V2 encoding.
    Histogram(u32, #[serde(borrow)] &'a [u8]),
    /// The sum of a key in one second.
    Count {
        key: u32,
        second: u32,
        value: u64,
    },
    /// A metric is announced by its number.
    Metric(u32, MetricKey),
    /// What was added to a metric.
    Sums(u32, #[serde(borrow)] Sums<'a>),
    /// An exchange worth keeping.
    Exemplar(Exemplar),
}

/// See [`evidence::metric::MetricSums`].
#[derive(Debug, Serialize, Deserialize)]
struct Sums<'a> {
    count: u64,
    nonzero: u64,
    sum: f64,
    min: f64,
    max: f64,
    last: f64,
    last_at: Instant,
    /// As [`evidence::metric::Buckets`] are bytes.
    buckets: &'a [u8],
}

#[cfg(test)]
mod tests;
