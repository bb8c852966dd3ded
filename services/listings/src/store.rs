//! The store: listings, images, favourites, stock and the statistics over them. There are two stores with the same
//! behaviour: `write` decides what a write changes, on rows that the store has loaded, and the store persists it.
//!
//! A write is answered after its transaction is durable and the caches are invalidated. A read sees every write that
//! was answered before the read began. Start at [`Store::open`].

#[cfg(feature = "faults")]
mod faults;
mod postgres;
mod queued_write;
mod sqlite;
mod writer_metrics;

pub use kit::sqlite::{OpenError, Sync};
pub use kit::store::StoreError;
pub use postgres::PostgresOptions;
pub use queued_write::WriteError;
pub use sqlite::SqliteOptions;

use std::time::Duration;

use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::postgres::ConnectError;
use tokio::sync::oneshot;

use crate::cache::Cache;
use crate::categories::{Category, CategoryInUse, RequiredCategories};
use crate::find::{Filters, Page, PageRange, SimilarQuery};
use crate::listing::Listing;
use crate::stats::StorefrontStats;
use crate::write::{FavoriteKey, Write, WriteOutcome};
use postgres::Postgres;
use queued_write::QueuedWrite;
use sqlite::Sqlite;

/// The longest wait for a commit; after it the caller gets an error and the outcome is unknown.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Queued writes at most. A write counts until it is answered or, after its caller has left, dropped by a writer.
const MAX_QUEUED_WRITES: usize = 16_384;

/// Products of stock-keeping units in one answer at most: the limits in the statements of both stores follow it.
pub const MAX_OF_SKUS: usize = 1_000;

#[derive(Debug, Clone)]
pub enum StoreOptions {
    /// The embedded store, SQLite.
    Sqlite(SqliteOptions),
    /// PostgreSQL 15 or newer.
    Postgres(PostgresOptions),
}

impl StoreOptions {
    /// Searches that the store works on at once.
    #[must_use]
    pub fn searches(&self) -> usize {
        match self {
            Self::Sqlite(options) => options.readers,
            Self::Postgres(options) => options.search_readers,
        }
    }

    /// The same options with one writer, which keeps the order of writes.
    #[must_use]
    pub fn with_one_writer(self) -> Self {
        match self {
            Self::Postgres(options) => Self::Postgres(PostgresOptions { writers: 1, ..options }),
            embedded @ Self::Sqlite(_) => embedded,
        }
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    #[error(transparent)]
    Sqlite(#[from] OpenError),
    #[error(transparent)]
    Postgres(#[from] ConnectError),
    /// The categories that it must have.
    #[error(transparent)]
    Categories(#[from] CategoryInUse),
}

type Reply = oneshot::Receiver<Result<WriteOutcome, WriteError>>;

pub struct Store {
    backend: Backend,
    queued: Limit,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// Calls a method of the backend.
macro_rules! dispatch {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match &$self.backend {
            Backend::Sqlite(store) => store.$method($($argument),*).await,
            Backend::Postgres(store) => store.$method($($argument),*).await,
        }
    };
}

impl Store {
    /// Opens the store, migrates its schema, and gives it the required categories. A write invalidates the scopes that it affects in `cache` before it is
    /// answered.
    ///
    /// # Errors
    /// When the database cannot be used, was written by a newer version, or has listings in other categories.
    pub async fn open(
        options: &StoreOptions,
        categories: &RequiredCategories,
        cache: Cache,
        metrics: &Metrics,
    ) -> Result<Self, StoreOpenError> {
        let backend = match options {
            StoreOptions::Sqlite(options) => {
                Backend::Sqlite(Sqlite::open(options, categories, cache, metrics)?)
            }
            StoreOptions::Postgres(options) => {
                Backend::Postgres(Box::new(Postgres::open(options, categories, cache, metrics).await?))
            }
        };
        let queued = Limit::new(MAX_QUEUED_WRITES);
        metrics.watch("store_writes_waiting", "Queued writes that are not answered yet", &queued);
        Ok(Self { backend, queued })
    }

    /// The listings with these ids that are not deleted, with their images, in no order.
    ///
    /// # Errors
    /// When the database fails or cannot be reached.
    pub async fn listings(&self, ids: &[i64]) -> Result<Vec<Listing>, StoreError> {
        dispatch!(self, listings(ids))
    }

    /// A range of the listings that pass the filters.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn page(&self, filters: &Filters, range: PageRange) -> Result<Page, StoreError> {
        dispatch!(self, page(filters, range))
    }

    /// The ids of at most `limit` listings similar to one, nearest in price first.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn similar(&self, similar: &SimilarQuery, limit: i64) -> Result<Vec<i64>, StoreError> {
        dispatch!(self, similar(similar, limit))
    }

    /// A storefront's statistics.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn stats(&self, storefront_id: i64) -> Result<StorefrontStats, StoreError> {
        dispatch!(self, stats(storefront_id))
    }

    /// A storefront's owner: the user of its first product.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn storefront_owner(&self, storefront_id: i64) -> Result<Option<i64>, StoreError> {
        dispatch!(self, storefront_owner(storefront_id))
    }

