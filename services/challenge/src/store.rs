//! The users' goals and claims, and the events that were applied. Two stores, one behaviour: `batch` applies the rules
//! to a command before either store writes anything.
//!
//! A write is answered only after its transaction is durable. A read sees every write answered before it began.
//! Start at [`Store::open`]; `command` lists the writes, `batch` runs them, `sqlite` and `postgres` load and commit.

mod batch;
mod claims;
mod command;
mod event_key;
mod group;
mod metrics;
mod postgres;
mod read_set;
mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use kit::metrics::Metrics;
use kit::postgres::ConnectError;
pub use kit::store::StoreError;
use tokio::sync::oneshot;

use crate::catalog::{Catalog, GoalIndex};
use crate::grant::Grant;
use crate::rules::{Activation, GoalRow, UserGoals};
use crate::user::UserId;
pub use claims::{ClaimEnd, ClaimIntent, ClaimStart, InFlightWindow};
use command::{Command, ReplySender};
pub use command::{EventOutcome, EventWrite, Initialized};
pub use event_key::EventKey;
use postgres::Postgres;
pub use postgres::PostgresOptions;
use sqlite::Sqlite;
pub use sqlite::{EventIdWindow, OpenError, SqliteOptions, Sync};

/// Longest wait for a commit. Past it the caller receives an error: the outcome is unknown.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// Which store, and its options.
#[derive(Debug, Clone)]
pub enum StoreOptions {
    /// The embedded one.
    Sqlite(SqliteOptions),
    /// PostgreSQL 15 or newer.
    Postgres(PostgresOptions),
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
    backend: Backend,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens the store and brings its schema up to date.
    ///
    /// # Errors
    /// When the database cannot be used, or was written by a newer version.
    pub async fn open(
        options: &StoreOptions,
        catalog: Arc<Catalog>,
        metrics: &Metrics,
    ) -> Result<Self, StoreOpenError> {
        let backend = match options {
            StoreOptions::Sqlite(options) => Backend::Sqlite(Sqlite::open(options, catalog, metrics)?),
            StoreOptions::Postgres(options) => {
                Backend::Postgres(Postgres::open(options, catalog, metrics).await?)
            }
        };
        Ok(Self { backend })
    }

    /// The user's rows as of now.
    ///
    /// # Errors
    /// When the database fails or cannot be reached.
    pub async fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.user(user),
            Backend::Postgres(store) => store.user(user).await,
        }
    }

    /// Claims that were begun and not ended, oldest first, without those that may be in flight.
    ///
    /// # Errors
    /// When the database fails or cannot be reached.
    pub async fn pending_claims(&self, in_flight: InFlightWindow) -> Result<Vec<ClaimIntent>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.pending_claims(in_flight),
            Backend::Postgres(store) => store.pending_claims(in_flight).await,
        }
    }

    /// Whether the store answers; for PostgreSQL, whether it did within the last seconds.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn probe(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.probe(),
            Backend::Postgres(store) => store.probe(),
        }
    }

    /// Applies an event; returns once it is durable.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn event(&self, event: EventWrite) -> Result<EventOutcome, StoreError> {
        self.submit(|reply| Command::Event(event, Some(reply))).await
    }

    /// Queues an event for the next group; writing it is retried until it succeeds.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn buffer_event(&self, event: EventWrite) -> Result<(), StoreError> {
        self.send(Command::Event(event, None))
    }

    /// Assigns the default goals that the user lacks.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn initialize(&self, user: UserId) -> Result<Initialized, StoreError> {
        self.submit(|reply| Command::Initialize(user, reply)).await
    }

    /// Makes a goal active or inactive; returns its row.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn set_active(
        &self,
        user: UserId,
        goal: GoalIndex,
        activation: Activation,
    ) -> Result<GoalRow, StoreError> {
        self.submit(|reply| Command::SetActive { user, goal, activation, reply }).await
    }

    /// Records that a reward is about to be granted, or returns the record of an unfinished claim.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn begin_claim(&self, user: UserId, goal: GoalIndex) -> Result<ClaimStart, StoreError> {
        self.submit(|reply| Command::BeginClaim { user, goal, reply }).await
    }

    /// Records that the reward was granted.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn end_claim(&self, intent: ClaimIntent) -> Result<ClaimEnd, StoreError> {
        self.submit(|reply| Command::EndClaim(intent, reply)).await
    }

    /// Enters a grant into the ledger, once for each key.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn enter_grant(&self, grant: Grant) -> Result<(), StoreError> {
        self.submit(|reply| Command::EnterGrant(grant, reply)).await
    }

    async fn submit<T>(&self, command: impl FnOnce(ReplySender<T>) -> Command) -> Result<T, StoreError> {
        let (reply, outcome) = oneshot::channel();
        self.send(command(reply))?;
        match tokio::time::timeout(COMMIT_WAIT, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_writer_gone)) => Err(StoreError::Closed),
            Err(_elapsed) => Err(StoreError::Slow),
        }
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.send(command),
            Backend::Postgres(store) => store.send(command),
        }
    }

    /// Commits everything received so far and ends the writers; does nothing the second time.
    pub async fn close(self: &Arc<Self>) {
        match &self.backend {
            Backend::Postgres(store) => store.close().await,
            Backend::Sqlite(_) => {
                let store = Arc::clone(self);
                let _panicked = tokio::task::spawn_blocking(move || store.close_blocking()).await;
            }
        }
    }

    fn close_blocking(&self) {
        if let Backend::Sqlite(store) = &self.backend {
            store.close();
        }
    }
}
