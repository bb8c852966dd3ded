//! The embedded store: SQLite in WAL mode, one writer thread that commits commands in groups, readers beside it.
//!
//! One process has the database open. Start at [`Sqlite::open`].

mod claims;
mod event_ids;
mod rows;
mod schema;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use kit::clock::UtcMs;
use kit::group_commit::GroupQueue;
use kit::metrics::Metrics;
use kit::sqlite::{DatabaseFile, Readers, open_writer};
pub use kit::sqlite::{OpenError, Sync};

use super::StoreError;
use super::claims::{ClaimIntent, OpenClaims};
use super::command::Command;
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::user::UserId;
pub use event_ids::EventIdWindow;
use event_ids::RecentEventIds;
use writer::{Writer, WriterDatabase};

/// The options of the embedded store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file; `None` for a temporary one that is removed on close.
    pub path: Option<PathBuf>,
    /// Whether a commit waits for the disk.
    pub sync: Sync,
    /// Reader connections, at least 1.
    pub readers: usize,
    /// How long the first command of a group waits for others before the group is committed.
    pub batch_delay: Duration,
    /// How long event ids are remembered.
    pub event_ids: EventIdWindow,
}

pub(super) struct Sqlite {
    catalog: Arc<Catalog>,
    queue: GroupQueue<Command>,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Locks the database for as long as the store is open; dropped last.
    _place: DatabaseFile,
}

impl Sqlite {
    /// Opens the file, brings its schema up to date and starts the writer.
    pub(super) fn open(
        options: &SqliteOptions,
        catalog: Arc<Catalog>,
        metrics: &Metrics,
    ) -> Result<Self, OpenError> {
        let place = DatabaseFile::acquire(options.path.as_deref(), "challenge.db")?;
        let connection = open_writer(&place, options.sync, &schema::MIGRATIONS)?;
        let readers = Readers::open(&place, options.readers)?;
        let event_ids = RecentEventIds::load(&connection, options.event_ids, UtcMs::now())?;
        let database = WriterDatabase { connection, event_ids };
        let writer = Writer::new(database, Arc::clone(&catalog), metrics);
        let (queue, handle) = writer.start(options.batch_delay, metrics)?;
        Ok(Self { catalog, queue, readers, writer: Mutex::new(Some(handle)), _place: place })
    }

    /// Reads on the calling thread: the rows of a user lie together on one or two pages, mostly in memory, and
    /// handing the read to another thread would cost more than the read.
    pub(super) fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        Ok(self.readers.with(|connection| rows::load(connection, &self.catalog, user))?)
    }

    pub(super) fn open_claims(&self, which: OpenClaims) -> Result<Vec<ClaimIntent>, StoreError> {
        Ok(self.readers.with(|connection| claims::open(connection, which))?)
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(StoreError::Closed);
        }
        Ok(self.readers.with(|connection| connection.query_row("SELECT 1", [], |_| Ok(())))?)
    }

    pub(super) fn send(&self, command: Command) -> Result<(), StoreError> {
        self.queue.send(command).map_err(|_| StoreError::Closed)
    }

    /// Commits everything received so far and ends the writer. Blocks until that is done; does nothing the second
    /// time.
    pub(super) fn close(&self) {
        let Some(handle) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.queue.close();
        if handle.join().is_err() {
            tracing::error!("the store's writer panicked");
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}
