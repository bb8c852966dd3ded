//! Applies the events of a protocol to the operations that they belong to.

use evidence::{Instant, Outcome};
use wire::{Event, Events, WireError};

use super::{EndedOperation, Processing};
use crate::exchange::BodyReading;
use crate::operation::{OperationToken, Operations, Place};

/// Where received bytes go.
pub(super) struct ResponseSink<'a> {
    pub(super) operations: &'a mut Operations,
    pub(super) ended: &'a mut Vec<EndedOperation>,
    /// When the bytes that are read now were received.
    pub(super) at: Instant,
}

impl ResponseSink<'_> {
    /// A collector of a connection's events; `unclaimed` counts its bytes since the last complete response.
    pub(super) fn collector<'b>(&'b mut self, unclaimed: &'b mut u64) -> Collector<'b> {
        Collector { operations: self.operations, ended: self.ended, at: self.at, unclaimed }
    }
}

/// Applies the events of one connection.
pub(super) struct Collector<'a> {
    operations: &'a mut Operations,
    ended: &'a mut Vec<EndedOperation>,
    at: Instant,
    unclaimed: &'a mut u64,
}

impl Collector<'_> {
    fn end(&mut self, token: OperationToken, error: Option<WireError>) {
        let received = std::mem::take(self.unclaimed);
        if let Some(operation) = self.operations.find(token) {
            operation.bytes_in += received;
            operation.place = Place::Nowhere;
            let cut = || (!operation.has_whole_messages()).then_some(Outcome::Protocol);
            let transport = error.map(|error| error.outcome()).or_else(cut);
            let processing = match error {
                Some(WireError::RefusedStream | WireError::GoAway(_)) if !operation.has_response() => {
                    Processing::Unprocessed
                }
                _ => Processing::Possible,
            };
            self.ended.push(EndedOperation { operation: token, transport, processing });
        }
    }

    fn body(&mut self, token: OperationToken, chunk: &[u8]) {
        let Some(operation) = self.operations.find(token) else { return };
        let BodyReading::Messages { cut_after } = operation.draft.body_reading else {
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
        // The loop takes it off its connection when it completes it: `Network::release_cut`.
        operation.response.is_cut = true;
        operation.bytes_in += std::mem::take(self.unclaimed);
        self.ended.push(EndedOperation::new(token, transport));
    }
}

impl Events for Collector<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Head { token, head } => {
                if let Some(operation) = self.operations.find(OperationToken(token)) {
                    operation.answered_at = self.at;
                    operation.response.status = head.status;
                    operation.response.add_headers(head.headers);
                }
            }
            Event::Body { token, chunk } => self.body(OperationToken(token), chunk),
            Event::Trailers { token, headers } => {
                if let Some(operation) = self.operations.find(OperationToken(token)) {
                    operation.response.add_headers(headers);
                }
            }
            Event::Done { token } => self.end(OperationToken(token), None),
            Event::Failed { token, error } => self.end(OperationToken(token), Some(error)),
        }
    }
}
