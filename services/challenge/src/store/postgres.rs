//! PostgreSQL: writers that each commit the commands of a partition of the users in groups, readers that read several
//! users at once, and a maintenance task that checks whether the server answers.
//!
//! Any number of processes may share a database: a write first locks its user's row of `players`.
//! Start at [`Postgres::open`].

#[cfg(feature = "faults")]
mod faults;
mod maintenance;
mod partitions;
#[cfg(test)]
mod plans;
mod reader;
mod rows;
mod schema;
mod statements;
mod transaction;
mod types;
mod writer;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kit::group_commit::{GroupCommit, GroupMetrics, GroupQueue};
use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::postgres::{ConnectError, Connector, connect_with_retry};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::claims::{ClaimIntent, OpenClaims};
use super::command::Command;
use super::metrics::StoreMetrics;
use super::read_set::CompleteUsers;
use super::{PostgresOptions, StoreError};
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::user::UserId;
use maintenance::MaintenanceTask;
use partitions::Partitions;
use reader::{ReadMetrics, ReadRequest, Reader};
use writer::Writer;

pub(super) struct Postgres {
    writers: Vec<GroupQueue<Command>>,
    partitions: Arc<Partitions>,
    readers: Vec<UnboundedSender<ReadRequest>>,
    next_reader: AtomicUsize,
    /// Reads that wait or are carried out, also those whose callers have left.
    reads: Limit,
    maintenance: Arc<MaintenanceTask>,
    writer_tasks: Mutex<JoinSet<()>>,
    /// Ends the tasks that only read when the store is dropped.
    _other_tasks: JoinSet<()>,
}

impl Postgres {
    /// Connects, brings the schema up to date, and opens every connection.
    pub(super) async fn open(
        options: &PostgresOptions,
        reads: Limit,
        catalog: Arc<Catalog>,
        metrics: &Metrics,
    ) -> Result<Self, ConnectError> {
        let connector = Connector::new(&options.server)?;
        let first = connect_with_retry(&connector).await?;
        kit::postgres::migrate(&first, &options.server, &schema::MIGRATIONS).await?;
        drop(first);
        let not_warm =
            |error: StoreError| ConnectError::Refused { at: options.server.at(), why: error.to_string() };

        let (store_metrics, group_metrics) =
            (StoreMetrics::register(metrics), GroupMetrics::register(metrics, "store"));
        let partitions = Arc::new(Partitions::new(options.writers));
        let complete = Arc::new(Mutex::new(CompleteUsers::default()));
        let mut writer_tasks = JoinSet::new();
        let mut writers = Vec::new();
        for _ in 0..options.writers.max(1) {
            let shared = writer::Shared {
                catalog: Arc::clone(&catalog),
                complete: Arc::clone(&complete),
                partitions: Arc::clone(&partitions),
                metrics: store_metrics.clone(),
            };
            let mut writer = Writer::new(&connector, shared);
            writer.warm_up().await.map_err(not_warm)?;
            let grouping = writer::group_options(options.batch_delay);
            let (queue, writer) = GroupCommit::new(writer, grouping, group_metrics.clone());
            writer_tasks.spawn(writer.run());
            writers.push(queue);
        }
        let read_metrics = ReadMetrics::register(metrics);
        let mut other_tasks = JoinSet::new();
        let mut readers = Vec::new();
        for _ in 0..options.readers.max(1) {
            let mut reader = Reader::new(&connector, Arc::clone(&catalog), read_metrics.clone());
            reader.warm_up().await.map_err(not_warm)?;
            let (sender, requests) = unbounded_channel();
            other_tasks.spawn(reader.run(requests));
            readers.push(sender);
        }
        let maintenance = Arc::new(MaintenanceTask::new(&connector, options.event_ids_for));
        other_tasks.spawn(Arc::clone(&maintenance).run());
        let (next_reader, writer_tasks) = (AtomicUsize::new(0), Mutex::new(writer_tasks));
        Ok(Self {
            writers,
            partitions,
            readers,
            next_reader,
            reads,
            maintenance,
            writer_tasks,
            _other_tasks: other_tasks,
        })
    }

    pub(super) async fn user(&self, user: &UserId) -> Result<UserGoals, StoreError> {
        let slot = self.reads.enter().ok_or(StoreError::Full)?;
        let (reply, outcome) = oneshot::channel();
        let next = self.next_reader.fetch_add(1, Ordering::Relaxed) % self.readers.len();
        let request = ReadRequest { user: user.clone(), since: Instant::now(), slot, reply };
        self.readers[next].send(request).map_err(|_| StoreError::Closed)?;
        outcome.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(super) async fn open_claims(&self, which: OpenClaims) -> Result<Vec<ClaimIntent>, StoreError> {
        self.maintenance.open_claims(which).await
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        self.maintenance.last_check()
    }

    /// A user's writes go to one writer, so that they are written together; to another where the partitions have changed.
    pub(super) fn send(&self, command: Command) -> Result<(), StoreError> {
        let mut hasher = DefaultHasher::new();
        command.user().hash(&mut hasher);
        let writer = &self.writers[self.partitions.of(hasher.finish())];
        self.partitions.found_waiting(writer.waiting());
        writer.send(command).map_err(|_| StoreError::Closed)
    }

    pub(super) async fn close(&self) {
        for writer in &self.writers {
            writer.close();
        }
        let mut tasks =
            std::mem::take(&mut *self.writer_tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a writer of the store panicked");
            }
        }
    }
}
