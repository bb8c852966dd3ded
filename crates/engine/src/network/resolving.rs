//! Requests to origins whose address is not known yet: they wait while it is looked up on a helper thread.

use std::sync::Arc;

use evidence::Outcome;

use super::{ConnectionLoss, Exhausted, Network};
use crate::index::{OperationIndex, PoolIndex};
use crate::operation::Operations;
use crate::program::LookupState;

impl Network {
    /// Whether connections of this pool can be opened: the address of its origin is known.
    pub(super) fn is_resolved(&self, pool: PoolIndex) -> bool {
        self.program.origin(self.pools.get(pool).origin).address.is_known()
    }

    /// The address of the operation's origin is not known: look it up, and continue when it is.
    pub(super) fn look_up(
        &mut self,
        pool: PoolIndex,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let origin = self.pools.get(pool).origin;
        let lookup = self.program.origin(origin).address.begin_lookup(self.clock, &self.waker);
        match lookup.map_err(|error| Exhausted::Thread(error.to_string()))? {
            LookupState::Known => return self.submit(operation, operations),
            LookupState::Failed(why) => self.fail(operation, &unresolved(why), operations),
            LookupState::Running => {
                if !self.pools.get(pool).has_waiting() {
                    self.resolving.push(pool);
                }
                self.enqueue(pool, operation, operations);
            }
        }
        Ok(())
    }

    /// Continue the requests that waited for a lookup that has ended.
    pub(crate) fn continue_resolved(&mut self, operations: &mut Operations) -> Result<(), Exhausted> {
        if self.resolving.is_empty() {
            return Ok(());
        }
        for pool in std::mem::take(&mut self.resolving) {
            match self.program.origin(self.pools.get(pool).origin).address.state() {
                LookupState::Running => self.resolving.push(pool),
                LookupState::Failed(why) => {
                    self.fail_waiting(pool, .., &unresolved(why), operations);
                }
                LookupState::Known => {
                    self.pools.get(pool).note_resolved(self.clock.now(), operations);
                    self.grow(pool, operations)?;
                }
            }
        }
        Ok(())
    }
}

fn unresolved(why: Arc<str>) -> ConnectionLoss {
    ConnectionLoss::because(Outcome::Dns, why)
}
