//! A writer: one task with one connection. It runs a group of writes in one transaction, commits, invalidates the cache
//! and then answers the callers: two round trips for a group of any size. A group whose commit or invalidation is not
//! answered is resolved beside the writer, see [`Resolver`].

use kit::clock::UtcMs;
use kit::group_commit::{FailedGroup, GroupWriter};
use kit::postgres::{Link, within};
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use super::columns::save;
use super::rows;
use super::sent_group::{Marker, Resolver, SentGroup};
use super::statements::WriterStatements;
use crate::cache::ClosedScopes;
use crate::store::StoreError;
use crate::store::queued_write::{QueuedWrite, decide};
use crate::write::{
    Changes, FavoriteKey, KeyedOrderLine, LoadedRows, NewIds, OrderLine, RequiredRows, StockLevels,
};

/// Writes in one transaction at most; it bounds the writes that fail together and the wait of the first.
pub(super) const MAX_GROUP: usize = 256;

pub(super) struct Writer {
    link: Link<WriterStatements>,
    /// What the last group was marked with; `None` when the next group needs another marker.
    marker: Option<Marker>,
    resolver: Resolver,
    /// The groups that are resolved beside the writer.
    resolving: JoinSet<()>,
}

impl GroupWriter for Writer {
    type Command = QueuedWrite;

    /// A group that the server refuses is tried a second time: the cause may be another writer, which has committed
    /// meanwhile.
    async fn commit(&mut self, group: Vec<QueuedWrite>) -> Result<(), FailedGroup<QueuedWrite>> {
        while self.resolving.try_join_next().is_some() {}
        match self.attempt(group).await {
            Err(FailedGroup { commands, error }) if error.is_rolled_back() => {
                tracing::warn!(%error, writes = commands.len(), "a group of writes is tried again");
                self.attempt(commands).await
            }
            outcome => outcome,
        }
    }

    /// Removes the marker and waits for the groups that are being resolved, for no longer than for any other answer of
    /// the server.
    async fn close(&mut self) {
        let timeout = self.link.answer_timeout();
        if let (Some(marker), Ok(session)) = (self.marker, self.link.same_session()) {
            let id: Parameters<'_, 1> = [&marker.id];
            let remove = session.client().execute(&session.statements.remove_marker, &id);
            let _left_behind = within(timeout, remove).await;
        }
        let all = async { while self.resolving.join_next().await.is_some() {} };
        if tokio::time::timeout(timeout, all).await.is_err() {
            tracing::error!("the store closes before it knows whether its last writes were committed");
        }
    }
}

impl Writer {
    pub(super) fn new(resolver: Resolver) -> Self {
        let link = Link::new(resolver.connector.clone());
        Self { link, marker: None, resolver, resolving: JoinSet::new() }
    }

    /// Connects before the first write.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// Runs a group in one transaction and has its callers answered, unless nothing of it was committed.
    async fn attempt(&mut self, commands: Vec<QueuedWrite>) -> Result<(), FailedGroup<QueuedWrite>> {
        let now = UtcMs::now();
        let rows = match self.load(&commands).await {
            Ok(rows) => rows,
            Err(error) => return Err(FailedGroup { commands, error }),
        };
        let decided = decide(&commands, rows, now);
        let closed = self.resolver.cache.close(&decided.changes.invalidated).await;
        let saved = self.save(&decided.changes, &closed, now).await;
        let sent = SentGroup { group: commands, decided, closed };
        match saved {
            Ok(()) => match self.resolver.invalidate_and_answer(sent).await {
                None => {}
                Some(sent) => drop(self.resolving.spawn(self.resolver.clone().finish(sent))),
            },
            Err(error) if error.is_rolled_back() => return Err(FailedGroup { commands: sent.group, error }),
            Err(error) => {
                let writes = sent.group.len();
                tracing::warn!(%error, writes, "a commit was not answered; its outcome is asked for");
                // A group has a marker since its rows were loaded.
                if let Some(marker) = self.marker.take() {
                    self.resolving.spawn(self.resolver.clone().resolve(sent, marker));
                }
            }
        }
        Ok(())
    }

