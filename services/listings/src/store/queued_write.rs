//! A write in the queue of a writer.

use kit::clock::UtcMs;
use kit::group_commit::GroupedCommand;
use kit::limit::Permit;
use tokio::sync::oneshot;

use super::StoreError;
use crate::write::{Changes, LoadedRows, Write, WriteOutcome, WriteRefusal};

/// Why a write failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Refused(#[from] WriteRefusal),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A write and the channel to its caller.
pub(super) struct QueuedWrite {
    pub(super) write: Write,
    pub(super) reply: oneshot::Sender<Result<WriteOutcome, WriteError>>,
    /// Released when the write is answered or dropped.
    pub(super) _permit: Permit,
}

/// A caller that has left may have tried again: what no writer has begun with is dropped, so that it is not carried out
/// twice and takes no space in the queue. What a writer has begun with is carried out.
impl GroupedCommand for QueuedWrite {
    type Error = StoreError;

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn fail(self, error: &StoreError) {
        let _caller_gone = self.reply.send(Err(error.clone().into()));
    }
}

/// The decisions on a group of writes, before they are persisted.
pub(super) struct DecidedGroup {
    pub(super) changes: Changes,
    pub(super) outcomes: Vec<Result<WriteOutcome, WriteRefusal>>,
}

/// Decides the writes in order, each on the rows as the previous writes left them.
pub(super) fn decide(group: &[QueuedWrite], mut loaded: LoadedRows, now: UtcMs) -> DecidedGroup {
    let outcomes = group.iter().map(|queued| queued.write.apply(&mut loaded, now)).collect();
    DecidedGroup { changes: Changes::new(loaded), outcomes }
}

/// Sends every caller its outcome; callers that have disconnected are skipped.
pub(super) fn reply_all(group: Vec<QueuedWrite>, outcomes: Vec<Result<WriteOutcome, WriteRefusal>>) {
    for (queued, outcome) in group.into_iter().zip(outcomes) {
        let _caller_gone = queued.reply.send(outcome.map_err(WriteError::from));
    }
}
