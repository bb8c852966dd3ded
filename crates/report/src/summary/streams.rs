//! gRPC streams: messages, and the time until the first one.

use evidence::Histogram;
use serde::Serialize;

use super::Times;
use crate::number;

/// Counts of the streams of one endpoint in one phase.
#[derive(Debug, Default)]
pub(super) struct StreamTally {
    /// Times of first messages, of successes.
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
    pub(super) fn summary(&self) -> Option<Streams> {
        let is_any = self.received + self.sent > 0;
        is_any.then(|| Streams {
            messages_sent: self.sent,
            messages_received: self.received,
            first_message_time: Times::of(&self.first),
        })
    }
}

impl Streams {
    /// The heads of [`Streams::in_words`].
    pub(crate) const COLUMNS: [&str; 6] =
        ["sent", "received", "first p50", "first p95", "first p99", "first max"];

    /// Messages sent and received, then the times of first messages.
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
    fn streams_are_reported_where_messages_were_counted() {
        let mut tally = StreamTally::default();
        assert_eq!(tally.summary(), None);
        (tally.sent, tally.received) = (1, 2_000);
        tally.first.record_us(4_000, 1);
        let streams = tally.summary().unwrap();
        assert_eq!(streams.in_words(), ["1", "2,000", "4.00 ms", "~4.00 ms", "~4.00 ms", "4.00 ms"]);
    }
}
