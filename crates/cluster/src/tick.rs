//! A second of one loop as messages.
//!
//! A tick is a sequence of items, sent in parts: a recorder that lags makes it cover many seconds, and grow with them, but no
//! part grows beyond [`PART_BYTES`] and one item. Keys and metrics are announced once, in the tick that first uses them, and are
//! numbers from then on.

mod read;
mod write;

pub use read::{TickReader, loop_of};
pub use write::write;

/// A part that is so long takes no further item.
const PART_BYTES: usize = 1 << 20;

/// What an item is; the first byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Item {
    /// The part ends, and another one continues the tick.
    GoesOn = 0,
    /// The tick ends: its second, whether it is the last one, and the state of the loop.
    End = 1,
    /// A key is announced.
    Key = 2,
    /// The state of a scenario.
    Scenario = 3,
    /// The histogram of a key.
    Histogram = 4,
    /// The sum of a key in one second.
    Count = 5,
    /// A metric is announced.
    Metric = 6,
    /// What was added to a metric.
    Sums = 7,
    /// An exchange worth keeping.
    Exemplar = 8,
}

impl Item {
    const ALL: [Item; 9] = [
        Item::GoesOn,
        Item::End,
        Item::Key,
        Item::Scenario,
        Item::Histogram,
        Item::Count,
        Item::Metric,
        Item::Sums,
        Item::Exemplar,
    ];

    fn of(byte: u8) -> Option<Item> {
        Item::ALL.get(usize::from(byte)).copied()
    }
}

#[cfg(test)]
mod tests;
