//! A writer: one task, one connection, one part of the writes. It takes what has come in, runs it in one transaction,
//! commits, makes the cache forget, then answers all. Two round trips a group, however many writes are in it.

use super::columns::save;
use super::rows;
use super::statements::Writing;
use crate::cache::Cache;
use crate::store::StoreError;
use crate::store::command::{Command, Decided, answer, decide, refuse};
use crate::store::counted::Counted;
use crate::write::{Held, Needs, OrderLine};
use kit::clock::UtcMs;
use kit::postgres::{Connector, Link, within};
use std::time::Instant;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

/// Writes in one transaction at most: bounds what one failure takes with it, and how long the first one waits.
const MAX_GROUP: usize = 256;

/// What a writer is sent.
pub(super) enum Message {
    Command(Box<Command>),
    Close,
}

pub(super) struct Writer {
    link: Link<Writing>,
    cache: Cache,
    counted: Counted,
}

impl Writer {
    pub(super) fn new(connector: &Connector, cache: Cache, counted: Counted) -> Self {
        Self { link: Link::new(connector.clone()), cache, counted }
    }

    /// Connects before there is anything to do.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// The channel is not bounded itself: what enters it holds a place in a limit of its caller.
    pub(super) async fn run(mut self, mut messages: UnboundedReceiver<Message>) {
        let mut taken = Vec::with_capacity(MAX_GROUP);
        while messages.recv_many(&mut taken, MAX_GROUP).await > 0 {
            let mut group = Vec::new();
            let mut is_last = false;
            for message in taken.drain(..) {
                match message {
                    Message::Command(command) => group.push(*command),
                    Message::Close => is_last = true,
                }
            }
            self.commit(group).await;
            if is_last {
                return;
            }
        }
    }

    /// Runs a group in one transaction and answers everyone. What the server refused as a whole is tried one by one,
    /// so that nobody is refused for what somebody else asked.
    async fn commit(&mut self, group: Vec<Command>) {
        let Some((group, error)) = self.attempt(group).await else { return };
        if group.len() == 1 || !matches!(error, StoreError::Failed(_)) {
            return refuse(group, &error);
        }
        for command in group {
            if let Some((one, error)) = self.attempt(vec![command]).await {
                refuse(one, &error);
            }
        }
    }

    /// The group and why, when nothing of it was done, or it is not known.
    async fn attempt(&mut self, group: Vec<Command>) -> Option<(Vec<Command>, StoreError)> {
        if group.is_empty() {
            return None;
        }
        let began = (group.len(), Instant::now());
        let now = UtcMs::now();
        let written = match self.load(&group).await {
            Ok(held) => {
                let decided = decide(&group, held, now);
                self.write(&decided, now).await.map(|()| decided)
            }
            Err(error) => Err(error),
        };
        match written {
            Ok(decided) => {
                self.counted.group(began, Some(&decided.changes));
                answer(group, decided.outcomes);
                None
            }
            Err(error) => {
                tracing::error!(%error, writes = began.0, "a group was not committed");
                self.counted.group(began, None);
                Some((group, error))
            }
        }
    }

    /// Begins the transaction, makes other writers of the rows wait, and reads. Nothing has been asked to be kept yet,
    /// so on a connection that broke while it was idle all of it is done once more on a new one.
    async fn load(&mut self, group: &[Command]) -> Result<Held, StoreError> {
        let needs = Needs::of(group.iter().map(|command| &command.write));
        match self.load_once(&needs).await {
            Err(StoreError::Unreachable(_)) => self.load_once(&needs).await,
            outcome => outcome,
        }
    }

    async fn load_once(&mut self, needs: &Needs) -> Result<Held, StoreError> {
        let patience = self.link.answer_timeout();
        let session = self.link.session().await?;
        let outcome = within(patience, load(session.client(), &session.statements, needs)).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }

