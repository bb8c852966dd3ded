//! The users' goals and claims, and the events that were applied. Two stores, one behaviour: `batch` applies the rules
//! to a command before either store writes anything.
//!
//! A write is answered only after its transaction is durable. A read sees every write answered before it began.
//! Start at [`Store::open`]; `command` lists the writes, `batch` runs them, `sqlite` and `postgres` load and commit.

mod batch;
mod claims;
mod command;
mod event_key;
mod metrics;
#[cfg_attr(not(feature = "full"), path = "store/without_postgres.rs")]
mod postgres;
#[cfg_attr(not(feature = "full"), allow(dead_code, reason = "only PostgreSQL uses a part of it"))]
mod read_set;
mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use kit::limit::{Limit, Permit};
use kit::metrics::Metrics;
use kit::postgres::{ConnectError, ServerOptions};
pub use kit::store::StoreError;

use crate::catalog::{Catalog, GoalIndex};
use crate::grant::Grant;
use crate::rules::{Activation, GoalRow, SelectRefusal, Selected, Selection, UserGoals};
use crate::user::UserId;
pub use claims::{ClaimEnd, ClaimFailure, ClaimFailureKind, ClaimIntent, ClaimStart, ClaimTerms, OpenClaims};
use command::{Command, EventReply, Reply};
pub use command::{EventOutcome, EventWrite, Initialized};
pub use event_key::EventKey;
use postgres::Postgres;
use sqlite::Sqlite;
pub use sqlite::{EventIdWindow, OpenError, SqliteOptions, Sync};

/// Longest wait for a commit. Past it the caller receives an error: the outcome is unknown.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub enum StoreOptions {
    Sqlite(SqliteOptions),
    /// PostgreSQL 15 or newer.
    Postgres(PostgresOptions),
}

/// Which database, and its options.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    pub server: ServerOptions,
    /// Connections that write, each for its partition of the users; at least 1. Fewer are used where that makes groups
    /// large enough to share their cost.
    pub writers: usize,
    /// Connections that read; at least 1.
    pub readers: usize,
    /// How long the first command of a group waits for others before the group is written.
    pub batch_delay: Duration,
    /// Event ids are remembered for at least this long.
    pub event_ids_for: Duration,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    #[error(transparent)]
    Sqlite(#[from] OpenError),
    #[error(transparent)]
    Postgres(#[from] ConnectError),
}

pub struct Store {
    backend: Backend,
    /// Players' writes that wait or are being written, also those whose callers have left.
    slots: Limit,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens the store and brings its schema up to date. At most `queue` players' writes wait for it, and as many reads.
    ///
    /// # Errors
    /// When the database cannot be used, or was written by a newer version.
    pub async fn open(
        options: &StoreOptions,
        queue: usize,
        catalog: Arc<Catalog>,
        metrics: &Metrics,
    ) -> Result<Self, StoreOpenError> {
        let slots = Limit::new(queue);
        let help = "Players' writes that wait for the store or are being written";
        metrics.watch("store_queue_depth", help, &slots);
        let backend = match options {
            StoreOptions::Sqlite(options) => Backend::Sqlite(Sqlite::open(options, catalog, metrics)?),
            StoreOptions::Postgres(options) => {
                Backend::Postgres(Postgres::open(options, Limit::new(queue), catalog, metrics).await?)
            }
        };
        Ok(Self { backend, slots })
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

    /// Open claims, those first that have waited the longest for their next attempt; at most a thousand.
    ///
    /// # Errors
    /// When the database fails or cannot be reached.
    pub async fn open_claims(&self, which: OpenClaims) -> Result<Vec<ClaimIntent>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.open_claims(which),
            Backend::Postgres(store) => store.open_claims(which).await,
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

    /// Applies an event; returns once it is durable. `slot` is free once it is written or refused.
    ///
    /// # Errors
    /// When the store is closed, slow, or fails.
    pub async fn event(&self, event: EventWrite, slot: Permit) -> Result<EventOutcome, StoreError> {
        self.submit(slot, |reply| Command::Event(event, EventReply::WhenDurable(reply))).await
    }

    /// Queues an event for the next group; writing it is retried until it succeeds, or the database rejects it.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn buffer_event(&self, event: EventWrite, slot: Permit) -> Result<(), StoreError> {
        self.send(Command::Event(event, EventReply::Sent(slot)))
    }

    /// Assigns the default goals that the user lacks.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn initialize(&self, user: UserId) -> Result<Initialized, StoreError> {
        self.submit_in_queue(|reply| Command::Initialize(user, reply)).await
    }

    /// Makes a goal active or inactive; returns its row.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn set_active(
        &self,
        user: UserId,
        goal: GoalIndex,
        activation: Activation,
    ) -> Result<GoalRow, StoreError> {
        self.submit_in_queue(|reply| Command::SetActive { user, goal, activation, reply }).await
    }

    /// Makes several goals of a challenge active; the inner result is that of the rules.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn select(
        &self,
        user: UserId,
        selection: Selection,
    ) -> Result<Result<Selected, SelectRefusal>, StoreError> {
        self.submit_in_queue(|reply| Command::Select { user, selection, reply }).await
    }

    /// Records that a reward is about to be granted, or returns the record of an unfinished claim.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn begin_claim(
        &self,
        user: UserId,
        goal: GoalIndex,
        terms: &Arc<ClaimTerms>,
    ) -> Result<ClaimStart, StoreError> {
        let terms = Arc::clone(terms);
        self.submit_in_queue(|reply| Command::BeginClaim { user, goal, terms, reply }).await
    }

    /// Records that an attempt at a claim failed.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn leave_claim(&self, intent: ClaimIntent, failure: ClaimFailure) -> Result<(), StoreError> {
        self.submit_in_queue(|reply| Command::LeaveClaim(intent, failure, reply)).await
    }

    /// Records that the reward was granted.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn end_claim(&self, intent: ClaimIntent) -> Result<ClaimEnd, StoreError> {
        self.submit_in_queue(|reply| Command::EndClaim(intent, reply)).await
    }

    /// Enters a grant into the ledger, once for each key.
    ///
    /// # Errors
    /// When the store is closed, full, slow, or fails.
    pub async fn enter_grant(&self, grant: Grant) -> Result<(), StoreError> {
        self.submit_in_queue(|reply| Command::EnterGrant(grant, reply)).await
    }

    async fn submit_in_queue<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, StoreError> {
        let slot = self.slots.enter().ok_or(StoreError::Full)?;
        self.submit(slot, command).await
    }

    /// The command keeps its slot until it is answered, also when this caller has left: then it is dropped, unless a
    /// writer has begun with it.
    async fn submit<T>(
        &self,
        slot: Permit,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, StoreError> {
        let (reply, outcome) = Reply::new(slot);
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
