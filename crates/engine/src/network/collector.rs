//! From what a protocol tells to the operations it concerns.

use evidence::{Instant, Outcome};
use wire::{Event, Events};

use crate::operation::{Ended, OperationToken, Operations};

/// Puts what the protocol learns into the operations it concerns.
pub(super) struct Collector<'a> {
    pub(super) operations: &'a mut Operations,
    pub(super) ended: &'a mut Vec<Ended>,
    /// When what is read now had come.
    pub(super) at: Instant,
    /// Bytes received since the last response was complete.
    pub(super) unclaimed: &'a mut u64,
}

impl Collector<'_> {
    fn end(&mut self, token: wire::Token, transport: Option<Outcome>) {
        let received = std::mem::take(self.unclaimed);
        if let Some((_, operation)) = self.operations.find(token) {
            operation.bytes_in = received;
            operation.connection = None;
            let operation = OperationToken(token);
            self.ended.push(Ended { operation, transport });
        }
    }
}

impl Events for Collector<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Head { token, head } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    operation.answered = self.at;
                    operation.response.status = head.status;
                    operation.response.add_headers(head.headers.iter());
                }
            }
            Event::Body { token, chunk } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    let keep = operation.draft.keep_body_bytes;
                    operation.response.add_body(chunk, keep);
                }
            }
            Event::Trailers { token, headers } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    operation.response.add_headers(headers.iter());
                }
            }
            Event::Done { token } => self.end(token, None),
            Event::Failed { token, error } => self.end(token, Some(error.outcome())),
        }
    }
}
