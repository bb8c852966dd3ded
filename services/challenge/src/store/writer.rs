//! The one thread that writes. It takes what has come in, runs it in one transaction, commits, then answers all.

use super::StoreError;
use super::batch::{Answer, Batch, Written};
use super::command::Command;
use super::schema::OpenError;
use super::seen::Seen;
use crate::catalog::Catalog;
use kit::clock::UtcMs;
use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Commands in one transaction at most: bounds what one failure takes with it, and how long the first one waits.
const MAX_GROUP: usize = 4_096;
/// Upper bounds of the group-size histogram.
const GROUP_BOUNDS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 2048.0, 4096.0];

struct Counted {
    group_commands: Histogram,
    commit_seconds: Histogram,
    events_written: Counter,
    events_duplicate: Counter,
}

impl Counted {
    fn register(metrics: &Metrics) -> Self {
        let counted = Self {
            group_commands: Histogram::new(GROUP_BOUNDS),
            commit_seconds: seconds_histogram(),
            events_written: Counter::default(),
            events_duplicate: Counter::default(),
        };
        metrics.register(|registry| {
            let group = counted.group_commands.clone();
            registry.register("store_group_commands", "Commands committed together", group);
            let commit = counted.commit_seconds.clone();
            registry.register("store_commit_seconds", "Time of one transaction, commit included", commit);
            let written = counted.events_written.clone();
            registry.register("events_with_id_written", "Events with an id whose effect is durable", written);
            let duplicate = counted.events_duplicate.clone();
            registry.register("events_duplicate", "Events recognised as delivered before", duplicate);
        });
        counted
    }
}

pub(super) struct Writer {
    connection: Connection,
    catalog: Arc<Catalog>,
    seen: Seen,
    linger: Duration,
}

impl Writer {
    pub(super) fn new(connection: Connection, catalog: Arc<Catalog>, seen: Seen, linger: Duration) -> Self {
        Self { connection, catalog, seen, linger }
    }

    /// The channel is not bounded itself: what enters it holds a place in a limit of its caller.
    pub(super) fn start(mut self, metrics: &Metrics) -> Result<(Sender<Command>, JoinHandle<()>), OpenError> {
        let counted = Counted::register(metrics);
        let (sender, commands) = channel();
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let handle = thread
            .spawn(move || self.run(&commands, &counted))
            .map_err(|source| OpenError::File { path: "the writer's thread".to_owned(), source })?;
        Ok((sender, handle))
    }

    fn run(&mut self, commands: &Receiver<Command>, counted: &Counted) {
        while let Ok(first) = commands.recv() {
            if !self.linger.is_zero() {
                std::thread::sleep(self.linger);
            }
            let mut group = vec![first];
            group.extend(commands.try_iter().take(MAX_GROUP - 1));
            let is_last = group.iter().any(|command| matches!(command, Command::Close));
            self.commit(group, counted);
            if is_last {
                return;
            }
        }
    }

    fn commit(&mut self, group: Vec<Command>, counted: &Counted) {
        let started = Instant::now();
        let now = UtcMs::now();
        counted.group_commands.observe(group.len() as f64);
        let (answers, failure) = match transaction(&self.connection, (&self.catalog, &self.seen), group, now)
        {
            Ok(written) => {
                self.seen.committed(&written.keys, now);
                counted.events_written.inc_by(written.keys.len() as u64);
                counted.events_duplicate.inc_by(written.duplicates);
                (written.answers, None)
            }
            Err((error, answers)) => {
                tracing::error!(%error, commands = answers.len(), "a group was rolled back");
                (answers, Some(StoreError::from(error)))
            }
        };
        counted.commit_seconds.observe(started.elapsed().as_secs_f64());
        for answer in answers {
            answer(failure.as_ref());
        }
    }
}

/// Runs a group in one transaction. On failure nothing of it is kept, and whoever had been run is told so.
fn transaction(
    connection: &Connection,
    (catalog, seen): (&Catalog, &Seen),
    group: Vec<Command>,
    now: UtcMs,
) -> Result<Written, (rusqlite::Error, Vec<Answer>)> {
    let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let transaction = begun.map_err(|error| (error, Vec::new()))?;
    let mut batch = Batch::new(connection, catalog, seen, now);
    for command in group {
        if let Err(error) = batch.run(command) {
            return Err((error, batch.into_answers()));
        }
    }
    let written = batch.write()?;
    match transaction.commit() {
        Ok(()) => Ok(written),
        Err(error) => Err((error, written.answers)),
    }
}
