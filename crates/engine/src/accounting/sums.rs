//! What every request and iteration adds to, in one place for each row: it is put into the tick when that is closed, so that a
//! request looks up one place instead of the key of each sum.

use evidence::Metric;

use super::{Accounting, PlacedRow};
use crate::exchange::{ConnectionSetup, RequestPhases};

/// The sums of one row in the second of the tick that is being filled.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSums {
    is_used: bool,
    pub(super) requests: u64,
    pub(super) iterations_done: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    blocked_ns: u64,
    resolving_ns: u64,
    connecting_ns: u64,
    tls_handshaking_ns: u64,
    sending_ns: u64,
    waiting_ns: u64,
    receiving_ns: u64,
}

impl RowSums {
    pub(super) fn add_phases(&mut self, phases: &RequestPhases) {
        let RequestPhases { blocked_ns, resolving_ns, setup, sending_ns, waiting_ns, receiving_ns } = *phases;
        let ConnectionSetup { connecting_ns, tls_handshaking_ns } = setup;
        self.blocked_ns += blocked_ns;
        self.resolving_ns += resolving_ns;
        self.connecting_ns += connecting_ns;
        self.tls_handshaking_ns += tls_handshaking_ns;
        self.sending_ns += sending_ns;
        self.waiting_ns += waiting_ns;
        self.receiving_ns += receiving_ns;
    }

    /// Those that are above zero: the others need no key.
    fn all(&self) -> impl Iterator<Item = (Metric, u64)> + use<> {
        [
            (Metric::Requests, self.requests),
            (Metric::IterationsDone, self.iterations_done),
            (Metric::BytesIn, self.bytes_in),
            (Metric::BytesOut, self.bytes_out),
            (Metric::BlockedNs, self.blocked_ns),
            (Metric::ResolvingNs, self.resolving_ns),
            (Metric::ConnectingNs, self.connecting_ns),
            (Metric::TlsHandshakingNs, self.tls_handshaking_ns),
            (Metric::SendingNs, self.sending_ns),
            (Metric::WaitingNs, self.waiting_ns),
            (Metric::ReceivingNs, self.receiving_ns),
        ]
        .into_iter()
        .filter(|(_, sum)| *sum > 0)
    }
}

/// The sums of all rows, by position.
#[derive(Debug, Default)]
pub(super) struct Sums {
    rows: Vec<RowSums>,
    used: Vec<PlacedRow>,
}

impl Sums {
    #[inline]
    pub(super) fn row_mut(&mut self, row: PlacedRow) -> &mut RowSums {
        if self.rows.get(row.position).is_none_or(|sums| !sums.is_used) {
            self.begin(row);
        }
        &mut self.rows[row.position]
    }

    #[cold]
    fn begin(&mut self, row: PlacedRow) {
        if row.position >= self.rows.len() {
            self.rows.resize(row.position + 1, RowSums::default());
        }
        self.rows[row.position].is_used = true;
        self.used.push(row);
    }
}

impl Accounting {
    /// Put the sums into the tick.
    pub(super) fn close_sums(&mut self) {
        let mut used = std::mem::take(&mut self.sums.used);
        for row in used.drain(..) {
            let sums = std::mem::take(&mut self.sums.rows[row.position]);
            for (metric, sum) in sums.all() {
                self.count(metric, row, sum);
            }
        }
        self.sums.used = used;
    }
}
