//! The embedded store: SQLite in WAL mode, one writer thread that commits commands in groups, readers beside it.
//!
//! One process holds the database. Start at [`Sqlite::open`].

mod claims;
mod rows;
mod schema;
mod seen;
mod writer;

pub use kit::sqlite::{OpenError, Sync};
pub use seen::Window;

use super::StoreError;
use super::claims::{ClaimIntent, OnTheirWay};
use super::command::Command;
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::user::UserId;
use kit::clock::UtcMs;
use kit::metrics::Metrics;
use kit::sqlite::{DatabaseFile, Readers, open_writer};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
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
    /// How long the first command of a group waits for others before the group is committed.
    pub linger: Duration,
    /// How long event ids are remembered.
    pub window: Window,
}

/// The embedded store.
pub(super) struct Sqlite {
    catalog: Arc<Catalog>,
    messages: Sender<Message>,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Held for as long as the store is open; dropped last.
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
        let seen = seen::Seen::load(&connection, options.window, UtcMs::now())?;
        let writer = Writer::new((connection, seen), Arc::clone(&catalog), options.linger, metrics);
        let (messages, handle) = writer.start()?;
        Ok(Self { catalog, messages, readers, writer: Mutex::new(Some(handle)), _place: place })
    }

    /// Reads on the calling thread: the rows of a user lie together on one or two pages, mostly in memory, and
    /// handing the read to another thread would cost more than the read.
    pub(super) fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        Ok(self.readers.with(|connection| rows::load(connection, &self.catalog, user))?)
    }

    pub(super) fn pending_claims(&self, but: OnTheirWay) -> Result<Vec<ClaimIntent>, StoreError> {
        Ok(self.readers.with(|connection| claims::pending(connection, but))?)
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(StoreError::Closed);
        }
        Ok(self.readers.with(|connection| connection.query_row("SELECT 1", [], |_| Ok(())))?)
    }

    pub(super) fn send(&self, command: Command) -> Result<(), StoreError> {
        self.messages.send(Message::Command(command)).map_err(|_| StoreError::Closed)
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

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}