    /// All categories, in order.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        dispatch!(self, categories())
    }

    /// A user's favourites, newest first.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn favorites(&self, user_id: i64, range: PageRange) -> Result<Page, StoreError> {
        dispatch!(self, favorites(user_id, range))
    }

    /// At most `limit` users who have a listing as a favourite, by id.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn favored_by(&self, listing_id: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        dispatch!(self, favored_by(listing_id, limit))
    }

    /// Whether a listing is a user's favourite.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn is_favorite(&self, favorite: FavoriteKey) -> Result<bool, StoreError> {
        dispatch!(self, is_favorite(favorite))
    }

    /// The products of each of these stock-keeping units, in one storefront or in all: of each unit the first
    /// [`MAX_OF_SKUS`] by id, and more than that of all units together when there are more.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn of_skus(
        &self,
        skus: &[String],
        storefront_id: Option<i64>,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        dispatch!(self, of_skus(skus, storefront_id))
    }

    /// Carries out a write and returns when it is durable.
    ///
    /// # Errors
    /// When the write was refused, or the database failed: then nothing was written, except after
    /// [`StoreError::Slow`]. Dropping the future cancels the write, unless a writer has begun with it.
    pub async fn write(&self, write: Write) -> Result<WriteOutcome, WriteError> {
        self.submit(write)?.await
    }

    /// As [`Store::write`], but waits until the outcome is known, however long the database takes.
    ///
    /// # Errors
    /// When nothing was written, or the store closes.
    pub async fn write_surely(&self, write: Write) -> Result<WriteOutcome, WriteError> {
        self.queue(write)?.await.unwrap_or(Err(StoreError::Closed.into()))
    }

    /// Queues a write; the future returns when it is durable. One writer carries out writes in the order in which they
    /// were queued.
    ///
    /// # Errors
    /// When too many writes are queued, or the store is closed.
    pub fn submit(
        &self,
        write: Write,
    ) -> Result<impl Future<Output = Result<WriteOutcome, WriteError>> + Send + use<>, StoreError> {
        let outcome = self.queue(write)?;
        Ok(async move {
            match tokio::time::timeout(COMMIT_TIMEOUT, outcome).await {
                Ok(replied) => replied.unwrap_or(Err(StoreError::Closed.into())),
                Err(_elapsed) => Err(StoreError::Slow.into()),
            }
        })
    }

    fn queue(&self, write: Write) -> Result<Reply, StoreError> {
        let (reply, outcome) = oneshot::channel();
        let permit = self.queued.enter().ok_or(StoreError::Slow)?;
        self.send(QueuedWrite { write, reply, _permit: permit })?;
        Ok(outcome)
    }

    fn send(&self, queued: QueuedWrite) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.send(queued),
            Backend::Postgres(store) => store.send(queued),
        }
    }

    /// Whether the database answers now.
    ///
    /// # Errors
    /// The reason why not.
    pub fn probe(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.probe(),
            Backend::Postgres(store) => store.probe(),
        }
    }

    /// Commits all queued writes and ends the writers.
    pub async fn close(&self) {
        match &self.backend {
            Backend::Sqlite(store) => store.close(),
            Backend::Postgres(store) => store.close().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{SeedSize, fill};

    #[tokio::test]
    async fn a_write_whose_caller_leaves_before_a_writer_begins_with_it_is_not_carried_out() {
        let batching_delay = Duration::from_millis(500);
        let options = StoreOptions::Sqlite(SqliteOptions {
            path: None,
            sync: Sync::Normal,
            readers: 1,
            batching_delay,
        });
        let (categories, metrics) = (RequiredCategories::Stored, Metrics::new("listings"));
        let store = Store::open(&options, &categories, Cache::Off, &metrics).await.unwrap();
        fill(&store, SeedSize { listings: 1, storefronts: 1 }).await.unwrap();
        let mark = |user_id| Write::AddFavorite(FavoriteKey { user_id, listing_id: 1 });
        drop(store.submit(mark(8)).unwrap());
        store.write(mark(9)).await.unwrap();
        assert_eq!(store.favored_by(1, 10).await.unwrap(), [9]);
    }
}
