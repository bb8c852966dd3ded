//! A writer: one task, one connection, one part of the users. It takes what has come in, runs it in one transaction,
//! commits, then answers all. Two round trips a group, however many commands are in it.

use super::statements::Writing;
use super::transaction::{load, write};
use crate::catalog::Catalog;
use crate::store::StoreError;
use crate::store::batch::{self, Changes, Loaded};
use crate::store::command::Command;
use crate::store::counted::{Counted, Tally};
use crate::store::needs::{Complete, Needs};
use kit::clock::UtcMs;
use kit::postgres::{Connector, Link, within};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// Commands in one transaction at most: bounds what one failure takes with it, and how long the first one waits.
const MAX_GROUP: usize = 1_024;
/// Between a group that failed and the next attempt at the buffered events in it.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Attempts at what is still unwritten when the store is closed.
const LAST_ATTEMPTS: usize = 10;

/// What a writer is sent.
pub(super) enum Message {
    Command(Command),
    Close,
}

pub(super) struct Writer {
    link: Link<Writing>,
    catalog: Arc<Catalog>,
    complete: Complete,
    linger: Duration,
    counted: Counted,
}

impl Writer {
    pub(super) fn new(
        connector: &Connector,
        catalog: Arc<Catalog>,
        linger: Duration,
        counted: Counted,
    ) -> Self {
        Self { link: Link::new(connector.clone()), catalog, complete: Complete::default(), linger, counted }
    }

    /// Connects before there is anything to do.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// The channel is not bounded itself: what enters it holds a place in a limit of its caller.
    pub(super) async fn run(mut self, mut messages: UnboundedReceiver<Message>) {
        let mut again = Vec::new();
        while let Some((group, is_last)) = self.gather(&mut messages, again).await {
            again = self.commit(group).await;
            if is_last {
                return self.finish(again).await;
            }
            if !again.is_empty() {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }

    /// What failed before and what has come in since; `None` when nobody is left to send anything. The flag tells
    /// that the store is being closed.
    async fn gather(
        &self,
        messages: &mut UnboundedReceiver<Message>,
        again: Vec<Command>,
    ) -> Option<(Vec<Command>, bool)> {
        let is_first_attempt = again.is_empty();
        let mut group = again;
        let mut is_last = false;
        let mut take = |message| match message {
            Message::Command(command) => group.push(command),
            Message::Close => is_last = true,
        };
        let mut taken = 0;
        if is_first_attempt {
            take(messages.recv().await?);
            taken = 1;
            if !self.linger.is_zero() {
                tokio::time::sleep(self.linger).await;
            }
        }
        while taken < MAX_GROUP
            && let Ok(message) = messages.try_recv()
        {
            take(message);
            taken += 1;
        }
        Some((group, is_last))
    }

    async fn finish(&mut self, mut again: Vec<Command>) {
        for _attempt in 0..LAST_ATTEMPTS {
            if again.is_empty() {
                return;
            }
            tokio::time::sleep(RETRY_PAUSE).await;
            again = self.commit(again).await;
        }
        if !again.is_empty() {
            tracing::error!(
                events = again.len(),
                "buffered events were lost: the database did not take them"
            );
        }
    }

    /// Runs a group in one transaction and answers everyone; returns what must be tried again.
    async fn commit(&mut self, group: Vec<Command>) -> Vec<Command> {
        if group.is_empty() {
            return group;
        }
        let began = (group.len(), std::time::Instant::now());
        let now = UtcMs::now();
        let loaded = match self.load(&group).await {
            Ok(loaded) => loaded,
            Err(error) => {
                self.counted.group(began, None);
                tracing::error!(%error, commands = began.0, "a group could not be begun");
                return batch::refuse(group, &error);
            }
        };
        let done = batch::run(&self.catalog, group, loaded, now);
        let written = self.write(&done.changes, now).await;
        self.counted.group(began, written.is_ok().then(|| Tally::of(&done)).as_ref());
        match &written {
            Ok(()) => self.complete.remember(&done.complete),
            Err(error) => tracing::error!(%error, commands = began.0, "a group was not committed"),
        }
        batch::answer(done.answers, written.err().as_ref())
    }

    /// Begins the transaction, makes the users' other writers wait, and reads. Nothing has been asked to be kept
    /// yet, so on a connection that broke while it was idle all of it is done once more on a new one.
    async fn load(&mut self, group: &[Command]) -> Result<Loaded, StoreError> {
        let catalog = Arc::clone(&self.catalog);
        let mut needs = Needs::of(group, &catalog, &self.complete);
        match self.load_once(&mut needs).await {
            Err(StoreError::Unreachable(_)) => self.load_once(&mut needs).await,
            outcome => outcome,
        }
    }

    async fn load_once(&mut self, needs: &mut Needs<'_>) -> Result<Loaded, StoreError> {
        let patience = self.link.answer_timeout();
        let session = self.link.session().await?;
        let reading = load(session.client(), &session.statements, (needs, &self.catalog));
        let outcome = within(patience, reading).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }

    /// Writes and commits. When this fails with the connection, what became of it is unknown.
    async fn write(&mut self, changes: &Changes, now: UtcMs) -> Result<(), StoreError> {
        let patience = self.link.answer_timeout();
        let session = self.link.session().await?;
        let writing = write(session.client(), &session.statements, (changes, &self.catalog), now);
        let outcome = within(patience, writing).await;
        if let Err(error) = &outcome {
            self.link.recover(error).await;
        }
        outcome
    }
}
