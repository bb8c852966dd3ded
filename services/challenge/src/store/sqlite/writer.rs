//! The one thread that writes. It collects the commands that have arrived, runs them in one transaction, commits, then
//! sends all replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use kit::clock::{SteadyClock, UtcMs};
use kit::group_commit::{FailedGroup, GroupCommit, GroupMetrics, GroupOptions, GroupQueue, GroupWriter};
use kit::metrics::Metrics;
use kit::sqlite::OpenError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::event_ids::RecentEventIds;
use super::{claims, rows};
use crate::catalog::Catalog;
use crate::store::batch::{self, GroupChanges, LoadedGroup};
use crate::store::command::Command;
use crate::store::metrics::StoreMetrics;
use crate::store::read_set::{CompleteUsers, LoadedGoals, ReadSet};
use crate::user::UserId;

/// Commands in one transaction at most: bounds how many fail together, and how long the first one waits.
const MAX_GROUP: usize = 4_096;
/// Between two attempts at buffered events.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Attempts at what is still unwritten when the store is closed.
const LAST_ATTEMPTS: u32 = 10;

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
    metrics: StoreMetrics,
}

impl Writer {
    pub(super) fn new(database: WriterDatabase, catalog: Arc<Catalog>, metrics: &Metrics) -> Self {
        Self {
            connection: database.connection,
            catalog,
            event_ids: database.event_ids,
            steady: SteadyClock::start(),
            complete: CompleteUsers::default(),
            metrics: StoreMetrics::register(metrics),
        }
    }

    pub(super) fn start(
        self,
        batching_delay: Duration,
        metrics: &Metrics,
    ) -> Result<(GroupQueue<Command>, JoinHandle<()>), OpenError> {
        let options = GroupOptions {
            max_weight: MAX_GROUP,
            batching_delay,
            retry_pause: RETRY_PAUSE,
            last_attempts: LAST_ATTEMPTS,
        };
        let (queue, writer) = GroupCommit::new(self, options, GroupMetrics::register(metrics, "store"));
        let no_thread = |source| OpenError::File { path: "the writer's thread".to_owned(), source };
        Ok((queue, writer.run_on_thread("store-writer").map_err(no_thread)?))
    }

    /// Runs a group in one transaction.
    fn transact(&mut self, group: &mut [Command]) -> rusqlite::Result<()> {
        let times = GroupTimes { now: UtcMs::now(), seen_at: self.steady.now() };
        let loaded = self.load(group)?;
        let outcome = batch::run(&self.catalog, group, loaded, times.now);
        self.write(&outcome.changes, times)?;
        self.metrics.count(&outcome);
        self.event_ids.committed(&outcome.changes.keys, times.seen_at);
        self.complete.remember(&outcome.complete);
        Ok(())
    }

    /// There is no other writer, so what is read before the transaction still holds inside it.
    fn load(&self, group: &[Command]) -> rusqlite::Result<LoadedGroup> {
        let mut read_set = ReadSet::collect(group, &self.catalog, &self.complete);
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
        changes.claims.iter().try_for_each(|claim| claims::save(connection, claim))?;
        changes.unlisted.iter().try_for_each(|intent| claims::mark_unlisted(connection, intent, now))?;
        changes.grants.iter().try_for_each(|grant| claims::enter(connection, grant, now))?;
        transaction.commit()
    }
}

impl GroupWriter for Writer {
    type Command = Command;

    async fn commit(&mut self, mut group: Vec<Command>) -> Result<(), FailedGroup<Command>> {
        match self.transact(&mut group) {
            Ok(()) => {
                group.into_iter().for_each(Command::succeed);
                Ok(())
            }
            Err(error) => Err(FailedGroup { commands: group, error: error.into() }),
        }
    }
}
