//! A writer: one task with one connection. It takes the queued writes as a group, runs them in one transaction,
//! commits, invalidates the cache and then answers the callers: two round trips for a group of any size. A group whose
//! commit or invalidation is not answered is settled beside the writer, see [`Settler`].

use kit::clock::UtcMs;
use kit::postgres::{Connector, Link, within};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use super::columns::save;
use super::rows;
use super::sent_group::{SentGroup, Settler, TransactionId};
use super::statements::WriterStatements;
use crate::cache::{Cache, ClosedScopes};
use crate::store::StoreError;
use crate::store::queued_write::{QueuedWrite, decide, fail_all};
use crate::store::writer_metrics::{GroupStart, WriterMetrics};
use crate::write::{
    Changes, FavoriteKey, KeyedOrderLine, LoadedRows, NewIds, OrderLine, RequiredRows, StockLevels,
};

/// Writes in one transaction at most; it bounds the writes that fail together and the wait of the first.
const MAX_GROUP: usize = 256;

/// A message to a writer.
pub(super) enum WriterMessage {
    Write(Box<QueuedWrite>),
    Close,
}

pub(super) struct Writer {
    link: Link<WriterStatements>,
    settler: Settler,
    /// The groups that are settled beside the writer.
    settling: JoinSet<()>,
}

/// A group of which nothing was committed.
struct FailedGroup {
    group: Vec<QueuedWrite>,
    error: StoreError,
}

/// A transaction that was begun, and the rows that it has locked.
struct LoadedGroup {
    transaction: TransactionId,
    rows: LoadedRows,
}

impl Writer {
    pub(super) fn new(connector: &Connector, cache: Cache, metrics: WriterMetrics) -> Self {
        let settler = Settler { connector: connector.clone(), cache, metrics };
        Self { link: Link::new(connector.clone()), settler, settling: JoinSet::new() }
    }

    /// Connects before the first write.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// The channel is unbounded; each message in it has a permit of the limit on queued writes.
    pub(super) async fn run(mut self, mut messages: UnboundedReceiver<WriterMessage>) {
        let mut received = Vec::with_capacity(MAX_GROUP);
        while messages.recv_many(&mut received, MAX_GROUP).await > 0 {
            let mut group = Vec::new();
            let mut is_last = false;
            for message in received.drain(..) {
                match message {
                    WriterMessage::Write(queued) => group.push(*queued),
                    WriterMessage::Close => is_last = true,
                }
            }
            self.commit(group).await;
            while self.settling.try_join_next().is_some() {}
            if is_last {
                return self.settle_all().await;
            }
        }
    }

    /// Waits for the groups that are being settled, for no longer than for any other answer of the server.
    async fn settle_all(mut self) {
        let all = async { while self.settling.join_next().await.is_some() {} };
        if tokio::time::timeout(self.link.answer_timeout(), all).await.is_err() {
            tracing::error!("the store closes before it knows whether its last writes were committed");
        }
    }

    /// Runs a group in one transaction and answers its callers. When the server refuses the transaction, each write is
    /// tried alone, so that a write does not fail because of another.
    async fn commit(&mut self, group: Vec<QueuedWrite>) {
        let Err(FailedGroup { group, error }) = self.attempt(group).await else { return };
        if group.len() == 1 || !matches!(error, StoreError::Failed(_)) {
            return fail_all(group, &error);
        }
        for queued in group {
            if let Err(failed) = self.attempt(vec![queued]).await {
                fail_all(failed.group, &failed.error);
            }
        }
    }

    /// Runs a group in one transaction and has its callers answered, unless nothing of it was committed.
    async fn attempt(&mut self, group: Vec<QueuedWrite>) -> Result<(), FailedGroup> {
        if group.is_empty() {
            return Ok(());
        }
        let start = GroupStart::now(group.len());
        let now = UtcMs::now();
        let LoadedGroup { transaction, rows } = match self.load(&group).await {
            Ok(loaded) => loaded,
            Err(error) => return Err(self.failed(group, error, start)),
        };
        let decided = decide(&group, rows, now);
        let closed = self.settler.cache.close(&decided.changes.invalidated).await;
        let saved = self.save(&decided.changes, &closed, now).await;
        let sent = SentGroup { group, decided, closed, start };
        match saved {
            Ok(()) => match self.settler.invalidate_and_answer(sent).await {
                None => {}
                Some(sent) => drop(self.settling.spawn(self.settler.clone().finish(sent))),
            },
            Err(error @ StoreError::Failed(_)) => return Err(self.failed(sent.group, error, start)),
            Err(error) => {
                tracing::warn!(%error, writes = start.writes, "a commit was not answered; its outcome is asked for");
                self.settling.spawn(self.settler.clone().settle(sent, transaction));
            }
        }
        Ok(())
    }

