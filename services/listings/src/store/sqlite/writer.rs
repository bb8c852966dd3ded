//! The one thread that writes. It takes what has come in, runs it in one transaction, commits, makes the cache forget,
//! then answers all.

use super::{rows, save};
use crate::cache::Cache;
use crate::store::StoreError;
use crate::store::command::{Command, answer, decide, refuse};
use crate::store::counted::Counted;
use crate::write::{Changes, Held, Needs};
use kit::clock::UtcMs;
use kit::sqlite::OpenError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Writes in one transaction at most: bounds what one failure takes with it, and how long the first one waits.
const MAX_GROUP: usize = 2_048;

/// What the thread is sent.
pub(super) enum Message {
    Command(Box<Command>),
    Close,
}

pub(super) struct Writer {
    connection: Connection,
    cache: Cache,
    counted: Counted,
    /// The last ids that were given to a listing and to an image.
    last: (i64, i64),
}

impl Writer {
    pub(super) fn new(connection: Connection, cache: Cache, counted: Counted) -> Result<Self, OpenError> {
        let last = |table: &str| {
            let text = format!("SELECT coalesce(max(id), 0) FROM {table}");
            connection.query_row(&text, [], |row| row.get(0))
        };
        let last = (last("listings")?, last("listing_images")?);
        Ok(Self { connection, cache, counted, last })
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
        while let Ok(first) = messages.recv() {
            let mut group = Vec::new();
            let mut is_last = false;
            let mut take = |message| match message {
                Message::Command(command) => group.push(*command),
                Message::Close => is_last = true,
            };
            take(first);
            messages.try_iter().take(MAX_GROUP - 1).for_each(take);
            self.commit(group);
            if is_last {
                return;
            }
        }
    }

    /// Runs a group in one transaction and answers everyone.
    fn commit(&mut self, group: Vec<Command>) {
        if group.is_empty() {
            return;
        }
        let began = (group.len(), Instant::now());
        let now = UtcMs::now();
        let held = match self.load(&group) {
            Ok(held) => held,
            Err(error) => return self.fail(group, (&error, began)),
        };
        let decided = decide(&group, held, now);
        if decided.changes.is_empty() {
            return answer(group, decided.outcomes);
        }
        match self.write(&decided.changes, now) {
            Ok(()) => {
                self.cache.forget_here(&decided.changes.touched);
                self.counted.group(began, Some(&decided.changes));
                answer(group, decided.outcomes);
            }
            Err(error) => self.fail(group, (&error, began)),
        }
    }

    fn fail(&self, group: Vec<Command>, (error, began): (&rusqlite::Error, (usize, Instant))) {
        tracing::error!(%error, writes = began.0, "a group was rolled back");
        self.counted.group(began, None);
        refuse(group, &StoreError::Failed(error.to_string().into()));
    }

    /// There is no other writer, so what is read before the transaction still holds inside it.
    fn load(&mut self, group: &[Command]) -> rusqlite::Result<Held> {
        let needs = Needs::of(group.iter().map(|command| &command.write));
        let ids: Vec<i64> = needs.listings.iter().copied().collect();
        let new = |last: &mut i64, count: usize| {
            let first = *last + 1;
            *last += count as i64;
            (first..=*last).collect()
        };
        let new_ids = new(&mut self.last.0, needs.new_listings);
        let new_image_ids = new(&mut self.last.1, needs.new_images);
        let mut held = Held::new(rows::listings(&self.connection, &ids)?, new_ids, new_image_ids);
        for mark in needs.marks {
            if rows::is_favorite(&self.connection, mark.0, mark.1)? {
                held.add_mark(mark);
            }
        }
        for order in needs.orders {
            for line in rows::order(&self.connection, &order)? {
                held.add_order_line(order.clone(), line);
            }
        }
        Ok(held)
    }

    /// All of the changes, or none.
    fn write(&self, changes: &Changes, now: UtcMs) -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        save::save(&self.connection, changes, now)?;
        transaction.commit()
    }
}
