//! The embedded store: SQLite in WAL mode, one writer thread that commits writes in groups, readers beside it.
//!
//! Only one process may open the database. Start at [`Sqlite::open`].

mod categories;
mod rows;
mod save;
mod schema;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use kit::group_commit::GroupQueue;
use kit::metrics::Metrics;
use kit::sqlite::{DatabaseFile, Readers, Sync, open_writer};
use rusqlite::Connection;

use super::queued_write::QueuedWrite;
use super::{StoreError, StoreOpenError};
use crate::cache::Cache;
use crate::categories::{Category, RequiredCategories};
use crate::find::{Filters, Page, PageRange, SimilarQuery};
use crate::listing::Listing;
use crate::stats::StorefrontStats;
use crate::write::FavoriteKey;
use writer::Writer;

/// Options of the embedded store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file; `None` for a temporary one that is removed on close.
    pub path: Option<PathBuf>,
    /// What a commit waits for.
    pub sync: Sync,
    /// Reader connections, at least 1.
    pub readers: usize,
    /// How long the first write of a group waits for others.
    pub batching_delay: Duration,
}

pub(super) struct Sqlite {
    writes: GroupQueue<QueuedWrite>,
    readers: Arc<Readers>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Locked while the store is open; dropped last.
    _file: DatabaseFile,
}

impl Sqlite {
    /// Opens the file, migrates its schema, gives it the required categories, and starts the writer.
    pub(super) fn open(
        options: &SqliteOptions,
        required: &RequiredCategories,
        cache: Cache,
        metrics: &Metrics,
    ) -> Result<Self, StoreOpenError> {
        let file = DatabaseFile::acquire(options.path.as_deref(), "listings.db")?;
        let connection = open_writer(&file, options.sync, &schema::MIGRATIONS)?;
        categories::require(&connection, required)?;
        let readers = Arc::new(Readers::open(&file, options.readers)?);
        let (writes, handle) =
            Writer::new(connection, cache, metrics)?.start(options.batching_delay, metrics)?;
        Ok(Self { writes, readers, writer: Mutex::new(Some(handle)), _file: file })
    }

    /// Reads a page on the calling thread: a few rows, mostly in memory. Another thread would cost more than the read.
    pub(super) async fn listings(&self, ids: &[i64]) -> Result<Vec<Listing>, StoreError> {
        if ids.len() > MAX_PAGE {
            let ids = ids.to_vec();
            return self.read_on_pool(move |connection| rows::listings(connection, &ids)).await;
        }
        Ok(self.readers.with(|connection| rows::listings(connection, ids))?)
    }

    pub(super) async fn page(&self, filters: &Filters, range: PageRange) -> Result<Page, StoreError> {
        let filters = filters.clone();
        self.read_on_pool(move |connection| rows::page(connection, &filters, range)).await
    }

    pub(super) async fn similar(&self, similar: &SimilarQuery, limit: i64) -> Result<Vec<i64>, StoreError> {
        Ok(self.readers.with(|connection| rows::ids(connection, similar.select(limit, '?')))?)
    }

    pub(super) async fn stats(&self, storefront_id: i64) -> Result<StorefrontStats, StoreError> {
        Ok(self.readers.with(|connection| rows::stats(connection, storefront_id))?)
    }

    pub(super) async fn storefront_owner(&self, storefront_id: i64) -> Result<Option<i64>, StoreError> {
        Ok(self.readers.with(|connection| rows::storefront_owner(connection, storefront_id))?)
    }

    pub(super) async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        Ok(self.readers.with(rows::categories)?)
    }

    pub(super) async fn favorites(&self, user_id: i64, range: PageRange) -> Result<Page, StoreError> {
        self.read_on_pool(move |connection| rows::favorites(connection, user_id, range)).await
    }

    pub(super) async fn favored_by(&self, listing_id: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        Ok(self.readers.with(|connection| rows::favored_by(connection, listing_id, limit))?)
    }

    pub(super) async fn is_favorite(&self, favorite: FavoriteKey) -> Result<bool, StoreError> {
        Ok(self.readers.with(|connection| rows::is_favorite(connection, favorite))?)
    }

    pub(super) async fn of_skus(
        &self,
        skus: &[String],
        storefront_id: Option<i64>,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let skus = skus.to_vec();
        self.read_on_pool(move |connection| rows::of_skus(connection, &skus, storefront_id)).await
    }

    /// Runs a read that may take milliseconds on the blocking thread pool. When the caller drops the future, SQLite
    /// ends the query at the next progress check.
    async fn read_on_pool<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (readers, caller) = (Arc::clone(&self.readers), Arc::new(()));
        let caller_alive = Arc::downgrade(&caller);
        let reading = tokio::task::spawn_blocking(move || {
            readers.with(|connection| {
                connection
                    .progress_handler(STEPS_BETWEEN_CHECKS, Some(move || caller_alive.strong_count() == 0))?;
                let outcome = read(connection);
                connection.progress_handler(0, None::<fn() -> bool>)?;
                outcome
            })
        });
        let outcome = reading.await.map_err(|_| StoreError::Closed)?;
        drop(caller);
        Ok(outcome?)
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(StoreError::Closed);
        }
        Ok(self.readers.with(|connection| connection.query_row("SELECT 1", [], |_| Ok(())))?)
    }

    pub(super) fn send(&self, queued: QueuedWrite) -> Result<(), StoreError> {
        self.writes.send(queued).map_err(|_| StoreError::Closed)
    }

    /// Commits all queued writes and ends the writer. Blocks until then; a second call does nothing.
    pub(super) fn close(&self) {
        let Some(handle) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.writes.close();
        if handle.join().is_err() {
            tracing::error!("the store's writer panicked");
        }
    }
}

/// Listings on a page at most.
const MAX_PAGE: usize = 100;

/// SQLite steps between two checks whether the caller still waits: about a tenth of a millisecond.
const STEPS_BETWEEN_CHECKS: i32 = 10_000;

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    /// There is one reader connection: while the query runs, no other read is answered.
    #[tokio::test]
    async fn the_query_of_a_disconnected_caller_is_ended() {
        let batching_delay = Duration::ZERO;
        let options = SqliteOptions { path: None, sync: Sync::Normal, readers: 1, batching_delay };
        let required = RequiredCategories::Stored;
        let store = Sqlite::open(&options, &required, Cache::Off, &Metrics::new("listings")).unwrap();
        let endless =
            "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let (started, wait_for_start) = oneshot::channel();
        let query = store.read_on_pool(move |connection| {
            started.send(()).unwrap();
            connection.query_row(endless, [], |row| row.get::<_, i64>(0))
        });
        tokio::select! {
            outcome = query => panic!("the endless query has ended: {outcome:?}"),
            started = wait_for_start => started.unwrap(),
        }
        assert_eq!(store.categories().await.unwrap().len(), 26);
    }
}
