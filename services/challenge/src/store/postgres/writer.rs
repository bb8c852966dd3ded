//! A writer: one task, one connection, one partition of the users. It collects the commands that have arrived, runs
//! them in one transaction, commits, then sends all replies. Two round trips a group, however many commands are in it.

use std::sync::Arc;
use std::time::Duration;

use kit::clock::UtcMs;
use kit::postgres::{Connector, Link, within};
use tokio::sync::mpsc::UnboundedReceiver;

use super::statements::WriterStatements;
use super::transaction::GroupTransaction;
use crate::catalog::Catalog;
use crate::store::StoreError;
use crate::store::batch::{self, GroupChanges, LoadedGroup};
use crate::store::command::Command;
use crate::store::group::{CommandGroup, WriterMessage};
use crate::store::metrics::{GroupCounts, GroupStart, StoreMetrics};
use crate::store::read_set::{CompleteUsers, ReadSet};

/// Commands in one transaction at most: bounds how many fail together, and how long the first one waits.
const MAX_GROUP: usize = 1_024;
/// Between a group that failed and the next attempt at the buffered events in it.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Attempts at what is still unwritten when the store is closed.
const LAST_ATTEMPTS: usize = 10;

pub(super) struct Writer {
    link: Link<WriterStatements>,
    catalog: Arc<Catalog>,
    complete: CompleteUsers,
    batch_delay: Duration,
    metrics: StoreMetrics,
}

impl Writer {
    pub(super) fn new(
        connector: &Connector,
        catalog: Arc<Catalog>,
        batch_delay: Duration,
        metrics: StoreMetrics,
    ) -> Self {
        let (link, complete) = (Link::new(connector.clone()), CompleteUsers::default());
        Self { link, catalog, complete, batch_delay, metrics }
    }

    /// Connects before the first group arrives.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// The channel itself is unbounded: each sender holds a slot of a limit.
    pub(super) async fn run(mut self, mut messages: UnboundedReceiver<WriterMessage>) {
        let mut retries = Vec::new();
        while let Some(group) = self.gather(&mut messages, retries).await {
            retries = self.commit(group.commands).await;
            if group.is_last {
                return self.finish(retries).await;
            }
            if !retries.is_empty() {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }

    /// The commands to be retried and those that have arrived since; `None` when every sender is gone.
    async fn gather(
        &self,
        messages: &mut UnboundedReceiver<WriterMessage>,
        retries: Vec<Command>,
    ) -> Option<CommandGroup> {
        let is_first_attempt = retries.is_empty();
        let mut group = CommandGroup::retrying(retries);
        let mut received = 0;
        if is_first_attempt {
            group.add(messages.recv().await?);
            received = 1;
            if !self.batch_delay.is_zero() {
                tokio::time::sleep(self.batch_delay).await;
            }
        }
        while received < MAX_GROUP
            && let Ok(message) = messages.try_recv()
        {
            group.add(message);
            received += 1;
        }
        Some(group)
    }

    async fn finish(&mut self, mut retries: Vec<Command>) {
        for _attempt in 0..LAST_ATTEMPTS {
            if retries.is_empty() {
                return;
            }
            tokio::time::sleep(RETRY_PAUSE).await;
            retries = self.commit(retries).await;
        }
        if !retries.is_empty() {
            tracing::error!(
                events = retries.len(),
                "buffered events were lost: the database did not accept them"
            );
        }
    }

    /// Runs a group in one transaction and sends every reply; returns the commands that must be retried.
    async fn commit(&mut self, group: Vec<Command>) -> Vec<Command> {
        if group.is_empty() {
            return group;
        }
        let start = GroupStart::now(group.len());
        let now = UtcMs::now();
        let loaded = match self.load(&group).await {
            Ok(loaded) => loaded,
            Err(error) => {
                self.metrics.record_group(start, None);
                tracing::error!(%error, commands = start.commands, "a group could not be begun");
                return batch::reject(group, &error);
            }
        };
        let outcome = batch::run(&self.catalog, group, loaded, now);
        let written = self.write(&outcome.changes, now).await;
        self.metrics.record_group(start, written.is_ok().then(|| GroupCounts::of(&outcome)).as_ref());
        match &written {
            Ok(()) => self.complete.remember(&outcome.complete),
            Err(error) => tracing::error!(%error, commands = start.commands, "a group was not committed"),
        }
        batch::send_replies(outcome.replies, written.err().as_ref())
    }

    /// Begins the transaction, locks the users, and reads. Nothing has been written yet, so when the connection broke
    /// while it was idle, all of it is repeated once on a new one.
    async fn load(&mut self, group: &[Command]) -> Result<LoadedGroup, StoreError> {
        let catalog = Arc::clone(&self.catalog);
        let mut read_set = ReadSet::of(group, &catalog, &self.complete);
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
            catalog: &self.catalog,
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
        let session = self.link.session().await?;
        let transaction = GroupTransaction {
            client: session.client(),
            statements: &session.statements,
            catalog: &self.catalog,
        };
        let outcome = within(patience, transaction.write(changes, now)).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }
}
