//! A write on its way to the store's writer.

use super::StoreError;
use crate::write::{Changes, Held, Refused, Write, Written};
use kit::clock::UtcMs;
use kit::limit::Permit;
use tokio::sync::oneshot;

/// Why a write was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// It is not allowed, or of nothing that there is.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A write and who waits for it.
pub(super) struct Command {
    pub(super) write: Write,
    pub(super) reply: oneshot::Sender<Result<Written, WriteError>>,
    /// Given back once the write is answered, also when nobody waits for it any more.
    pub(super) _place: Permit,
}

/// What a group has decided, before anything of it is kept.
pub(super) struct Decided {
    pub(super) changes: Changes,
    pub(super) outcomes: Vec<Result<Written, Refused>>,
}

/// Decides each write on what those before it have left.
pub(super) fn decide(group: &[Command], mut held: Held, now: UtcMs) -> Decided {
    let outcomes = group.iter().map(|command| command.write.apply(&mut held, now)).collect();
    Decided { changes: Changes::of(held), outcomes }
}

/// Tells everyone what became of the group. A caller that is gone needs no answer.
pub(super) fn answer(group: Vec<Command>, outcomes: Vec<Result<Written, Refused>>) {
    for (command, outcome) in group.into_iter().zip(outcomes) {
        let _caller_gone = command.reply.send(outcome.map_err(WriteError::from));
    }
}

/// Tells everyone that nothing was done.
pub(super) fn refuse(group: Vec<Command>, error: &StoreError) {
    for command in group {
        let _caller_gone = command.reply.send(Err(error.clone().into()));
    }
}
