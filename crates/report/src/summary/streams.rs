//! What went over gRPC streams: messages, and how long the first one took.

use evidence::Histogram;
use serde::Serialize;

use super::Times;
use crate::number;

/// What was counted of the streams at one place.
#[derive(Debug, Default)]
pub(super) struct StreamTally {
    /// First messages of successes.
    pub(super) first: Histogram,
    pub(super) received: u64,
    pub(super) sent: u64,
}

/// The streams of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Streams {
    /// Messages sent, over all calls.
    pub messages_sent: u64,
    /// Messages received, over all calls.
    pub messages_received: u64,
    /// Due instant → first message received, of successes.
    pub first_message_time: Times,
}

impl StreamTally {
    /// None where nothing streamed.
    pub(super) fn told(&self) -> Option<Streams> {
        let is_any = self.received + self.sent > 0;
        is_any.then(|| Streams {
            messages_sent: self.sent,
            messages_received: self.received,
            first_message_time: Times::of(&self.first),
        })
    }
}

impl Streams {
    /// What each of [`Streams::in_words`] is.
    pub(crate) const COLUMNS: [&str; 6] =
        ["sent", "received", "first p50", "first p95", "first p99", "first max"];

    /// Messages sent and received, then when the first one came.
    pub(crate) fn in_words(&self) -> [String; 6] {
        let first = &self.first_message_time;
        [
            number::count(self.messages_sent),
            number::count(self.messages_received),
            number::time_or_none(first.p50_ms),
            super::quantile_text(first, 0.95, first.p95_ms),
            super::quantile_text(first, 0.99, first.p99_ms),
            number::time_or_none(first.max_ms),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_where_there_were_any() {
        let mut tally = StreamTally::default();
        assert_eq!(tally.told(), None);
        (tally.sent, tally.received) = (1, 2_000);
        tally.first.record_us(4_000, 1);
        let told = tally.told().unwrap();
        assert_eq!(told.in_words(), ["1", "2,000", "4.00 ms", "~4.00 ms", "~4.00 ms", "4.00 ms"]);
    }
}
