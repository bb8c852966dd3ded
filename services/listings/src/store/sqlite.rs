//! The embedded store: SQLite in WAL mode, one writer thread that commits writes in groups, readers beside it.
//!
//! One process holds the database. Start at [`Sqlite::open`].

mod rows;
mod save;
mod schema;
mod writer;

use super::StoreError;
use super::command::Command;
use super::counted::Counted;
use crate::cache::Cache;
use crate::categories::{Category, insert_built_in};
use crate::find::{Filters, Page, Similar, Slice};
use crate::listing::Listing;
use crate::stats::Stats;
use kit::metrics::Metrics;
use kit::sqlite::{DatabaseFile, OpenError, Readers, Sync, open_writer};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use writer::{Message, Writer};

/// How the embedded store is set up.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file; `None` for a temporary one that is removed on close.
    pub path: Option<PathBuf>,
    /// What a commit waits for.
    pub sync: Sync,
    /// Reader connections, at least 1.
    pub readers: usize,
}

/// The embedded store.
pub(super) struct Sqlite {
    messages: Sender<Message>,
    readers: Arc<Readers>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Held for as long as the store is open; dropped last.
    _place: DatabaseFile,
}

impl Sqlite {
    /// Opens the file, brings its schema up to date and starts the writer.
    pub(super) fn open(options: &SqliteOptions, cache: Cache, metrics: &Metrics) -> Result<Self, OpenError> {
        let place = DatabaseFile::acquire(options.path.as_deref(), "listings.db")?;
        let connection = open_writer(&place, options.sync, &schema::MIGRATIONS)?;
        begin(&connection)?;
        let readers = Arc::new(Readers::open(&place, options.readers)?);
        let writer = Writer::new(connection, cache, Counted::register(metrics))?;
        let (messages, handle) = writer.start()?;
        Ok(Self { messages, readers, writer: Mutex::new(Some(handle)), _place: place })
    }

    /// Reads on the calling thread: a few rows, mostly in memory; handing it to another thread would cost more.
    pub(super) async fn listings(&self, ids: &[i64]) -> Result<Vec<Listing>, StoreError> {
        Ok(self.readers.with(|connection| rows::listings(connection, ids))?)
    }

    pub(super) async fn page(&self, filters: &Filters, slice: Slice) -> Result<Page, StoreError> {
        let filters = filters.clone();
        self.aside(move |connection| rows::page(connection, &filters, slice)).await
    }

    pub(super) async fn similar(&self, similar: &Similar, limit: i64) -> Result<Vec<i64>, StoreError> {
        Ok(self.readers.with(|connection| rows::ids(connection, similar.select(limit, '?')))?)
    }

    pub(super) async fn stats(&self, storefront_id: i64) -> Result<Stats, StoreError> {
        Ok(self.readers.with(|connection| rows::stats(connection, storefront_id))?)
    }

    pub(super) async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        Ok(self.readers.with(rows::categories)?)
    }

    pub(super) async fn favorites(&self, user_id: i64, slice: Slice) -> Result<Page, StoreError> {
        self.aside(move |connection| rows::favorites(connection, user_id, slice)).await
    }

    pub(super) async fn favored_by(&self, listing_id: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        Ok(self.readers.with(|connection| rows::favored_by(connection, listing_id, limit))?)
    }

    pub(super) async fn is_favorite(&self, user_id: i64, listing_id: i64) -> Result<bool, StoreError> {
        Ok(self.readers.with(|connection| rows::is_favorite(connection, user_id, listing_id))?)
    }

    pub(super) async fn of_sku(&self, sku: &str) -> Result<Vec<i64>, StoreError> {
        Ok(self.readers.with(|connection| rows::of_sku(connection, sku))?)
    }

    /// Reads that may take milliseconds, on a thread where nobody else waits for its turn. When the caller goes, so
    /// does the query: SQLite ends it at its next step.
    async fn aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (readers, caller) = (Arc::clone(&self.readers), Arc::new(()));
        let gone = Arc::downgrade(&caller);
        let reading = tokio::task::spawn_blocking(move || {
            readers.with(|connection| {
                connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || gone.strong_count() == 0))?;
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

    pub(super) fn send(&self, command: Command) -> Result<(), StoreError> {
        self.messages.send(Message::Command(Box::new(command))).map_err(|_| StoreError::Closed)
    }

    /// Commits everything taken in so far and ends the writer. Blocks until that is done; does nothing the second
    /// time.
    pub(super) fn close(&self) {
        let Some(handle) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let _writer_gone = self.messages.send(Message::Close);
        if handle.join().is_err() {
            tracing::error!("the store's writer died");
        }
    }
}

/// Between two looks whether the caller is still there: about a tenth of a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// A new database begins with the built-in categories.
fn begin(connection: &Connection) -> Result<(), OpenError> {
    let has_categories: bool =
        connection.query_row("SELECT EXISTS (SELECT 1 FROM categories)", [], |row| row.get(0))?;
    if !has_categories {
        connection.execute_batch(&insert_built_in())?;
    }
    Ok(())
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    /// There is one connection that reads: as long as the query runs, nobody else gets an answer.
    #[tokio::test]
    async fn the_query_of_a_caller_who_went_away_is_ended() {
        let options = SqliteOptions { path: None, sync: Sync::Normal, readers: 1 };
        let store = Sqlite::open(&options, Cache::Off, &Metrics::new("listings")).unwrap();
        let endless =
            "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let (begin, begun) = oneshot::channel();
        let query = store.aside(move |connection| {
            begin.send(()).unwrap();
            connection.query_row(endless, [], |row| row.get::<_, i64>(0))
        });
        tokio::select! {
            outcome = query => panic!("it has no end: {outcome:?}"),
            begun = begun => begun.unwrap(),
        }
        assert_eq!(store.categories().await.unwrap().len(), 26);
    }
}
