//! PostgreSQL: writers that commit in groups, connections that read, and a caretaker that looks whether the server is
//! there.
//!
//! Any number of processes may share a database: whoever writes a listing locks its row first, in the order of ids.
//! Start at [`Postgres::open`].

mod columns;
#[cfg(feature = "faults")]
mod faults;
mod maintenance;
mod pool;
mod queries;
mod rows;
mod schema;
mod statements;
mod writer;

use super::StoreError;
use super::command::Command;
use super::counted::Counted;
use crate::cache::Cache;
use crate::categories::{Category, insert_built_in};
use crate::find::{Filters, Page, Similar, Slice};
use crate::listing::Listing;
use crate::stats::Stats;
use crate::write::Write;
use kit::metrics::Metrics;
use kit::postgres::{ConnectError, Connected, Connector, ServerOptions, connect_with_retry, migrate};
use maintenance::Caretaker;
use pool::Pool;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use writer::{Message, Writer};

/// Which database, and how it is used.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The server.
    pub server: ServerOptions,
    /// Connections that write; at least 1.
    pub writers: usize,
    /// Connections that read; at least 1.
    pub readers: usize,
}

/// A store in PostgreSQL.
pub(super) struct Postgres {
    writers: Vec<UnboundedSender<Message>>,
    next_writer: AtomicU64,
    pool: Pool,
    caretaker: Arc<Caretaker>,
    writing: Mutex<JoinSet<()>>,
    /// Ends the caretaker when the store is gone.
    _others: JoinSet<()>,
}

impl Postgres {
    /// Connects, brings the schema up to date, and warms every connection up.
    pub(super) async fn open(
        options: &PostgresOptions,
        cache: Cache,
        metrics: &Metrics,
    ) -> Result<Self, ConnectError> {
        let connector = Connector::new(&options.server)?;
        let first = connect_with_retry(&connector).await?;
        migrate(&first, &options.server, &schema::MIGRATIONS).await?;
        begin(&first).await.map_err(|error| options.server.refused(&error))?;
        drop(first);
        let at = options.server.at();
        let not_warm = |error: StoreError| ConnectError::Refused { at: at.clone(), why: error.to_string() };

        let counted = Counted::register(metrics);
        let mut writing = JoinSet::new();
        let mut writers = Vec::new();
        for _ in 0..options.writers.max(1) {
            let mut writer = Writer::new(&connector, cache.clone(), counted.clone());
            writer.warm_up().await.map_err(not_warm)?;
            let (sender, messages) = unbounded_channel();
            writing.spawn(writer.run(messages));
            writers.push(sender);
        }
        let readers = options.readers;
        #[cfg(feature = "faults")]
        let readers = faults::readers(readers);
        let pool = Pool::open(&connector, readers, metrics).await.map_err(not_warm)?;
        let caretaker = Arc::new(Caretaker::new(&connector, cache));
        caretaker.look().await.map_err(not_warm)?;
        let mut others = JoinSet::new();
        others.spawn(Arc::clone(&caretaker).run());
        let (next_writer, writing) = (AtomicU64::new(0), Mutex::new(writing));
        Ok(Self { writers, next_writer, pool, caretaker, writing, _others: others })
    }

    pub(super) async fn listings(&self, ids: &[i64]) -> Result<Vec<Listing>, StoreError> {
        self.pool.read(&queries::Listings(ids)).await
    }

    pub(super) async fn page(&self, filters: &Filters, slice: Slice) -> Result<Page, StoreError> {
        self.pool.read(&queries::Pages::of(filters, slice)).await
    }

    pub(super) async fn similar(&self, similar: &Similar, limit: i64) -> Result<Vec<i64>, StoreError> {
        self.pool.read(&queries::Ids(similar.select(limit, '$'))).await
    }

    pub(super) async fn stats(&self, storefront_id: i64) -> Result<Stats, StoreError> {
        self.pool.read(&queries::Sums(storefront_id)).await
    }

    pub(super) async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        self.pool.read(&queries::Categories).await
    }

    pub(super) async fn favorites(&self, user_id: i64, slice: Slice) -> Result<Page, StoreError> {
        self.pool.read(&queries::Favorites(user_id, slice)).await
    }

    pub(super) async fn favored_by(&self, listing_id: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        self.pool.read(&queries::FavoredBy(listing_id, limit)).await
    }

    pub(super) async fn is_favorite(&self, user_id: i64, listing_id: i64) -> Result<bool, StoreError> {
        self.pool.read(&queries::IsFavorite(user_id, listing_id)).await
    }

    pub(super) async fn of_sku(&self, sku: &str) -> Result<Vec<i64>, StoreError> {
        self.pool.read(&queries::OfSku(sku)).await
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        self.caretaker.last_seen()
    }

    /// Writes of one listing all go to one writer, so that they are written together instead of waiting for each other.
    pub(super) fn send(&self, command: Command) -> Result<(), StoreError> {
        let listing = first_listing(&command.write);
        #[cfg(feature = "faults")]
        let listing = faults::together(listing);
        let part = match listing {
            Some(id) => id.unsigned_abs(),
            None => self.next_writer.fetch_add(1, Ordering::Relaxed),
        };
        // The remainder is below a count of connections.
        let part = usize::try_from(part % self.writers.len() as u64).unwrap_or_default();
        self.writers[part].send(Message::Command(Box::new(command))).map_err(|_| StoreError::Closed)
    }

    pub(super) async fn close(&self) {
        for writer in &self.writers {
            let _writer_gone = writer.send(Message::Close);
        }
        let mut writing = std::mem::take(&mut *self.writing.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(ended) = writing.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a writer of the store died");
            }
        }
    }
}

fn first_listing(write: &Write) -> Option<i64> {
    match write {
        Write::Create(_) => None,
        Write::Update(edit) => Some(edit.id),
        Write::Delete(id, _) => Some(*id),
        Write::Mark { listing_id, .. } | Write::Unmark { listing_id, .. } => Some(*listing_id),
        Write::Move(movement) => Some(movement.product_id),
        Write::Set(set) => set.items.first().map(|(item, _)| item.product_id),
        Write::Take(order) | Write::Return(order) => order.items.first().map(|item| item.product_id),
        Write::View(views) => views.first().map(|(id, _)| *id),
    }
}

/// A new database begins with the built-in categories; replicas that start at once make them once.
async fn begin(first: &Connected) -> Result<(), tokio_postgres::Error> {
    let has_some = first.client.query_one("SELECT EXISTS (SELECT 1 FROM categories)", &[]).await?;
    if has_some.try_get(0)? {
        return Ok(());
    }
    first.client.batch_execute(&format!("{} ON CONFLICT DO NOTHING", insert_built_in())).await
}
