//! Requests whose body goes on after they were started, and responses that are cut short.

use evidence::Instant;

use super::{Exhausted, Network};
use crate::operation::{Ended, OperationToken, Operations};

impl Network {
    /// Send what the operation's outbox holds, after what of its body went before.
    pub(crate) fn send_more(&mut self, operation: OperationToken, operations: &mut Operations) {
        let Some((_, entry)) = operations.find(operation.0) else { return };
        let (Some(place), Some(stream)) = (entry.connection, entry.stream) else {
            // It still waits for a connection: all of it goes at once then.
            entry.draft.body.append(&mut entry.outbox);
            return;
        };
        self.connections[place].send_more(stream, entry);
        self.mark_dirty(place);
    }

    /// End an operation that has lasted long enough; its end will be in `ended`. One that was not sent yet goes
    /// on waiting.
    pub(crate) fn cut(&mut self, operation: OperationToken, operations: &mut Operations) {
        let Some((_, entry)) = operations.find(operation.0) else { return };
        if entry.sent == Instant::NEVER || entry.response.is_cut {
            return;
        }
        entry.response.is_cut = true;
        if let Some(place) = entry.connection {
            entry.bytes_in += self.connections[place].take_unclaimed();
        }
        self.ended.push(Ended { operation, transport: None });
    }

    /// An operation that was cut short has ended: nothing more of it is to come over its connection.
    pub(crate) fn let_go(&mut self, operation: u32, operations: &mut Operations) -> Result<(), Exhausted> {
        let entry = operations.get(operation);
        if entry.response.is_cut && entry.connection.is_some() {
            self.abandon(operation, operations)?;
        }
        Ok(())
    }
}
