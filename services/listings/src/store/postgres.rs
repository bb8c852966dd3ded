//! PostgreSQL: writers that commit in groups, a pool of reader connections, and a maintenance task that checks the
//! server.
//!
//! Any number of processes may share a database: every writer locks the rows of its listings first, in the order of
//! ids. Start at [`Postgres::open`].

mod categories;
mod columns;
#[cfg(feature = "faults")]
mod faults;
mod maintenance;
mod pool;
mod queries;
mod rows;
mod schema;
mod sent_group;
mod statements;
mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::group_commit::{GroupCommit, GroupMetrics, GroupOptions, GroupQueue};
use kit::metrics::Metrics;
use kit::postgres::{ConnectError, Connector, ServerOptions, connect_with_retry, migrate_for};
use tokio::task::JoinSet;

use super::queued_write::QueuedWrite;
use super::writer_metrics::WriterMetrics;
use super::{StoreError, StoreOpenError};
use crate::cache::{Cache, wait_for_generation_expiry};
use crate::categories::{Category, RequiredCategories};
use crate::find::{Filters, Page, PageRange, SimilarQuery};
use crate::listing::Listing;
use crate::stats::StorefrontStats;
use crate::write::{FavoriteKey, Write};
use maintenance::MaintenanceTask;
use pool::{Pool, READS, SEARCHES};
use sent_group::Resolver;
use writer::{MAX_GROUP, Writer};

/// Options of a store in PostgreSQL.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    pub server: ServerOptions,
    /// Writer connections; at least 1.
    pub writers: usize,
    /// Connections for reads by key; at least 1.
    pub readers: usize,
    /// Connections for lists and searches; at least 1.
    pub search_readers: usize,
    /// How long the first write of a group waits for others.
    pub batching_delay: Duration,
}

/// Lists and searches that take longer are ended: one that does would take many times as long on more listings.
const SEARCH_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) struct Postgres {
    writers: Vec<GroupQueue<QueuedWrite>>,
    next_writer: AtomicU64,
    pool: Pool,
    /// For lists and searches, so that slow ones do not delay reads by key.
    search_pool: Pool,
    maintenance: Arc<MaintenanceTask>,
    writer_tasks: Mutex<JoinSet<()>>,
    /// Aborts the maintenance task when the store is dropped.
    _background_tasks: JoinSet<()>,
}

impl Postgres {
    /// Connects, migrates the schema, gives it the required categories, and opens every connection.
    pub(super) async fn open(
        options: &PostgresOptions,
        required: &RequiredCategories,
        cache: Cache,
        metrics: &Metrics,
    ) -> Result<Self, StoreOpenError> {
        let connector = Connector::new(&options.server)?;
        let first = connect_with_retry(&connector).await?;
        migrate_for(&first, &options.server, &schema::MIGRATIONS, schema::OLDEST).await?;
        let replaced = categories::require(&first.client, required).await;
        if replaced.map_err(|error| options.server.refused(&error))?? && matches!(cache, Cache::Shared(_)) {
            wait_for_generation_expiry().await;
        }
        drop(first);
        let at = options.server.at();
        let refused = |error: StoreError| ConnectError::Refused { at: at.clone(), why: error.to_string() };

        let groups = GroupMetrics::register(metrics, "store");
        let resolver = Resolver {
            connector: connector.clone(),
            cache: cache.clone(),
            metrics: WriterMetrics::register(metrics),
            groups: groups.clone(),
        };
        let group_options = GroupOptions::of_weight(MAX_GROUP).after(options.batching_delay);
        let mut writer_tasks = JoinSet::new();
        let mut writers = Vec::new();
        for _ in 0..options.writers.max(1) {
            let mut writer = Writer::new(resolver.clone());
            writer.warm_up().await.map_err(refused)?;
            let (queue, writer) = GroupCommit::new(writer, group_options, groups.clone());
            writer_tasks.spawn(writer.run());
            writers.push(queue);
        }
        let counts = [options.readers, options.search_readers];
        #[cfg(feature = "faults")]
        let counts = counts.map(faults::readers);
        let pool = Pool::open(&connector, counts[0], READS, metrics).await.map_err(refused)?;
        let searching = connector.for_filters(SEARCH_TIMEOUT);
        let search_pool = Pool::open(&searching, counts[1], SEARCHES, metrics).await.map_err(refused)?;
        let maintenance = Arc::new(MaintenanceTask::new(&connector, cache));
        maintenance.check().await.map_err(refused)?;
        let mut background_tasks = JoinSet::new();
        background_tasks.spawn(Arc::clone(&maintenance).run());
        Ok(Self {
            writers,
            next_writer: AtomicU64::new(0),
            pool,
            search_pool,
            maintenance,
            writer_tasks: Mutex::new(writer_tasks),
            _background_tasks: background_tasks,
        })
    }

