//! A writer: one task with one connection. It takes the queued writes as a group, runs them in one transaction,
//! commits, invalidates the cache and then answers the callers: two round trips for a group of any size.

use kit::clock::UtcMs;
use kit::postgres::{Connector, Link, within};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use super::columns::save;
use super::rows;
use super::statements::WriterStatements;
use crate::cache::{Cache, ClosedScopes, wait_for_generation_expiry};
use crate::store::StoreError;
use crate::store::queued_write::{DecidedGroup, QueuedWrite, decide, fail_all, reply_all};
use crate::store::writer_metrics::{GroupStart, WriterMetrics};
use crate::write::{FavoriteKey, KeyedOrderLine, LoadedRows, NewIds, OrderLine, RequiredRows, StockLevels};

/// Writes in one transaction at most; it bounds the writes that fail together and the wait of the first.
const MAX_GROUP: usize = 256;

/// A message to a writer.
pub(super) enum WriterMessage {
    Write(Box<QueuedWrite>),
    Close,
}

pub(super) struct Writer {
    link: Link<WriterStatements>,
    cache: Cache,
    metrics: WriterMetrics,
}

/// A group that was not committed, or whose outcome is unknown.
struct FailedGroup {
    group: Vec<QueuedWrite>,
    error: StoreError,
}

impl Writer {
    pub(super) fn new(connector: &Connector, cache: Cache, metrics: WriterMetrics) -> Self {
        Self { link: Link::new(connector.clone()), cache, metrics }
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
            if is_last {
                return;
            }
        }
    }

    /// Runs a group in one transaction and answers its callers. When the server refuses the transaction, each write is
    /// tried alone, so that a write does not fail because of another.
    async fn commit(&mut self, group: Vec<QueuedWrite>) {
        let Err(FailedGroup { group, error }) = self.attempt(group).await else { return };
        if group.len() == 1 || !error.is_rolled_back() {
            return fail_all(group, &error);
        }
        for queued in group {
            if let Err(failed) = self.attempt(vec![queued]).await {
                fail_all(failed.group, &failed.error);
            }
        }
    }

    /// Runs a group in one transaction and answers its callers, unless it fails.
    async fn attempt(&mut self, group: Vec<QueuedWrite>) -> Result<(), FailedGroup> {
        if group.is_empty() {
            return Ok(());
        }
        let start = GroupStart::now(group.len());
        let now = UtcMs::now();
        let written = match self.load(&group).await {
            Ok(loaded) => {
                let decided = decide(&group, loaded, now);
                self.write(&decided, now).await.map(|()| decided)
            }
            Err(error) => Err(error),
        };
        match written {
            Ok(decided) => {
                self.metrics.count(start, Some(&decided.changes));
                reply_all(group, decided.outcomes);
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, writes = start.writes, "a group of writes was not committed");
                self.metrics.count(start, None);
                Err(FailedGroup { group, error })
            }
        }
    }

    /// Begins the transaction, locks the rows and reads them. Nothing is written yet, so when the connection broke
    /// while it was idle, all of this is repeated on a new one.
    async fn load(&mut self, group: &[QueuedWrite]) -> Result<LoadedRows, StoreError> {
        let required = RequiredRows::of(group.iter().map(|queued| &queued.write));
        match self.load_once(&required).await {
            Err(StoreError::Unreachable(_)) => self.load_once(&required).await,
            outcome => outcome,
        }
    }

    async fn load_once(&mut self, required: &RequiredRows) -> Result<LoadedRows, StoreError> {
        let timeout = self.link.answer_timeout();
        let session = self.link.session().await?;
        let outcome = within(timeout, load(session.client(), &session.statements, required)).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }

    /// Writes and commits. When the connection breaks, the outcome is unknown.
    async fn write(&mut self, decided: &DecidedGroup, now: UtcMs) -> Result<(), StoreError> {
        let changes = &decided.changes;
        let timeout = self.link.answer_timeout();
        let closed = self.cache.close(&changes.invalidated).await;
        let session = self.link.session().await?;
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
        outcome?;
        self.reopen(closed).await
    }

    /// When this returns, no replica uses an answer from before the commit.
    async fn reopen(&mut self, closed: ClosedScopes) -> Result<(), StoreError> {
        if self.cache.open(&closed).await {
            return Ok(());
        }
        if !closed.needs_generation() {
            let timeout = self.link.answer_timeout();
            let session = self.link.session().await?;
            let increment = session.client().execute(&session.statements.new_generation, &[]);
            let outcome = within(timeout, increment).await;
            if let Err(error) = &outcome {
                self.link.recover(error).await;
            }
            outcome?;
        }
        wait_for_generation_expiry().await;
        Ok(())
    }
}

/// All statements are pipelined. Favourites and orders are read after the rows are locked, by statements of their own,
/// which see everything committed before.
async fn load(
    client: &Client,
    statements: &WriterStatements,
    required: &RequiredRows,
) -> Result<LoadedRows, Error> {
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
    let (_, rows, images, favorites, lines, new_ids, new_image_ids) = tokio::try_join!(
        biased;
        client.batch_execute("BEGIN"),
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
    Ok(loaded)
}

type Parameters<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

/// The rows of a query, or none without running it.
async fn unless(
    is_unneeded: bool,
    query: impl Future<Output = Result<Vec<Row>, Error>>,
) -> Result<Vec<Row>, Error> {
    if is_unneeded { Ok(Vec::new()) } else { query.await }
}