    /// Writes and commits. When this fails with the connection, what became of it is unknown.
    async fn write(&mut self, decided: &Decided, now: UtcMs) -> Result<(), StoreError> {
        let changes = &decided.changes;
        let patience = self.link.answer_timeout();
        let closing = self.cache.close(&changes.touched).await;
        let session = self.link.session().await?;
        let client = session.client();
        let work = async {
            if closing.needs_generation() {
                client.execute(&session.statements.new_generation, &[]).await?;
            }
            save(client, &session.statements, (changes, now), "COMMIT").await
        };
        let outcome = within(patience, work).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome?;
        self.reopen(closing).await
    }

    /// What was touched is forgotten everywhere when this returns.
    async fn reopen(&mut self, closing: crate::cache::Closing) -> Result<(), StoreError> {
        if self.cache.open(&closing).await {
            return Ok(());
        }
        if !closing.needs_generation() {
            let patience = self.link.answer_timeout();
            let session = self.link.session().await?;
            let renewed = session.client().execute(&session.statements.new_generation, &[]);
            let outcome = within(patience, renewed).await;
            if let Err(error) = &outcome {
                self.link.recover(error).await;
            }
            outcome?;
        }
        crate::cache::until_nobody_believes().await;
        Ok(())
    }
}

/// All of it is sent at once. Marks and orders are read after the rows are locked, each by a statement of its own that
/// sees what was committed before.
async fn load(client: &Client, statements: &Writing, needs: &Needs) -> Result<Held, Error> {
    let ids: Vec<i64> = needs.listings.iter().copied().collect();
    let (users, listings): (Vec<i64>, Vec<i64>) = needs.marks.iter().copied().unzip();
    let orders: Vec<&str> = needs.orders.iter().map(String::as_str).collect();
    let (new, new_images) = (needs.new_listings as i64, needs.new_images as i64);
    let (is_none, no_marks, no_orders) = (ids.is_empty(), users.is_empty(), orders.is_empty());
    let by_id: Parameters<'_, 1> = [&ids];
    let by_mark: Parameters<'_, 2> = [&users, &listings];
    let by_order: Parameters<'_, 1> = [&orders];
    let counts: [Parameters<'_, 1>; 2] = [[&new], [&new_images]];
    let lock = &statements.lock;
    #[cfg(feature = "faults")]
    let lock = if is_none { lock } else { super::faults::read(statements) };
    let (_, rows, images, marks, lines, new_ids, new_image_ids) = tokio::try_join!(
        biased;
        client.batch_execute("BEGIN"),
        unless(is_none, client.query(lock, &by_id)),
        unless(is_none, client.query(&statements.images, &by_id)),
        unless(no_marks, client.query(&statements.marks, &by_mark)),
        unless(no_orders, client.query(&statements.orders, &by_order)),
        unless(new == 0, client.query(&statements.new_ids, &counts[0])),
        unless(new_images == 0, client.query(&statements.new_image_ids, &counts[1])),
    )?;
    let id = |row: &Row| row.try_get::<_, i64>(0);
    let new_ids = new_ids.iter().map(id).collect::<Result<_, _>>()?;
    let new_image_ids = new_image_ids.iter().map(id).collect::<Result<_, _>>()?;
    let mut held = Held::new(rows::listings(&rows, &images)?, new_ids, new_image_ids);
    for row in &marks {
        held.add_mark((row.try_get(0)?, row.try_get(1)?));
    }
    for row in &lines {
        let stock = (row.try_get(3)?, row.try_get(4)?);
        let line = OrderLine { quantity: row.try_get(2)?, stock, is_returned: row.try_get(5)? };
        held.add_order_line(row.try_get(0)?, (row.try_get(1)?, line));
    }
    Ok(held)
}

type Parameters<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

/// What nobody needs is not asked for.
async fn unless(
    is_idle: bool,
    asked: impl Future<Output = Result<Vec<Row>, Error>>,
) -> Result<Vec<Row>, Error> {
    if is_idle { Ok(Vec::new()) } else { asked.await }
}
