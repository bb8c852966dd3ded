//! The writer thread. It runs a group of writes in one transaction, commits, invalidates the cache and then answers the
//! callers.

use std::thread::JoinHandle;
use std::time::Duration;

use kit::clock::UtcMs;
use kit::group_commit::{FailedGroup, GroupCommit, GroupMetrics, GroupOptions, GroupQueue, GroupWriter};
use kit::metrics::Metrics;
use kit::sqlite::OpenError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{rows, save};
use crate::cache::Cache;
use crate::store::queued_write::{DecidedGroup, QueuedWrite, decide, reply_all};
use crate::store::writer_metrics::WriterMetrics;
use crate::write::{Changes, LoadedRows, NewIds, RequiredRows};

/// Writes in one transaction at most; it bounds the writes that fail together and the wait of the first.
const MAX_GROUP: usize = 2_048;

pub(super) struct Writer {
    connection: Connection,
    cache: Cache,
    metrics: WriterMetrics,
    last_listing_id: i64,
    last_image_id: i64,
}

impl Writer {
    pub(super) fn new(connection: Connection, cache: Cache, metrics: &Metrics) -> Result<Self, OpenError> {
        let last_id = |table: &str| {
            let text = format!("SELECT coalesce(max(id), 0) FROM {table}");
            connection.query_row(&text, [], |row| row.get(0))
        };
        let (last_listing_id, last_image_id) = (last_id("listings")?, last_id("listing_images")?);
        let metrics = WriterMetrics::register(metrics);
        Ok(Self { connection, cache, metrics, last_listing_id, last_image_id })
    }

    /// The queue is unbounded; each write in it has a permit of the limit on queued writes.
    pub(super) fn start(
        self,
        batching_delay: Duration,
        metrics: &Metrics,
    ) -> Result<(GroupQueue<QueuedWrite>, JoinHandle<()>), OpenError> {
        let options = GroupOptions::of_weight(MAX_GROUP).after(batching_delay);
        let (queue, writer) = GroupCommit::new(self, options, GroupMetrics::register(metrics, "store"));
        let no_thread = |source| OpenError::File { path: "the writer's thread".to_owned(), source };
        Ok((queue, writer.run_on_thread("store-writer").map_err(no_thread)?))
    }

    /// Runs a group in one transaction.
    fn transact(&mut self, group: &[QueuedWrite]) -> rusqlite::Result<DecidedGroup> {
        let now = UtcMs::now();
        let decided = decide(group, self.load(group)?, now);
        if !decided.changes.is_empty() {
            self.write(&decided.changes, now)?;
        }
        Ok(decided)
    }

    /// There is no other writer, so rows read before the transaction cannot change until it begins.
    fn load(&mut self, group: &[QueuedWrite]) -> rusqlite::Result<LoadedRows> {
        let required = RequiredRows::collect(group.iter().map(|queued| &queued.write));
        let ids: Vec<i64> = required.listings.iter().copied().collect();
        let reserve = |last: &mut i64, count: usize| {
            let first = *last + 1;
            *last += count as i64;
            (first..=*last).collect()
        };
        let new_ids = NewIds {
            listings: reserve(&mut self.last_listing_id, required.new_listings),
            images: reserve(&mut self.last_image_id, required.new_images),
        };
        let mut loaded = LoadedRows::new(rows::listings(&self.connection, &ids)?, new_ids);
        for favorite in required.favorites {
            if rows::is_favorite(&self.connection, favorite)? {
                loaded.add_favorite(favorite);
            }
        }
        for storefront_id in required.storefronts {
            if let Some(owner) = rows::storefront_owner(&self.connection, storefront_id)? {
                loaded.add_storefront(storefront_id, owner);
            }
        }
        for order in required.orders {
            for line in rows::order(&self.connection, &order)? {
                loaded.add_order_line(line);
            }
        }
        Ok(loaded)
    }

    /// Persists all of the changes or none.
    fn write(&self, changes: &Changes, now: UtcMs) -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        save::save(&self.connection, changes, now)?;
        transaction.commit()
    }
}

impl GroupWriter for Writer {
    type Command = QueuedWrite;

    async fn commit(&mut self, group: Vec<QueuedWrite>) -> Result<(), FailedGroup<QueuedWrite>> {
        match self.transact(&group) {
            Ok(DecidedGroup { changes, outcomes }) => {
                self.cache.invalidate_local(&changes.invalidated);
                self.metrics.count(&changes);
                reply_all(group, outcomes);
                Ok(())
            }
            Err(error) => Err(FailedGroup { commands: group, error: error.into() }),
        }
    }
}