    pub(super) async fn listings(&self, ids: &[i64]) -> Result<Vec<Listing>, StoreError> {
        self.pool.read(&queries::Listings(ids)).await
    }

    pub(super) async fn page(&self, filters: &Filters, range: PageRange) -> Result<Page, StoreError> {
        self.search_pool.read(&queries::Pages::of(filters, range)).await
    }

    pub(super) async fn similar(&self, similar: &SimilarQuery, limit: i64) -> Result<Vec<i64>, StoreError> {
        self.search_pool.read(&queries::Ids(similar.select(limit, '$'))).await
    }

    pub(super) async fn stats(&self, storefront_id: i64) -> Result<StorefrontStats, StoreError> {
        self.pool.read(&queries::Stats(storefront_id)).await
    }

    pub(super) async fn storefront_owner(&self, storefront_id: i64) -> Result<Option<i64>, StoreError> {
        self.pool.read(&queries::StorefrontOwner(storefront_id)).await
    }

    pub(super) async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        self.pool.read(&queries::Categories).await
    }

    pub(super) async fn favorites(&self, user_id: i64, range: PageRange) -> Result<Page, StoreError> {
        self.pool.read(&queries::Favorites(user_id, range)).await
    }

    pub(super) async fn favored_by(&self, listing_id: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        self.pool.read(&queries::FavoredBy(listing_id, limit)).await
    }

    pub(super) async fn is_favorite(&self, favorite: FavoriteKey) -> Result<bool, StoreError> {
        self.pool.read(&queries::IsFavorite(favorite)).await
    }

    pub(super) async fn of_skus(
        &self,
        skus: &[String],
        storefront_id: Option<i64>,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        self.pool.read(&queries::OfSkus(skus, storefront_id)).await
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        self.maintenance.last_check()
    }

    /// All writes of one listing go to the same writer, so that they share a transaction instead of waiting for its
    /// lock.
    pub(super) fn send(&self, queued: QueuedWrite) -> Result<(), StoreError> {
        let listing = first_listing(&queued.write);
        #[cfg(feature = "faults")]
        let listing = faults::same_writer_key(listing);
        let key = match listing {
            Some(id) => id.unsigned_abs(),
            None => self.next_writer.fetch_add(1, Ordering::Relaxed),
        };
        // The remainder is below the number of writers.
        let writer = usize::try_from(key % self.writers.len() as u64).unwrap_or_default();
        self.writers[writer].send(queued).map_err(|_| StoreError::Closed)
    }

    pub(super) async fn close(&self) {
        self.writers.iter().for_each(GroupQueue::close);
        let mut tasks =
            std::mem::take(&mut *self.writer_tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a writer of the store panicked");
            }
        }
    }
}

fn first_listing(write: &Write) -> Option<i64> {
    match write {
        Write::Create(_) => None,
        Write::Update(edit) => Some(edit.id),
        Write::Delete(id, _) => Some(*id),
        Write::AddFavorite(favorite) | Write::RemoveFavorite(favorite) => Some(favorite.listing_id),
        Write::Move(movement) => Some(movement.product_id),
        Write::Set(set) => set.items.first().map(|new| new.item.product_id),
        Write::Take(order) | Write::Return(order) => order.items.first().map(|item| item.product_id),
        Write::View(views) => views.first().map(|view| view.product_id),
    }
}
