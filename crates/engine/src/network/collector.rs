//! From what a protocol tells to the operations it concerns.

use evidence::{Instant, Outcome};
use wire::{Event, Events};

use crate::operation::{Ended, OperationToken, Operations, Reads};

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
            operation.bytes_in += received;
            operation.connection = None;
            let transport = transport.or((!operation.ends_well()).then_some(Outcome::Protocol));
            let operation = OperationToken(token);
            self.ended.push(Ended { operation, transport });
        }
    }

    fn body(&mut self, token: wire::Token, chunk: &[u8]) {
        let Some((_, operation)) = self.operations.find(token) else { return };
        let Reads::Messages { cut_after } = operation.draft.reads else {
            let keep = operation.draft.keep_body_bytes;
            return operation.response.add_body(chunk, keep);
        };
        if operation.response.is_cut {
            return;
        }
        let transport = match operation.take_messages(chunk, cut_after, self.at) {
            Ok(false) => return,
            Ok(true) => None,
            Err(_) => Some(Outcome::Protocol),
        };
        // The connection lets go of it when the loop hears of its end.
        operation.response.is_cut = true;
        operation.bytes_in += std::mem::take(self.unclaimed);
        self.ended.push(Ended { operation: OperationToken(token), transport });
    }
}

impl Events for Collector<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Head { token, head } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    operation.answered = self.at;
                    operation.response.status = head.status;
                    operation.response.add_headers(head.headers);
                }
            }
            Event::Body { token, chunk } => self.body(token, chunk),
            Event::Trailers { token, headers } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    operation.response.add_headers(headers);
                }
            }
            Event::Done { token } => self.end(token, None),
            Event::Failed { token, error } => self.end(token, Some(error.outcome())),
        }
    }
}
