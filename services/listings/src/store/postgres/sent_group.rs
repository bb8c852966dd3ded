//! Groups of writes whose commit was sent. Whatever happens then, none is applied again: a group whose commit was not
//! answered is settled by asking the server for the outcome of its transaction, and a committed group is answered as
//! such, as soon as the cache is invalidated.

use std::time::Duration;

use kit::postgres::{Connector, within};
use tokio_postgres::Client;

use super::statements::NEW_GENERATION;
use crate::cache::{Cache, ClosedScopes, wait_for_generation_expiry};
use crate::store::StoreError;
use crate::store::queued_write::{DecidedGroup, QueuedWrite, fail_all, reply_all};
use crate::store::writer_metrics::{GroupStart, WriterMetrics};

/// The pause between two attempts to reach the server or Redis.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Ends the session of a transaction, if there still is one: it may wait for a client that is gone, with its rows
/// locked.
const END_SESSION: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = $1::text::xid8::xid";
const OUTCOME: &str = "SELECT pg_xact_status($1::text::xid8)";

/// The id of a transaction, as PostgreSQL writes it.
pub(super) struct TransactionId(pub(super) String);

/// A group whose commit was sent.
pub(super) struct SentGroup {
    pub(super) group: Vec<QueuedWrite>,
    pub(super) decided: DecidedGroup,
    pub(super) closed: ClosedScopes,
    pub(super) start: GroupStart,
}

/// Answers sent groups. Clones share what it works with.
#[derive(Clone)]
pub(super) struct Settler {
    pub(super) connector: Connector,
    pub(super) cache: Cache,
    pub(super) metrics: WriterMetrics,
}

impl Settler {
    /// Answers a committed group, or returns it when cached answers from before it may still be found.
    pub(super) async fn invalidate_and_answer(&self, sent: SentGroup) -> Option<SentGroup> {
        if !self.cache.open(&sent.closed).await {
            return Some(sent);
        }
        self.answer(sent);
        None
    }

    fn answer(&self, sent: SentGroup) {
        self.metrics.count(sent.start, Some(&sent.decided.changes));
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
    pub(super) async fn settle(self, sent: SentGroup, transaction: TransactionId) {
        loop {
            match self.outcome(&transaction).await.as_deref() {
                Ok("committed") => match self.invalidate_and_answer(sent).await {
                    None => return,
                    Some(sent) => return self.finish(sent).await,
                },
                Ok("aborted") => {
                    self.metrics.count(sent.start, None);
                    return fail_all(
                        sent.group,
                        &StoreError::Unreachable("the commit did not arrive".into()),
                    );
                }
                Ok(_in_progress) => {}
                Err(error) => tracing::warn!(%error, "the outcome of a commit is not known yet"),
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn outcome(&self, TransactionId(id): &TransactionId) -> Result<String, StoreError> {
        self.ask(async |client| {
            client.execute(END_SESSION, &[id]).await?;
            client.query_one(OUTCOME, &[id]).await?.try_get(0)
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
