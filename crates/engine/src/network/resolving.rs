//! Requests to origins whose address is not known yet: they wait while it is looked up on a helper thread.

use std::sync::Arc;

use evidence::{Instant, Outcome};

use super::{ConnectionLoss, Exhausted, Network};
use crate::index::OperationIndex;
use crate::operation::Operations;
use crate::program::LookupState;

/// How a request to an origin whose address is not known continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The address has just become known.
    Ended,
    /// The request waits, or has failed.
    Pending,
}

impl Network {
    /// The address of the operation's origin is not known: look it up.
    pub(super) fn look_up(
        &mut self,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<Lookup, Exhausted> {
        let origin = operations.get(operation).draft.origin;
        let lookup = self.program.origin(origin).address.begin_lookup(self.clock, &self.waker);
        match lookup.map_err(|error| Exhausted::Thread(error.to_string()))? {
            LookupState::Known => return Ok(Lookup::Ended),
            LookupState::Failed(why) => self.fail(operation, &unresolved(why), operations),
            LookupState::Running => {
                operations.get_mut(operation).resolving_since = self.clock.now();
                self.pool(origin).waiting.push(operation, operations);
                if !self.resolving.contains(&origin) {
                    self.resolving.push(origin);
                }
            }
        }
        Ok(Lookup::Pending)
    }

    /// Continue the requests that waited for a lookup that has ended.
    pub(crate) fn continue_resolved(&mut self, operations: &mut Operations) -> Result<(), Exhausted> {
        if self.resolving.is_empty() {
            return Ok(());
        }
        for origin in std::mem::take(&mut self.resolving) {
            match self.program.origin(origin).address.state() {
                LookupState::Running => self.resolving.push(origin),
                LookupState::Failed(why) => self.fail_waiting(origin, &unresolved(why), operations),
                LookupState::Known => {
                    let now = self.clock.now();
                    self.pool(origin).waiting.for_each(operations, |operation| {
                        // The lookup for a redirect belongs to the response that was redirected.
                        if operation.sent_at == Instant::NEVER {
                            operation.resolving_ns += now.since(operation.resolving_since).as_nanos() as u64;
                        }
                    });
                    self.replace(origin, operations)?;
                }
            }
        }
        Ok(())
    }
}

fn unresolved(why: Arc<str>) -> ConnectionLoss {
    ConnectionLoss { outcome: Outcome::Dns, reason: Some(why) }
}
