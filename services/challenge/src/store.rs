//! What is kept of users: goals, claims, events seen. Two stores, one behaviour: what a command does is decided in
//! `batch` by the rules, before either store is asked to write anything.
//!
//! A write is answered only after its transaction is durable. A read sees every write answered before it began.
//! Start at [`Store::open`]; `command` lists the writes, `batch` runs them, `sqlite` and `postgres` load and commit.

mod batch;
mod claims;
mod command;
mod counted;
mod needs;
mod postgres;
mod sqlite;

pub use claims::{ClaimEnd, ClaimIntent, ClaimStart, OnTheirWay};
pub use command::{EventKey, EventOutcome, EventWrite, Initialized};
pub use postgres::PostgresOptions;
pub use sqlite::{OpenError, SqliteOptions, Sync, Window};

use crate::catalog::{Catalog, GoalIx};
use crate::rewards::Grant;
use crate::rules::{Activation, GoalRow, UserGoals};
use crate::user::UserId;
use command::{Command, Reply};
use kit::metrics::Metrics;
use kit::postgres::ConnectError;
pub use kit::store::StoreError;
use postgres::Postgres;
use sqlite::Sqlite;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest wait for a commit. Past it the caller is told that the outcome is unknown instead of waiting on.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// Which store, and how it is set up.
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
    kind: Kind,
}

enum Kind {
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
        let kind = match options {
            StoreOptions::Sqlite(options) => Kind::Sqlite(Sqlite::open(options, catalog, metrics)?),
            StoreOptions::Postgres(options) => {
                Kind::Postgres(Postgres::open(options, catalog, metrics).await?)
            }
        };
        Ok(Self { kind })
    }

    /// The user's rows as of now.
    ///
    /// # Errors
    /// When the database fails or cannot be reached.
    pub async fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        match &self.kind {
            Kind::Sqlite(store) => store.user(user),
            Kind::Postgres(store) => store.user(user).await,
        }
    }

    /// Claims that were begun and not ended, but for those that may still be; oldest first.
    ///
    /// # Errors
    /// When the database fails or cannot be reached.
    pub async fn pending_claims(&self, but: OnTheirWay) -> Result<Vec<ClaimIntent>, StoreError> {
        match &self.kind {
            Kind::Sqlite(store) => store.pending_claims(but),
            Kind::Postgres(store) => store.pending_claims(but).await,
        }
    }

    /// Whether the store answers; for PostgreSQL, whether it did within the last seconds.
    ///
    /// # Errors
    /// Says why not.
    pub fn probe(&self) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Sqlite(store) => store.probe(),
            Kind::Postgres(store) => store.probe(),
        }
    }

    /// Applies an event; returns once it is durable.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn event(&self, event: EventWrite) -> Result<EventOutcome, StoreError> {
        self.ask(|reply| Command::Event(event, Some(reply))).await
    }

    /// Takes an event over, to be written with the next group; it is tried again until it is written.
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
            Ok(Err(_writer_gone)) => Err(StoreError::Closed),
            Err(_elapsed) => Err(StoreError::Slow),
        }
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Sqlite(store) => store.send(command),
            Kind::Postgres(store) => store.send(command),
        }
    }

    /// Commits everything taken in so far and ends the writers; does nothing the second time.
    pub async fn close(self: &Arc<Self>) {
        match &self.kind {
            Kind::Postgres(store) => store.close().await,
            Kind::Sqlite(_) => {
                let store = Arc::clone(self);
                let _panicked = tokio::task::spawn_blocking(move || store.close_blocking()).await;
            }
        }
    }

    fn close_blocking(&self) {
        if let Kind::Sqlite(store) = &self.kind {
            store.close();
        }
    }
}
