//! The one thread that writes. It takes what has come in, runs it in one transaction, commits, then answers all.

use super::seen::Seen;
use super::{claims, rows};
use crate::catalog::Catalog;
use crate::store::StoreError;
use crate::store::batch::{self, Changes, Loaded};
use crate::store::command::{Command, EventKey};
use crate::store::counted::{Counted, Tally};
use crate::store::needs::{Complete, Held, Needs};
use crate::user::UserId;
use kit::clock::{SteadyClock, UtcMs};
use kit::metrics::Metrics;
use kit::sqlite::OpenError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Commands in one transaction at most: bounds what one failure takes with it, and how long the first one waits.
const MAX_GROUP: usize = 4_096;
/// Between a group that failed and the next attempt at the buffered events in it.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Attempts at what is still unwritten when the store is closed.
const LAST_ATTEMPTS: usize = 10;

/// What the thread is sent.
pub(super) enum Message {
    Command(Command),
    Close,
}

pub(super) struct Writer {
    connection: Connection,
    catalog: Arc<Catalog>,
    seen: Seen,
    /// Ids are forgotten by their age, which must not jump with the time of day.
    steady: SteadyClock,
    complete: Complete,
    linger: Duration,
    counted: Counted,
}

impl Writer {
    pub(super) fn new(
        (connection, seen): (Connection, Seen),
        catalog: Arc<Catalog>,
        linger: Duration,
        metrics: &Metrics,
    ) -> Self {
        let (complete, counted) = (Complete::default(), Counted::register(metrics));
        Self { connection, catalog, seen, steady: SteadyClock::start(), complete, linger, counted }
    }

    /// The channel is not bounded itself: what enters it holds a place in a limit of its caller.
    pub(super) fn start(mut self) -> Result<(Sender<Message>, JoinHandle<()>), OpenError> {
        let (sender, messages) = channel();
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let handle = thread
            .spawn(move || self.run(&messages))
            .map_err(|source| OpenError::File { path: "the writer's thread".to_owned(), source })?;
        Ok((sender, handle))
    }

    fn run(&mut self, messages: &Receiver<Message>) {
        let mut again = Vec::new();
        while let Some((group, is_last)) = self.gather(messages, again) {
            again = self.commit(group);
            if is_last {
                return self.finish(again);
            }
            if !again.is_empty() {
                std::thread::sleep(RETRY_PAUSE);
            }
        }
    }

    /// What failed before and what has come in since; `None` when nobody is left to send anything. The flag tells
    /// that the store is being closed.
    fn gather(&self, messages: &Receiver<Message>, again: Vec<Command>) -> Option<(Vec<Command>, bool)> {
        let is_first_attempt = again.is_empty();
        let mut group = again;
        let mut is_last = false;
        let mut take = |message| match message {
            Message::Command(command) => group.push(command),
            Message::Close => is_last = true,
        };
        if is_first_attempt {
            take(messages.recv().ok()?);
            if !self.linger.is_zero() {
                std::thread::sleep(self.linger);
            }
        }
        messages.try_iter().take(MAX_GROUP - 1).for_each(take);
        Some((group, is_last))
    }

    fn finish(&mut self, mut again: Vec<Command>) {
        for _attempt in 0..LAST_ATTEMPTS {
            if again.is_empty() {
                return;
            }
            std::thread::sleep(RETRY_PAUSE);
            again = self.commit(again);
        }
        if !again.is_empty() {
            tracing::error!(events = again.len(), "buffered events were lost: the store did not take them");
        }
    }

    /// Runs a group in one transaction and answers everyone; returns what must be tried again.
    fn commit(&mut self, group: Vec<Command>) -> Vec<Command> {
        if group.is_empty() {
            return group;
        }
        let began = (group.len(), Instant::now());
        let (now, seen_at) = (UtcMs::now(), self.steady.now());
        let loaded = match self.load(&group) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.counted.group(began, None);
                return batch::refuse(group, &failed(&error, began.0));
            }
        };
        let done = batch::run(&self.catalog, group, loaded, now);
        let written = self.write(&done.changes, (now, seen_at));
        self.counted.group(began, written.is_ok().then(|| Tally::of(&done)).as_ref());
        match written {
            Ok(()) => {
                let keys: Vec<EventKey> = done.changes.keys.iter().map(|(_, key)| *key).collect();
                self.seen.committed(&keys, seen_at);
                self.complete.remember(&done.complete);
                batch::answer(done.answers, None)
            }
            Err(error) => batch::answer(done.answers, Some(&failed(&error, began.0))),
        }
    }

    /// There is no other writer, so what is read before the transaction still holds inside it.
    fn load(&self, group: &[Command]) -> rusqlite::Result<Loaded> {
        let mut needs = Needs::of(group, &self.catalog, &self.complete);
        let mut loaded = Loaded { users: self.load_users(&mut needs)?, ..Loaded::default() };
        for claim in needs.claims {
            let recorded = claims::load(&self.connection, claim)?;
            loaded.claims.extend(recorded.into_iter().map(|recorded| (recorded.intent.key(), recorded)));
        }
        let keys = needs.keys.into_iter().map(|(_, key)| key);
        loaded.applied.extend(keys.filter(|key| self.seen.contains(*key)));
        Ok(loaded)
    }

    fn load_users(&self, needs: &mut Needs<'_>) -> rusqlite::Result<HashMap<UserId, Held>> {
        let (connection, catalog) = (&self.connection, &self.catalog);
        let mut found = HashMap::new();
        for part in needs.parts() {
            found.insert(part.0.clone(), rows::load_part(connection, catalog, part)?);
        }
        needs.widen(&found, catalog);
        for user in needs.whole() {
            found.insert(user.clone(), rows::load(connection, catalog, user)?);
        }
        Ok(needs.held(found))
    }

    /// All of the changes, or none.
    fn write(&self, changes: &Changes, (now, seen_at): (UtcMs, UtcMs)) -> rusqlite::Result<()> {
        let connection = &self.connection;
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        for (user, row) in &changes.rows {
            rows::save(connection, &self.catalog, (user, row))?;
        }
        self.seen.store(connection, &changes.keys, seen_at)?;
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
