//! Requests that send further messages after they were started, and responses that are cut short.

use evidence::Outcome;
use wire::RequestBytes;

use super::{EndedOperation, Exhausted, GivingUp, Network};
use crate::exchange::{MAX_UNSENT_BYTES, Purpose};
use crate::index::OperationIndex;
use crate::operation::{OperationPlace, OperationToken, Operations};

impl Network {
    /// Send the operation's outbox, after what was sent of its body before.
    pub(crate) fn send_more(&mut self, token: OperationToken, operations: &mut Operations) {
        let Some(operation) = operations.find(token) else { return };
        let (OperationPlace::Carried(index), Some(stream)) = (operation.place, operation.stream) else {
            // It still waits for a connection, and is then sent in one piece.
            operation.draft.body.append(&mut operation.outbox);
            return;
        };
        self.connection_mut(index).send_more(stream, operation);
        self.mark_dirty(index);
    }

    /// Whether the operation may send a further message now: what it sends is kept until the peer takes it.
    pub(crate) fn may_send_more(&self, token: OperationToken, operations: &mut Operations) -> bool {
        let Some(operation) = operations.find(token) else { return true };
        match (operation.place, operation.stream) {
            (OperationPlace::Carried(index), Some(stream)) => self.connection(index).may_send_more(stream),
            _ => operation.draft.body.len() <= MAX_UNSENT_BYTES,
        }
    }

    /// Cut an operation short: its end is put into `ended`. An operation that was not sent yet keeps waiting.
    pub(crate) fn cut(&mut self, token: OperationToken, operations: &mut Operations) {
        let Some(operation) = operations.find(token) else { return };
        if !matches!(operation.place, OperationPlace::Carried(_)) || operation.response.is_cut {
            return;
        }
        operation.response.is_cut = true;
        self.ended.push(EndedOperation::new(token, None));
        if operation.draft.purpose == Purpose::WebSocket {
            self.write_rest(token, operations);
        }
    }

    /// What the operation has sent last is written as far as its socket takes it: its connection is closed then.
    fn write_rest(&mut self, token: OperationToken, operations: &mut Operations) {
        let Some(operation) = operations.find(token) else { return };
        if let OperationPlace::Carried(index) = operation.place {
            // The connection is closed either way.
            let _ = self.connection_mut(index).write();
        }
    }

    /// The iteration is over before the session that the operation has begun: tell the peer.
    pub(super) fn say_farewell(&mut self, token: OperationToken, operations: &mut Operations) {
        let Some(operation) = operations.find(token) else { return };
        if let (OperationPlace::Carried(index), Some(stream)) = (operation.place, operation.stream)
            && operation.is_recorded
            && !operation.response.is_cut
        {
            self.connections[index.0].wire.send(stream, &operation.draft.farewell);
            self.write_rest(token, operations);
        }
    }

    /// What an operation has sent and received so far.
    pub(crate) fn bytes_of(&self, index: OperationIndex, operations: &Operations) -> RequestBytes {
        let operation = operations.get(index);
        let mut bytes = RequestBytes { sent: operation.bytes_out, received: operation.bytes_in };
        if let OperationPlace::Carried(connection) = operation.place {
            let token = operations.token(index);
            self.connection(connection).wire.for_each_open(&mut |request| {
                if request.token == token.0 {
                    bytes.sent += request.bytes.sent;
                    bytes.received += request.bytes.received;
                }
            });
        }
        bytes
    }

    /// End an operation that cannot be sent, or not to its end: it is put into `ended`.
    pub(crate) fn refuse(
        &mut self,
        token: OperationToken,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        if operations.find(token).is_none() {
            return Ok(());
        }
        self.abandon(token.index(), GivingUp::Cancelled, operations)?;
        self.ended.push(EndedOperation::new(token, Some(Outcome::Check)));
        Ok(())
    }

    /// Take an operation that was cut short off its connection: nothing more is to be received for it.
    pub(crate) fn release_cut(
        &mut self,
        index: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let operation = operations.get(index);
        if operation.response.is_cut && operation.place != OperationPlace::Nowhere {
            self.abandon(index, GivingUp::Cancelled, operations)?;
        }
        Ok(())
    }
}
