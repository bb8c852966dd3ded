//! A writer: one task, one connection, one partition of the users. It collects the commands that have arrived, runs
//! them in one transaction, commits, then sends all replies. Two round trips a group, however many commands are in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kit::clock::UtcMs;
use kit::group_commit::{FailedGroup, GroupOptions, GroupWriter};
use kit::postgres::{Connector, Link, within};

use super::partitions::Partitions;
use super::statements::WriterStatements;
use super::transaction::GroupTransaction;
use crate::catalog::Catalog;
use crate::store::StoreError;
use crate::store::batch::{self, GroupChanges, LoadedGroup};
use crate::store::command::Command;
use crate::store::metrics::StoreMetrics;
use crate::store::read_set::{CompleteUsers, ReadSet};

/// Commands in one transaction at most: bounds how many fail together, and how long the first one waits.
const MAX_GROUP: usize = 1_024;
/// Between two attempts at buffered events.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Attempts at what is still unwritten when the store is closed.
const LAST_ATTEMPTS: u32 = 10;

pub(super) struct Writer {
    link: Link<WriterStatements>,
    shared: Shared,
}

/// What the writers of a store share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) catalog: Arc<Catalog>,
    pub(super) complete: Arc<Mutex<CompleteUsers>>,
    pub(super) partitions: Arc<Partitions>,
    pub(super) metrics: StoreMetrics,
}

impl Shared {
    fn complete(&self) -> MutexGuard<'_, CompleteUsers> {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a writer forms groups.
pub(super) fn group_options(batching_delay: Duration) -> GroupOptions {
    GroupOptions {
        max_weight: MAX_GROUP,
        batching_delay,
        retry_pause: RETRY_PAUSE,
        last_attempts: LAST_ATTEMPTS,
    }
}

impl Writer {
    pub(super) fn new(connector: &Connector, shared: Shared) -> Self {
        Self { link: Link::new(connector.clone()), shared }
    }

    /// Connects before the first group arrives.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// Runs a group in one transaction.
    async fn transact(&mut self, group: &mut [Command]) -> Result<(), StoreError> {
        let now = UtcMs::now();
        let loaded = self.load(group).await?;
        let outcome = batch::run(&self.shared.catalog, group, loaded, now);
        self.write(&outcome.changes, now).await?;
        self.shared.metrics.count(&outcome);
        self.shared.complete().remember(&outcome.complete);
        Ok(())
    }

    /// Begins the transaction, locks the users, and reads. Nothing has been written yet, so when the connection broke
    /// while it was idle, all of it is repeated once on a new one.
    async fn load(&mut self, group: &[Command]) -> Result<LoadedGroup, StoreError> {
        let catalog = Arc::clone(&self.shared.catalog);
        let mut read_set = ReadSet::collect(group, &catalog, &self.shared.complete());
        match self.load_once(&mut read_set).await {
            Err(StoreError::Unreachable(_)) => self.load_once(&mut read_set).await,
            outcome => outcome,
        }
    }

    async fn load_once(&mut self, read_set: &mut ReadSet<'_>) -> Result<LoadedGroup, StoreError> {
        let patience = self.link.answer_timeout();
        let session = self.link.session().await?;
        let transaction = GroupTransaction {
            client: session.client(),
            statements: &session.statements,
            catalog: &self.shared.catalog,
        };
        let outcome = within(patience, transaction.load(read_set)).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }

    /// Writes and commits. When the connection breaks meanwhile, it is unknown whether the group was committed.
    async fn write(&mut self, changes: &GroupChanges, now: UtcMs) -> Result<(), StoreError> {
        let patience = self.link.answer_timeout();
        let session = self.link.same_session()?;
        let transaction = GroupTransaction {
            client: session.client(),
            statements: &session.statements,
            catalog: &self.shared.catalog,
        };
        let outcome = within(patience, transaction.write(changes, now)).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }
}

impl GroupWriter for Writer {
    type Command = Command;

    async fn commit(&mut self, mut group: Vec<Command>) -> Result<(), FailedGroup<Command>> {
        self.shared.partitions.begun(group.len());
        match self.transact(&mut group).await {
            Ok(()) => {
                group.into_iter().for_each(Command::succeed);
                Ok(())
            }
            Err(error) => Err(FailedGroup { commands: group, error }),
        }
    }
}
