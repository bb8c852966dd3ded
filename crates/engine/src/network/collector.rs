//! Applies the events of a protocol to the operations that they belong to.

use std::collections::VecDeque;

use evidence::{Instant, Outcome};
use wire::h1::RecentHead;
use wire::{Event, Events, Processing, RequestBytes, Token, WireError};

use super::{EndedOperation, Repetition};
use crate::exchange::BodyReading;
use crate::operation::{OperationPlace, OperationToken, Operations};

/// Where received bytes go.
pub(super) struct ResponseSink<'a> {
    pub(super) operations: &'a mut Operations,
    pub(super) ended: &'a mut Vec<EndedOperation>,
    /// The operations of which a part was received.
    pub(super) received: &'a mut VecDeque<OperationToken>,
    /// By endpoint.
    pub(super) heads: &'a mut Vec<RecentHead>,
    /// When the bytes that are read now were received.
    pub(super) at: Instant,
}

impl ResponseSink<'_> {
    fn end(&mut self, ended: EndedOperation, bytes: RequestBytes) {
        if let Some(operation) = self.operations.find(ended.operation) {
            operation.add_bytes(bytes);
            operation.place = OperationPlace::Nowhere;
            let cut = (!operation.has_whole_messages()).then_some(Outcome::Protocol);
            self.ended.push(EndedOperation { transport: ended.transport.or(cut), ..ended });
        }
    }

    /// What was received is to be handed to the iteration.
    #[cold]
    fn note_received(&mut self, token: OperationToken) {
        let Some(operation) = self.operations.find(token) else { return };
        if !std::mem::replace(&mut operation.has_received, true) {
            self.received.push_back(token);
        }
    }

    fn body(&mut self, token: OperationToken, chunk: &[u8]) {
        let Some(operation) = self.operations.find(token) else { return };
        if operation.draft.body_reading == BodyReading::InParts {
            operation.response.add_body(chunk, usize::MAX);
            return self.note_received(token);
        }
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
        self.ended.push(EndedOperation::new(token, transport));
    }
}

impl Events for ResponseSink<'_> {
    fn take_head(&mut self, token: Token) -> Option<RecentHead> {
        let operation = self.operations.find(OperationToken(token))?;
        let endpoint = operation.draft.endpoint.0;
        if endpoint >= self.heads.len() {
            self.heads.resize_with(endpoint + 1, RecentHead::default);
        }
        Some(std::mem::take(&mut self.heads[endpoint]))
    }

    fn keep_head(&mut self, token: Token, head: RecentHead) {
        if let Some(operation) = self.operations.find(OperationToken(token)) {
            self.heads[operation.draft.endpoint.0] = head;
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Head { token, head } => {
                if let Some(operation) = self.operations.find(OperationToken(token)) {
                    operation.answered_at = self.at;
                    operation.response.status = head.status;
                    operation.deviations = head.deviations;
                    operation.response.add_head(head.headers);
                    // Seldom asked for, so that others need not be found twice.
                    if operation.draft.body_reading == BodyReading::InParts {
                        self.note_received(OperationToken(token));
                    }
                }
            }
            Event::Body { token, chunk } => self.body(OperationToken(token), chunk),
            Event::Trailers { token, headers } => {
                if let Some(operation) = self.operations.find(OperationToken(token)) {
                    operation.response.add_headers(headers);
                }
            }
            Event::Done { token, bytes } => self.end(EndedOperation::new(OperationToken(token), None), bytes),
            Event::Failed { request, error } => {
                let repetition = match (request.processing, error) {
                    (Processing::Refused, WireError::GoAway(_) | WireError::RefusedBeforeSettings) => {
                        Repetition::Elsewhere
                    }
                    (Processing::Refused, _) => Repetition::Allowed,
                    _ => Repetition::Forbidden,
                };
                let (operation, transport) = (OperationToken(request.token), Some(error.outcome()));
                if let Some(operation) =
                    self.operations.find(operation).filter(|_| transport == Some(Outcome::Protocol))
                {
                    operation.transport_error = Some(error.to_string().into());
                }
                self.end(EndedOperation { operation, transport, repetition }, request.bytes);
            }
        }
    }
}
