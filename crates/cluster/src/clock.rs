//! By how much a worker's clock differs from the coordinator's.
//!
//! Both are `CLOCK_MONOTONIC`, whose zero is another on every machine. The coordinator sends its reading, the worker answers
//! with its own, and the coordinator reads again: the worker read its clock somewhere in between. Of many exchanges the one
//! with the least round trip says most (D. L. Mills, RFC 5905, section 10); half of that round trip bounds the error.

/// One question and its answer, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The coordinator's clock when it asked.
    pub asked: u64,
    /// The worker's clock when it answered.
    pub answered: u64,
    /// The coordinator's clock when it knew the answer.
    pub received: u64,
}

impl Exchange {
    fn round_trip(&self) -> u64 {
        self.received.saturating_sub(self.asked)
    }
}

/// What is known of a difference between two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetEstimate {
    /// The worker's clock less the coordinator's, in nanoseconds.
    pub offset_ns: i64,
    /// The true difference is within so many nanoseconds of it.
    pub error_ns: u64,
}

impl OffsetEstimate {
    /// From the exchange with the least round trip; none without any.
    pub fn from_exchanges(exchanges: &[Exchange]) -> Option<OffsetEstimate> {
        let best = exchanges.iter().min_by_key(|exchange| exchange.round_trip())?;
        let error_ns = best.round_trip().div_ceil(2);
        let middle = i128::from(best.asked) + i128::from(best.round_trip() / 2);
        let offset = i128::from(best.answered) - middle;
        Some(OffsetEstimate { offset_ns: i64::try_from(offset).ok()?, error_ns })
    }

    /// The reading of the worker's clock when the coordinator's shows `ns`.
    pub fn on_worker(&self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.offset_ns)
    }

    /// By how much the worker's clock is ahead of where this estimate expects it, by a later one.
    pub fn drift_ns(&self, later: &OffsetEstimate) -> i64 {
        later.offset_ns.saturating_sub(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the delays on the way are, the true difference is within the error.
        #[test]
        fn the_true_offset_is_within_the_error(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            delays in proptest::collection::vec((0_u64..50_000_000, 0_u64..50_000_000), 1..40),
        ) {
            let mut now = 2_000_000_000_000_u64;
            let exchanges: Vec<Exchange> = delays.iter().map(|(there, back)| {
                let asked = now;
                let answered = (asked + there).saturating_add_signed(offset);
                now = asked + there + back;
                Exchange { asked, answered, received: now }
            }).collect();
            let estimate = OffsetEstimate::from_exchanges(&exchanges).unwrap();
            let least = delays.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(estimate.error_ns, least.div_ceil(2));
            prop_assert!(estimate.offset_ns.abs_diff(offset) <= estimate.error_ns + 1);
        }
    }

    #[test]
    fn a_clock_that_runs_ahead_has_a_positive_drift() {
        let at = |offset_ns| OffsetEstimate { offset_ns, error_ns: 10 };
        assert_eq!(at(-500).drift_ns(&at(700)), 1_200);
        assert_eq!(at(-500).on_worker(2_000), 1_500);
        assert_eq!(OffsetEstimate::from_exchanges(&[]), None);
    }
}
