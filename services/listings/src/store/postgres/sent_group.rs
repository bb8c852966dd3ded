//! Groups of writes whose commit was sent. Whatever happens then, none is applied again: a group whose commit was not
//! answered is resolved by its marker in the database, and a committed group is answered as such, as soon as the cache
//! is invalidated.
//!
//! Every transaction writes the number of its group into the marker of its writer. A writer that does not know the
//! outcome of a group takes another marker, so that the number stays what that group made it. (PostgreSQL can be asked
//! for the outcome of a transaction by its id, too; but ids that were not on disk when the server crashed are used
//! again.)

use std::time::Duration;

use kit::group_commit::{GroupMetrics, GroupedCommand as _};
use kit::postgres::{Connector, within};
use tokio_postgres::Client;

use super::statements::NEW_GENERATION;
use crate::cache::{Cache, ClosedScopes, wait_for_generation_expiry};
use crate::store::StoreError;
use crate::store::queued_write::{DecidedGroup, QueuedWrite, reply_all};
use crate::store::writer_metrics::WriterMetrics;

/// The pause between two attempts to reach the server or Redis.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Ends the session whose transaction has changed the marker, if there still is one: it may wait for a client that is
/// gone, with its rows locked.
const END_SESSION: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_xid = (SELECT xmax FROM commit_markers WHERE id = $1)";
/// Waits until that transaction has ended.
const OUTCOME: &str = "SELECT last_group = $2 FROM commit_markers WHERE id = $1 FOR UPDATE";

#[derive(Debug, Clone, Copy)]
pub(super) struct Marker {
    /// The marker of the writer.
    pub(super) id: i64,
    /// The number of the group.
    pub(super) group: i64,
}

/// A group whose commit was sent.
pub(super) struct SentGroup {
    pub(super) group: Vec<QueuedWrite>,
    pub(super) decided: DecidedGroup,
    pub(super) closed: ClosedScopes,
}

/// Answers sent groups. Clones share what it works with.
#[derive(Clone)]
pub(super) struct Resolver {
    pub(super) connector: Connector,
    pub(super) cache: Cache,
    pub(super) metrics: WriterMetrics,
    pub(super) groups: GroupMetrics,
}

impl Resolver {
    /// Answers a committed group, or returns it when cached answers from before it may still be found.
    pub(super) async fn invalidate_and_answer(&self, sent: SentGroup) -> Option<SentGroup> {
        if !self.cache.open(&sent.closed).await {
            return Some(sent);
        }
        self.answer(sent);
        None
    }

    fn answer(&self, sent: SentGroup) {
        self.metrics.count(&sent.decided.changes);
        reply_all(sent.group, sent.decided.outcomes);
    }

    /// Answers a committed group once no replica can find an answer from before it.
    pub(super) async fn finish(self, mut sent: SentGroup) {
        loop {
            if sent.closed.needs_generation() || self.new_generation().await.is_ok() {
                wait_for_generation_expiry().await;
                return self.answer(sent);
            }
            tokio::time::sleep(RETRY_PAUSE).await;
            match self.invalidate_and_answer(sent).await {
                None => return,
                Some(again) => sent = again,
            }
        }
    }

    /// Answers a group whose commit was not answered, once the server knows its outcome.
    pub(super) async fn resolve(self, sent: SentGroup, marker: Marker) {
        loop {
            match self.is_committed(marker).await {
                Ok(true) => match self.invalidate_and_answer(sent).await {
                    None => return,
                    Some(sent) => return self.finish(sent).await,
                },
                Ok(false) => {
                    self.groups.count_failed_later();
                    let error = StoreError::Unreachable("the commit did not arrive".into());
                    return sent.group.into_iter().for_each(|queued| queued.fail(&error));
                }
                Err(error) => tracing::warn!(%error, "the outcome of a commit is not known yet"),
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn is_committed(&self, marker: Marker) -> Result<bool, StoreError> {
        self.ask(async |client| {
            client.execute(END_SESSION, &[&marker.id]).await?;
            let found = client.query_opt(OUTCOME, &[&marker.id, &marker.group]).await?;
            found.map_or(Ok(false), |row| row.try_get(0))
        })
        .await
    }

    async fn new_generation(&self) -> Result<(), StoreError> {
        self.ask(async |client| client.execute(NEW_GENERATION, &[]).await.map(drop)).await
    }

    /// Asks the server on a connection of its own: the writer goes on meanwhile.
    async fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        within(ANSWER_TIMEOUT, async {
            let connected = self.connector.connect().await?;
            question(&connected.client).await
        })
        .await
    }
}
