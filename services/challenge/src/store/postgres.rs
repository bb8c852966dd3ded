//! PostgreSQL: writers that each hold a part of the users and commit in groups, readers that ask for several users
//! at once, and a caretaker that looks whether the server is there.
//!
//! Any number of processes may share a database: whoever writes a user locks the user's row of `players` first.
//! Start at [`Postgres::open`].

#[cfg(feature = "faults")]
mod faults;
mod maintenance;
#[cfg(test)]
mod plans;
mod reader;
mod rows;
mod schema;
mod statements;
mod transaction;
mod types;
mod writer;

use super::StoreError;
use super::claims::{ClaimIntent, OnTheirWay};
use super::command::Command;
use super::counted::Counted;
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::user::UserId;
use kit::metrics::Metrics;
use kit::postgres::{ConnectError, Connector, ServerOptions, connect_with_retry};
use maintenance::Caretaker;
use reader::{Ask, Reader, Reads};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use writer::{Message, Writer};

/// Which database, and how it is used.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The server.
    pub server: ServerOptions,
    /// Connections that write, each for its part of the users; at least 1.
    pub writers: usize,
    /// Connections that read; at least 1.
    pub readers: usize,
    /// How long the first command of a group waits for others before the group is written.
    pub linger: Duration,
    /// Event ids are remembered for at least this long.
    pub event_ids_for: Duration,
}

/// A store in PostgreSQL.
pub(super) struct Postgres {
    writers: Vec<UnboundedSender<Message>>,
    readers: Vec<UnboundedSender<Ask>>,
    next_reader: AtomicUsize,
    caretaker: Arc<Caretaker>,
    writing: Mutex<JoinSet<()>>,
    /// Ends the tasks that only read when the store is gone.
    _others: JoinSet<()>,
}

impl Postgres {
    /// Connects, brings the schema up to date, and warms every connection up.
    pub(super) async fn open(
        options: &PostgresOptions,
        catalog: Arc<Catalog>,
        metrics: &Metrics,
    ) -> Result<Self, ConnectError> {
        let connector = Connector::new(&options.server)?;
        let first = connect_with_retry(&connector).await?;
        kit::postgres::migrate(&first, &options.server, &schema::MIGRATIONS).await?;
        drop(first);
        let not_warm =
            |error: StoreError| ConnectError::Refused { at: options.server.at(), why: error.to_string() };

        let counted = Counted::register(metrics);
        let mut writing = JoinSet::new();
        let mut writers = Vec::new();
        for _ in 0..options.writers.max(1) {
            let mut writer = Writer::new(&connector, Arc::clone(&catalog), options.linger, counted.clone());
            writer.warm_up().await.map_err(not_warm)?;
            let (sender, messages) = unbounded_channel();
            writing.spawn(writer.run(messages));
            writers.push(sender);
        }
        let reads = Reads::register(metrics);
        let mut others = JoinSet::new();
        let mut readers = Vec::new();
        for _ in 0..options.readers.max(1) {
            let mut reader = Reader::new(&connector, Arc::clone(&catalog), reads.clone());
            reader.warm_up().await.map_err(not_warm)?;
            let (sender, asks) = unbounded_channel();
            others.spawn(reader.run(asks));
            readers.push(sender);
        }
        let caretaker = Arc::new(Caretaker::new(&connector, options.event_ids_for));
        others.spawn(Arc::clone(&caretaker).run());
        let (next_reader, writing) = (AtomicUsize::new(0), Mutex::new(writing));
        Ok(Self { writers, readers, next_reader, caretaker, writing, _others: others })
    }

    pub(super) async fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        let (reply, answer) = oneshot::channel();
        let turn = self.next_reader.fetch_add(1, Ordering::Relaxed) % self.readers.len();
        let ask = Ask { user: user.clone(), since: Instant::now(), reply };
        self.readers[turn].send(ask).map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(super) async fn pending_claims(&self, but: OnTheirWay) -> Result<Vec<ClaimIntent>, StoreError> {
        self.caretaker.pending_claims(but).await
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        self.caretaker.last_seen()
    }

    /// A user's writes all go to one writer, so that they are written together and in order.
    pub(super) fn send(&self, command: Command) -> Result<(), StoreError> {
        let mut hasher = DefaultHasher::new();
        command.user().hash(&mut hasher);
        let part = hasher.finish() % self.writers.len() as u64;
        // The remainder is below a count of connections.
        let part = usize::try_from(part).unwrap_or_default();
        self.writers[part].send(Message::Command(command)).map_err(|_| StoreError::Closed)
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
