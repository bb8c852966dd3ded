//! Requests that may be sent again because the peer did not process them: RFC 9110 section 9.2.2, RFC 9113 section 8.7.

use workload::connection::Retry;

use super::connection::Connection;
use super::{EndedOperation, Exhausted, Network, Processing};
use crate::operation::{Operation, Operations};

/// Doing these twice has the same effect as once.
const IDEMPOTENT_METHODS: [&[u8]; 6] = [b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE"];

impl Network {
    /// Send a request once more if it ended unprocessed. False: it has ended.
    pub(crate) fn send_again(
        &mut self,
        ended: &EndedOperation,
        operations: &mut Operations,
    ) -> Result<bool, Exhausted> {
        if ended.processing != Processing::Unprocessed {
            return Ok(false);
        }
        let Some(operation) = operations.find(ended.operation) else { return Ok(false) };
        let is_allowed = self.program.origin(operation.draft.origin).retry == Retry::Unprocessed;
        // Of a stream of messages, those that were sent already are not kept.
        if !is_allowed || operation.is_retried || operation.stream.is_some() {
            return Ok(false);
        }
        operation.is_retried = true;
        operation.connection_error = None;
        let index = ended.operation.index();
        operations.renew(index);
        self.submit(index, operations)?;
        Ok(true)
    }
}

impl Connection {
    /// Whether the peer may have processed a request when the connection is lost. A peer may close a connection that
    /// was idle at the moment at which a request is sent on it.
    pub(super) fn processing_of(&self, operation: &Operation) -> Processing {
        let is_idempotent = IDEMPOTENT_METHODS.contains(&operation.draft.method.as_slice());
        let is_unanswered = !operation.has_response() && !self.is_inside_response();
        match self.has_served && is_unanswered && (is_idempotent || self.has_request_unsent()) {
            true => Processing::Unprocessed,
            false => Processing::Possible,
        }
    }
}
