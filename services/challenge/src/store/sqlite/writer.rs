//! The one thread that writes. It collects the commands that have arrived, runs them in one transaction, commits, then
//! sends all replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use kit::clock::{SteadyClock, UtcMs};
use kit::metrics::Metrics;
use kit::sqlite::OpenError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::event_ids::RecentEventIds;
use super::{claims, rows};
use crate::catalog::Catalog;
use crate::store::StoreError;
use crate::store::batch::{self, GroupChanges, LoadedGroup};
use crate::store::command::Command;
use crate::store::group::{CommandGroup, WriterMessage};
use crate::store::metrics::{GroupCounts, GroupStart, StoreMetrics};
use crate::store::read_set::{CompleteUsers, LoadedGoals, ReadSet};
use crate::user::UserId;

/// Commands in one transaction at most: bounds how many fail together, and how long the first one waits.
const MAX_GROUP: usize = 4_096;
/// Between a group that failed and the next attempt at the buffered events in it.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Attempts at what is still unwritten when the store is closed.
const LAST_ATTEMPTS: usize = 10;

/// The writer's connection, and the event ids that its database contains.
pub(super) struct WriterDatabase {
    pub(super) connection: Connection,
    pub(super) event_ids: RecentEventIds,
}

/// The instants that a group is stamped with.
#[derive(Debug, Clone, Copy)]
struct GroupTimes {
    now: UtcMs,
    /// For event ids, by a clock that does not jump with the time of day.
    seen_at: UtcMs,
}

pub(super) struct Writer {
    connection: Connection,
    catalog: Arc<Catalog>,
    event_ids: RecentEventIds,
    /// Ids are forgotten by their age, which must not jump with the time of day.
    steady: SteadyClock,
    complete: CompleteUsers,
    batch_delay: Duration,
    metrics: StoreMetrics,
}

impl Writer {
    pub(super) fn new(
        database: WriterDatabase,
        catalog: Arc<Catalog>,
        batch_delay: Duration,
        metrics: &Metrics,
    ) -> Self {
        Self {
            connection: database.connection,
            catalog,
            event_ids: database.event_ids,
            steady: SteadyClock::start(),
            complete: CompleteUsers::default(),
            batch_delay,
            metrics: StoreMetrics::register(metrics),
        }
    }

    /// The channel itself is unbounded: each sender holds a slot of a limit.
    pub(super) fn start(mut self) -> Result<(Sender<WriterMessage>, JoinHandle<()>), OpenError> {
        let (sender, messages) = channel();
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let handle = thread
            .spawn(move || self.run(&messages))
            .map_err(|source| OpenError::File { path: "the writer's thread".to_owned(), source })?;
        Ok((sender, handle))
    }

    fn run(&mut self, messages: &Receiver<WriterMessage>) {
        let mut retries = Vec::new();
        while let Some(group) = self.gather(messages, retries) {
            retries = self.commit(group.commands);
            if group.is_last {
                return self.finish(retries);
            }
            if !retries.is_empty() {
                std::thread::sleep(RETRY_PAUSE);
            }
        }
    }

    /// The commands to be retried and those that have arrived since; `None` when every sender is gone.
    fn gather(&self, messages: &Receiver<WriterMessage>, retries: Vec<Command>) -> Option<CommandGroup> {
        let is_first_attempt = retries.is_empty();
        let mut group = CommandGroup::retrying(retries);
        if is_first_attempt {
            group.add(messages.recv().ok()?);
            if !self.batch_delay.is_zero() {
                std::thread::sleep(self.batch_delay);
            }
        }
        messages.try_iter().take(MAX_GROUP - 1).for_each(|message| group.add(message));
        Some(group)
    }

    fn finish(&mut self, mut retries: Vec<Command>) {
        for _attempt in 0..LAST_ATTEMPTS {
            if retries.is_empty() {
                return;
            }
            std::thread::sleep(RETRY_PAUSE);
            retries = self.commit(retries);
        }
        if !retries.is_empty() {
            tracing::error!(
                events = retries.len(),
                "buffered events were lost: the store did not accept them"
            );
        }
    }

    /// Runs a group in one transaction and sends every reply; returns the commands that must be retried.
    fn commit(&mut self, group: Vec<Command>) -> Vec<Command> {
        if group.is_empty() {
            return group;
        }
        let start = GroupStart::now(group.len());
        let times = GroupTimes { now: UtcMs::now(), seen_at: self.steady.now() };
        let loaded = match self.load(&group) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.metrics.record_group(start, None);
                return batch::reject(group, &failed(&error, start.commands));
            }
        };
        let outcome = batch::run(&self.catalog, group, loaded, times.now);
        let written = self.write(&outcome.changes, times);
        self.metrics.record_group(start, written.is_ok().then(|| GroupCounts::of(&outcome)).as_ref());
        match written {
            Ok(()) => {
                self.event_ids.committed(&outcome.changes.keys, times.seen_at);
                self.complete.remember(&outcome.complete);
                batch::send_replies(outcome.replies, None)
            }
            Err(error) => batch::send_replies(outcome.replies, Some(&failed(&error, start.commands))),
        }
    }

    /// There is no other writer, so what is read before the transaction still holds inside it.
    fn load(&self, group: &[Command]) -> rusqlite::Result<LoadedGroup> {
        let mut read_set = ReadSet::of(group, &self.catalog, &self.complete);
        let mut loaded = LoadedGroup { users: self.load_users(&mut read_set)?, ..LoadedGroup::default() };
        for claim in read_set.claims {
            let stored = claims::load(&self.connection, claim)?;
            loaded.claims.extend(stored.into_iter().map(|stored| (stored.intent.key(), stored)));
        }
        let keys = read_set.events.into_iter().map(|event| event.key);
        loaded.applied.extend(keys.filter(|key| self.event_ids.contains(*key)));
        Ok(loaded)
    }

    fn load_users(&self, read_set: &mut ReadSet<'_>) -> rusqlite::Result<HashMap<UserId, LoadedGoals>> {
        let (connection, catalog) = (&self.connection, &self.catalog);
        let mut found = HashMap::new();
        for part in read_set.parts() {
            found.insert(part.user.clone(), rows::load_part(connection, catalog, part)?);
        }
        read_set.widen(&found, catalog);
        for user in read_set.whole() {
            found.insert(user.clone(), rows::load(connection, catalog, user)?);
        }
        Ok(read_set.loaded(found))
    }

    /// Writes all of the changes, or none.
    fn write(&self, changes: &GroupChanges, times: GroupTimes) -> rusqlite::Result<()> {
        let (connection, now) = (&self.connection, times.now);
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        changes.rows.iter().try_for_each(|changed| rows::save(connection, &self.catalog, changed))?;
        self.event_ids.store(connection, &changes.keys, times.seen_at)?;
        changes.claims.iter().try_for_each(|claim| claims::save(connection, claim, now))?;
        changes.unlisted.iter().try_for_each(|intent| claims::mark_unlisted(connection, intent, now))?;
        changes.grants.iter().try_for_each(|grant| claims::enter(connection, grant, now))?;
        transaction.commit()
    }
}

fn failed(error: &rusqlite::Error, commands: usize) -> StoreError {
    tracing::error!(%error, commands, "a group was rolled back");
    StoreError::Failed(error.to_string().into())
}
