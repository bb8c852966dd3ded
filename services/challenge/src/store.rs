//! The embedded store: SQLite in WAL mode, one writer thread that commits commands in groups, readers beside it.
//!
//! A write is answered only after its transaction is durable. A read sees every write answered before it began.
//! What a command does to a user's goals is the rules' business; this room loads, saves and commits.
//! Start at [`Store::open`]; `writer` holds the loop, `batch` what happens inside one transaction.

mod batch;
mod claims;
mod command;
mod readers;
mod rows;
mod schema;
mod seen;
mod writer;

pub use claims::{ClaimEnd, ClaimIntent, ClaimStart};
pub use command::{EventKey, EventOutcome, EventWrite, Initialized};
pub use schema::{OpenError, Sync};
pub use seen::Window;

use crate::catalog::{Catalog, GoalIx};
use crate::rewards::Grant;
use crate::rules::{Activation, GoalRow, UserGoals};
use crate::user::UserId;
use command::{Command, Reply};
use kit::clock::UtcMs;
use kit::metrics::Metrics;
use readers::Readers;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest wait for a commit. Past it the caller is told that the outcome is unknown instead of waiting on.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// Why the store did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// It is closed, or its writer has died.
    #[error("the store is closed")]
    Closed,
    /// A commit took longer than the longest wait; whether it happened is unknown.
    #[error("the store did not commit within 10 s")]
    Slow,
    /// SQLite refused; nothing of the transaction was kept.
    #[error("the store failed: {0}")]
    Failed(Arc<str>),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string().into())
    }
}

/// How the store is set up.
#[derive(Debug, Clone)]
pub struct StoreOptions {
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
pub struct Store {
    catalog: Arc<Catalog>,
    commands: Sender<Command>,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
    is_closed: AtomicBool,
    /// Held for as long as the store is open; dropped last.
    _place: schema::Place,
}

impl Store {
    /// Opens the file, brings its schema up to date and starts the writer.
    ///
    /// # Errors
    /// When the file cannot be used, is in use by another process, or was written by a newer version.
    pub fn open(options: &StoreOptions, catalog: Arc<Catalog>, metrics: &Metrics) -> Result<Self, OpenError> {
        let place = schema::Place::take(options.path.as_deref())?;
        let connection = schema::open_writer(&place, options.sync)?;
        let readers = Readers::open(&place, options.readers)?;
        let seen = seen::Seen::load(&connection, options.window, UtcMs::now())?;
        let writer = writer::Writer::new(connection, Arc::clone(&catalog), seen, options.linger);
        let (commands, handle) = writer.start(metrics)?;
        let writer = Mutex::new(Some(handle));
        Ok(Self { catalog, commands, readers, writer, is_closed: AtomicBool::new(false), _place: place })
    }

    /// The user's rows as of now.
    ///
    /// SQLite is read on the calling thread: the rows of a user lie together on one or two pages, mostly in memory,
    /// and handing the read to another thread would cost more than the read.
    ///
    /// # Errors
    /// When SQLite fails.
    pub async fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        self.readers.with(|connection| rows::load(connection, &self.catalog, user))
    }

    /// Claims that were begun and not ended, oldest first.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn pending_claims(&self) -> Result<Vec<ClaimIntent>, StoreError> {
        self.readers.with(claims::pending)
    }

    /// Whether the store answers.
    ///
    /// # Errors
    /// Says why not.
    pub fn probe(&self) -> Result<(), StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(StoreError::Closed);
        }
        self.readers.with(|connection| connection.query_row("SELECT 1", [], |_| Ok(())))
    }

    /// Applies an event; returns once it is durable.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn event(&self, event: EventWrite) -> Result<EventOutcome, StoreError> {
        self.ask(|reply| Command::Event(event, Some(reply))).await
    }

    /// Takes an event over, to be written with the next group.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn buffer_event(&self, event: EventWrite) -> Result<(), StoreError> {
        self.send(Command::Event(event, None))
    }

    /// Gives the user the default goals that are missing.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn initialize(&self, user: UserId) -> Result<Initialized, StoreError> {
        self.ask(|reply| Command::Initialize(user, reply)).await
    }

    /// Makes a goal active or inactive; returns its row.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn set_active(
        &self,
        user: UserId,
        goal: GoalIx,
        activation: Activation,
    ) -> Result<GoalRow, StoreError> {
        self.ask(|reply| Command::SetActive { user, goal, activation, reply }).await
    }

    /// Records that a reward is about to be granted, or finds the record of an unfinished claim.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn begin_claim(&self, user: UserId, goal: GoalIx) -> Result<ClaimStart, StoreError> {
        self.ask(|reply| Command::BeginClaim { user, goal, reply }).await
    }

    /// Records that the reward was granted.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn end_claim(&self, intent: ClaimIntent) -> Result<ClaimEnd, StoreError> {
        self.ask(|reply| Command::EndClaim(intent, reply)).await
    }

    /// Enters a grant into the ledger, once for each key.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn enter_grant(&self, grant: Grant) -> Result<(), StoreError> {
        self.ask(|reply| Command::EnterGrant(grant, reply)).await
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply))?;
        match tokio::time::timeout(COMMIT_WAIT, answer).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_not_answered)) => Err(StoreError::Failed("the group it was in was rolled back".into())),
            Err(_elapsed) => Err(StoreError::Slow),
        }
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        self.commands.send(command).map_err(|_| StoreError::Closed)
    }

    /// Commits everything taken in so far and ends the writer. Blocks until that is done.
    pub fn close(&self) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let _writer_gone = self.send(Command::Close);
        let handle = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if handle.is_some_and(|handle| handle.join().is_err()) {
            tracing::error!("the store's writer died");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
