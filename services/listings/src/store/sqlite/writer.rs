//! The writer thread. It takes all queued writes as a group, runs them in one transaction, commits, invalidates the
//! cache and then answers the callers.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use kit::clock::UtcMs;
use kit::sqlite::OpenError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{rows, save};
use crate::cache::Cache;
use crate::store::StoreError;
use crate::store::queued_write::{QueuedWrite, decide, fail_all, reply_all};
use crate::store::writer_metrics::{GroupStart, WriterMetrics};
use crate::write::{Changes, LoadedRows, NewIds, RequiredRows};

/// Writes in one transaction at most; it bounds the writes that fail together and the wait of the first.
const MAX_GROUP: usize = 2_048;

/// A message to the thread.
pub(super) enum WriterMessage {
    Write(Box<QueuedWrite>),
    Close,
}

pub(super) struct Writer {
    connection: Connection,
    cache: Cache,
    metrics: WriterMetrics,
    last_listing_id: i64,
    last_image_id: i64,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        cache: Cache,
        metrics: WriterMetrics,
    ) -> Result<Self, OpenError> {
        let last_id = |table: &str| {
            let text = format!("SELECT coalesce(max(id), 0) FROM {table}");
            connection.query_row(&text, [], |row| row.get(0))
        };
        let (last_listing_id, last_image_id) = (last_id("listings")?, last_id("listing_images")?);
        Ok(Self { connection, cache, metrics, last_listing_id, last_image_id })
    }

    /// The channel is unbounded; each message in it has a permit of the limit on queued writes.
    pub(super) fn start(mut self) -> Result<(Sender<WriterMessage>, JoinHandle<()>), OpenError> {
        let (sender, messages) = channel();
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let handle = thread
            .spawn(move || self.run(&messages))
            .map_err(|source| OpenError::File { path: "the writer's thread".to_owned(), source })?;
        Ok((sender, handle))
    }

    fn run(&mut self, messages: &Receiver<WriterMessage>) {
        while let Ok(first) = messages.recv() {
            let mut group = Vec::new();
            let mut is_last = false;
            let mut collect = |message| match message {
                WriterMessage::Write(queued) => group.push(*queued),
                WriterMessage::Close => is_last = true,
            };
            collect(first);
            messages.try_iter().take(MAX_GROUP - 1).for_each(collect);
            self.commit(group);
            if is_last {
                return;
            }
        }
    }

    /// Runs a group in one transaction and answers its callers.
    fn commit(&mut self, group: Vec<QueuedWrite>) {
        if group.is_empty() {
            return;
        }
        let start = GroupStart::now(group.len());
        let now = UtcMs::now();
        let loaded = match self.load(&group) {
            Ok(loaded) => loaded,
            Err(error) => return self.fail(group, &error, start),
        };
        let decided = decide(&group, loaded, now);
        if decided.changes.is_empty() {
            return reply_all(group, decided.outcomes);
        }
        match self.write(&decided.changes, now) {
            Ok(()) => {
                self.cache.invalidate_local(&decided.changes.invalidated);
                self.metrics.count(start, Some(&decided.changes));
                reply_all(group, decided.outcomes);
            }
            Err(error) => self.fail(group, &error, start),
        }
    }

    fn fail(&self, group: Vec<QueuedWrite>, error: &rusqlite::Error, start: GroupStart) {
        tracing::error!(%error, writes = start.writes, "a group of writes was rolled back");
        self.metrics.count(start, None);
        fail_all(group, &StoreError::Failed(error.to_string().into()));
    }

    /// There is no other writer, so rows read before the transaction cannot change until it begins.
    fn load(&mut self, group: &[QueuedWrite]) -> rusqlite::Result<LoadedRows> {
        let required = RequiredRows::of(group.iter().map(|queued| &queued.write));
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