    /// Begins the transaction, locks the rows and reads them. Nothing is written yet, so when the connection broke
    /// while it was idle, all of this is repeated on a new one.
    async fn load(&mut self, group: &[QueuedWrite]) -> Result<LoadedRows, StoreError> {
        let required = RequiredRows::collect(group.iter().map(|queued| &queued.write));
        match self.load_once(&required).await {
            Err(StoreError::Unreachable(_)) => self.load_once(&required).await,
            outcome => outcome,
        }
    }

    async fn load_once(&mut self, required: &RequiredRows) -> Result<LoadedRows, StoreError> {
        let timeout = self.link.answer_timeout();
        let session = self.link.session().await?;
        let (client, statements) = (session.client(), &session.statements);
        let marked = within(timeout, next_marker(client, statements, self.marker)).await;
        let outcome = match marked {
            Ok(marker) => {
                self.marker = Some(marker);
                within(timeout, load(client, statements, required, marker)).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &outcome {
            // After a refusal the server has rolled back; otherwise the transaction may still hold the marker.
            self.marker = self.marker.filter(|_| error.is_rolled_back());
            self.link.recover(error).await;
        }
        outcome
    }

    /// Writes and commits. The server has rolled back after an error that says so; after another error the outcome is
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

/// The mark of the next group of a writer, in the same marker as the last.
async fn next_marker(
    client: &Client,
    statements: &WriterStatements,
    last: Option<Marker>,
) -> Result<Marker, Error> {
    match last {
        Some(Marker { id, group }) => Ok(Marker { id, group: group + 1 }),
        None => Ok(Marker { id: client.query_one(&statements.new_marker, &[]).await?.try_get(0)?, group: 1 }),
    }
}

/// All statements are pipelined. Favourites and orders are read after the rows are locked, by statements of their own,
/// which see everything committed before.
async fn load(
    client: &Client,
    statements: &WriterStatements,
    required: &RequiredRows,
    marker: Marker,
) -> Result<LoadedRows, Error> {
    let ids: Vec<i64> = required.listings.iter().copied().collect();
    let favorites = required.favorites.iter().map(|favorite| (favorite.user_id, favorite.listing_id));
    let (users, listings): (Vec<i64>, Vec<i64>) = favorites.unzip();
    let storefronts: Vec<i64> = required.storefronts.iter().copied().collect();
    let orders: Vec<&str> = required.orders.iter().map(String::as_str).collect();
    let (new_listings, new_images) = (required.new_listings as i64, required.new_images as i64);
    let (no_listings, no_favorites, no_orders) = (ids.is_empty(), users.is_empty(), orders.is_empty());
    let by_id: Parameters<'_, 1> = [&ids];
    let by_favorite: Parameters<'_, 2> = [&users, &listings];
    let by_order: Parameters<'_, 1> = [&orders];
    let by_storefront: Parameters<'_, 1> = [&storefronts];
    let counts: [Parameters<'_, 1>; 2] = [[&new_listings], [&new_images]];
    let lock = &statements.lock;
    #[cfg(feature = "faults")]
    let lock = if no_listings { lock } else { super::faults::load_statement(statements) };
    let mark: Parameters<'_, 2> = [&marker.id, &marker.group];
    let (_, _marked, rows, images, favorites, lines, owners, new_ids, new_image_ids) = tokio::try_join!(
        biased;
        client.batch_execute("BEGIN"),
        client.query_one(&statements.mark, &mark),
        unless(no_listings, client.query(lock, &by_id)),
        unless(no_listings, client.query(&statements.images, &by_id)),
        unless(no_favorites, client.query(&statements.favorites, &by_favorite)),
        unless(no_orders, client.query(&statements.orders, &by_order)),
        unless(storefronts.is_empty(), client.query(&statements.storefronts, &by_storefront)),
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
    for row in &owners {
        loaded.add_storefront(row.try_get(0)?, row.try_get(1)?);
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
