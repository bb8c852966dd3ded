//! What is kept: listings, images, marks, stock and the sums over them. Two stores, one behaviour: what a write does is
//! decided in `write` on rows that the store has loaded, before it is asked to keep anything.
//!
//! A write is answered after its transaction is durable and what caches held of it is forgotten. A read sees every
//! write answered before it began. Start at [`Store::open`].

mod command;
mod counted;
#[cfg(feature = "faults")]
mod faults;
mod postgres;
mod sqlite;

pub use command::WriteError;
pub use kit::sqlite::{OpenError, Sync};
pub use kit::store::StoreError;
pub use postgres::PostgresOptions;
pub use sqlite::SqliteOptions;

use crate::cache::Cache;
use crate::categories::Category;
use crate::find::{Filters, Page, Similar, Slice};
use crate::listing::Listing;
use crate::stats::Stats;
use crate::write::{Write, Written};
use command::Command;
use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::postgres::ConnectError;
use postgres::Postgres;
use sqlite::Sqlite;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest wait for a commit. Past it the caller is told that the outcome is unknown instead of waiting on.
const COMMIT_WAIT: Duration = Duration::from_secs(20);

/// Writes taken in that are not answered yet: callers who went away do not make room for more.
const MAX_WAITING: usize = 16_384;

/// Which store, and how it is set up.
#[derive(Debug, Clone)]
pub enum StoreOptions {
    /// The embedded one.
    Sqlite(SqliteOptions),
    /// PostgreSQL 15 or newer.
    Postgres(PostgresOptions),
}

impl StoreOptions {
    /// The same with one writer, which does everything in the order in which it comes.
    #[must_use]
    pub fn in_order(self) -> Self {
        match self {
            Self::Postgres(options) => Self::Postgres(PostgresOptions { writers: 1, ..options }),
            embedded @ Self::Sqlite(_) => embedded,
        }
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// The embedded one.
    #[error(transparent)]
    Sqlite(#[from] OpenError),
    /// PostgreSQL.
    #[error(transparent)]
    Postgres(#[from] ConnectError),
}

/// A store.
pub struct Store {
    kind: Kind,
    waiting: Limit,
}

enum Kind {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// Asks the store that there is.
macro_rules! ask {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match &$self.kind {
            Kind::Sqlite(store) => store.$method($($argument),*).await,
            Kind::Postgres(store) => store.$method($($argument),*).await,
        }
    };
}

impl Store {
    /// Opens the store and brings its schema up to date. What a write touches is forgotten by `cache` before the
    /// write is answered.
    ///
    /// # Errors
    /// When the database cannot be used, or was written by a newer version.
    pub async fn open(
        options: &StoreOptions,
        cache: Cache,
        metrics: &Metrics,
    ) -> Result<Self, StoreOpenError> {
        let kind = match options {
            StoreOptions::Sqlite(options) => Kind::Sqlite(Sqlite::open(options, cache, metrics)?),
            StoreOptions::Postgres(options) => {
                Kind::Postgres(Box::new(Postgres::open(options, cache, metrics).await?))
            }
        };
        let waiting = Limit::new(MAX_WAITING);
        metrics.watch("store_writes_waiting", "Writes that are not answered yet", &waiting);
        Ok(Self { kind, waiting })
    }

    /// The listings of these ids that were not deleted, with their images, in no order.
    ///
    /// # Errors
    /// When the database fails or cannot be reached; so of all that read.
    pub async fn listings(&self, ids: &[i64]) -> Result<Vec<Listing>, StoreError> {
        ask!(self, listings(ids))
    }

    /// A slice of what passes the filters.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn page(&self, filters: &Filters, slice: Slice) -> Result<Page, StoreError> {
        ask!(self, page(filters, slice))
    }

    /// The ids of at most `limit` that are like a listing, nearest first.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn similar(&self, similar: &Similar, limit: i64) -> Result<Vec<i64>, StoreError> {
        ask!(self, similar(similar, limit))
    }

    /// A storefront's sums.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn stats(&self, storefront_id: i64) -> Result<Stats, StoreError> {
        ask!(self, stats(storefront_id))
    }

    /// All categories, in order.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        ask!(self, categories())
    }

    /// What a user has marked, newest mark first.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn favorites(&self, user_id: i64, slice: Slice) -> Result<Page, StoreError> {
        ask!(self, favorites(user_id, slice))
    }

    /// Who has marked a listing; at most `limit`, by id.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn favored_by(&self, listing_id: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        ask!(self, favored_by(listing_id, limit))
    }

    /// Whether a user has marked a listing.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn is_favorite(&self, user_id: i64, listing_id: i64) -> Result<bool, StoreError> {
        ask!(self, is_favorite(user_id, listing_id))
    }

    /// The products of one stock-keeping unit.
    ///
    /// # Errors
    /// As [`Store::listings`].
    pub async fn of_sku(&self, sku: &str) -> Result<Vec<i64>, StoreError> {
        ask!(self, of_sku(sku))
    }

    /// Does it, and returns once it is durable.
    ///
    /// # Errors
    /// When it was refused, or the database failed. Who stops waiting does not stop it.
    pub async fn write(&self, write: Write) -> Result<Written, WriteError> {
        self.begin(write)?.await
    }

    /// The same; it is taken in when this returns, so that writes are done in the order in which they were begun,
    /// as far as one writer does them.
    ///
    /// # Errors
    /// When it cannot be taken in.
    pub fn begin(
        &self,
        write: Write,
    ) -> Result<impl Future<Output = Result<Written, WriteError>> + Send + use<>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let place = self.waiting.enter().ok_or(StoreError::Slow)?;
        self.send(Command { write, reply, _place: place })?;
        Ok(async move {
            match tokio::time::timeout(COMMIT_WAIT, answer).await {
                Ok(answered) => answered.unwrap_or(Err(StoreError::Closed.into())),
                Err(_elapsed) => Err(StoreError::Slow.into()),
            }
        })
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Sqlite(store) => store.send(command),
            Kind::Postgres(store) => store.send(command),
        }
    }

    /// Whether the database answers now.
    ///
    /// # Errors
    /// Says why not.
    pub fn probe(&self) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Sqlite(store) => store.probe(),
            Kind::Postgres(store) => store.probe(),
        }
    }

    /// Commits everything taken in so far and ends the writers.
    pub async fn close(&self) {
        match &self.kind {
            Kind::Sqlite(store) => store.close(),
            Kind::Postgres(store) => store.close().await,
        }
    }
}
