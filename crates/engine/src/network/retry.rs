//! Requests that may be sent again because the peer did not process them: RFC 9110 section 9.2.2, RFC 9113 section 8.7.

use wire::{OpenRequest, Processing};
use workload::connection::Retry;

use super::{EndedOperation, Exhausted, Network, Repetition};
use crate::exchange::BodyReading;
use crate::operation::{Operation, Operations};

/// How often a request is sent again because the server ended its connection without processing it, or refused it on one whose
/// limit on streams was not known yet: a server that ends each connection after some requests may do so several times in a row.
const MOST_MOVES: u8 = 6;

/// Doing these twice has the same effect as once.
const IDEMPOTENT_METHODS: [&[u8]; 6] = [b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE"];

impl Network {
    /// Send a request again if it ended unprocessed. False: it has ended.
    pub(crate) fn send_again(
        &mut self,
        ended: &EndedOperation,
        operations: &mut Operations,
    ) -> Result<bool, Exhausted> {
        let Some(operation) = operations.find(ended.operation) else { return Ok(false) };
        // Of a stream of messages, those that were sent already are not kept.
        let is_stream = operation.stream.is_some() || operation.draft.body_reading != BodyReading::Whole;
        let is_possible = match ended.repetition {
            Repetition::Forbidden => false,
            Repetition::Allowed | Repetition::Elsewhere => !is_stream,
            // Its iteration may have found meanwhile that its next message cannot be sent.
            Repetition::Unsent => operation.unsendable.is_none(),
        };
        let is_allowed = self.program.origin(operation.draft.origin).retry == Retry::Unprocessed;
        if !is_possible || !is_allowed {
            return Ok(false);
        }
        match ended.repetition {
            Repetition::Elsewhere if operation.moves >= MOST_MOVES => {
                let count = MOST_MOVES + 1;
                let why =
                    format!("the server ended {count} connections in a row without processing the request");
                operation.transport_error = Some(why.into());
                return Ok(false);
            }
            Repetition::Elsewhere => operation.moves += 1,
            _ if operation.is_repeated => return Ok(false),
            _ => operation.is_repeated = true,
        }
        operation.transport_error = None;
        operation.peer_end = None;
        operation.is_lost_in_flight = false;
        let index = ended.operation.index();
        // What was not sent has no late response. It keeps its token, by which its iteration sends further messages.
        if ended.repetition != Repetition::Unsent {
            operations.renew(index);
        }
        self.submit(index, operations)?;
        Ok(true)
    }
}

/// Whether a request may be sent again when the connection is lost that it was sent on. A peer may close a connection
/// that was idle at the moment at which a request is sent on it.
pub(super) fn repetition_of(request: &OpenRequest, operation: &Operation) -> Repetition {
    let is_idempotent = IDEMPOTENT_METHODS.contains(&operation.draft.method.as_slice());
    match request.processing {
        Processing::Refused | Processing::NotSent => Repetition::Elsewhere,
        Processing::Unanswered if is_idempotent => Repetition::Allowed,
        Processing::Unanswered | Processing::Answered => Repetition::Forbidden,
    }
}