    fn failed(&self, group: Vec<QueuedWrite>, error: StoreError, start: GroupStart) -> FailedGroup {
        tracing::error!(%error, writes = start.writes, "a group of writes was not committed");
        self.settler.metrics.count(start, None);
        FailedGroup { group, error }
    }

    /// Begins the transaction, locks the rows and reads them. Nothing is written yet, so when the connection broke
    /// while it was idle, all of this is repeated on a new one.
    async fn load(&mut self, group: &[QueuedWrite]) -> Result<LoadedGroup, StoreError> {
        let required = RequiredRows::of(group.iter().map(|queued| &queued.write));
        match self.load_once(&required).await {
            Err(StoreError::Unreachable(_)) => self.load_once(&required).await,
            outcome => outcome,
        }
    }

    async fn load_once(&mut self, required: &RequiredRows) -> Result<LoadedGroup, StoreError> {
        let timeout = self.link.answer_timeout();
        let session = self.link.session().await?;
        let outcome = within(timeout, load(session.client(), &session.statements, required)).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }

    /// Writes and commits. The server has rolled back after [`StoreError::Failed`]; after another error the outcome is
    /// unknown.
    async fn save(&mut self, changes: &Changes, closed: &ClosedScopes, now: UtcMs) -> Result<(), StoreError> {
        let timeout = self.link.answer_timeout();
        let session = self.link.same_session()?;
        let client = session.client();
        let work = async {
            if closed.needs_generation() {
                client.execute(&session.statements.new_generation, &[]).await?;
            }
            save(client, &session.statements, changes, now).await
        };
        let outcome = within(timeout, work).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }
}

/// All statements are pipelined. Favourites and orders are read after the rows are locked, by statements of their own,
/// which see everything committed before.
async fn load(
    client: &Client,
    statements: &WriterStatements,
    required: &RequiredRows,
) -> Result<LoadedGroup, Error> {
    let ids: Vec<i64> = required.listings.iter().copied().collect();
    let favorites = required.favorites.iter().map(|favorite| (favorite.user_id, favorite.listing_id));
    let (users, listings): (Vec<i64>, Vec<i64>) = favorites.unzip();
    let orders: Vec<&str> = required.orders.iter().map(String::as_str).collect();
    let (new_listings, new_images) = (required.new_listings as i64, required.new_images as i64);
    let (no_listings, no_favorites, no_orders) = (ids.is_empty(), users.is_empty(), orders.is_empty());
    let by_id: Parameters<'_, 1> = [&ids];
    let by_favorite: Parameters<'_, 2> = [&users, &listings];
    let by_order: Parameters<'_, 1> = [&orders];
    let counts: [Parameters<'_, 1>; 2] = [[&new_listings], [&new_images]];
    let lock = &statements.lock;
    #[cfg(feature = "faults")]
    let lock = if no_listings { lock } else { super::faults::load_statement(statements) };
    let (_, transaction, rows, images, favorites, lines, new_ids, new_image_ids) = tokio::try_join!(
        biased;
        client.batch_execute("BEGIN"),
        client.query_one(&statements.transaction, &[]),
        unless(no_listings, client.query(lock, &by_id)),
        unless(no_listings, client.query(&statements.images, &by_id)),
        unless(no_favorites, client.query(&statements.favorites, &by_favorite)),
        unless(no_orders, client.query(&statements.orders, &by_order)),
        unless(new_listings == 0, client.query(&statements.new_ids, &counts[0])),
        unless(new_images == 0, client.query(&statements.new_image_ids, &counts[1])),
    )?;
    let id = |row: &Row| row.try_get::<_, i64>(0);
    let new_ids = NewIds {
        listings: new_ids.iter().map(id).collect::<Result<_, _>>()?,
        images: new_image_ids.iter().map(id).collect::<Result<_, _>>()?,
    };
    let mut loaded = LoadedRows::new(rows::listings(&rows, &images)?, new_ids);
    for row in &favorites {
        loaded.add_favorite(FavoriteKey { user_id: row.try_get(0)?, listing_id: row.try_get(1)? });
    }
    for row in &lines {
        let stock = StockLevels { before: row.try_get(3)?, after: row.try_get(4)? };
        let line = OrderLine { quantity: row.try_get(2)?, stock, is_returned: row.try_get(5)? };
        loaded.add_order_line(KeyedOrderLine {
            order_id: row.try_get(0)?,
            listing_id: row.try_get(1)?,
            line,
        });
    }
    Ok(LoadedGroup { transaction: TransactionId(transaction.try_get(0)?), rows: loaded })
}

type Parameters<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

/// The rows of a query, or none without running it.
async fn unless(
    is_unneeded: bool,
    query: impl Future<Output = Result<Vec<Row>, Error>>,
) -> Result<Vec<Row>, Error> {
    if is_unneeded { Ok(Vec::new()) } else { query.await }
}
