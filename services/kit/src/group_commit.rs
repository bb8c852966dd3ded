//! Group commit: a writer collects the commands that have arrived and commits them as one group, so that they share its
//! cost.
//!
//! A group that failed because of what one command writes is halved until that command is alone: it ends with its error,
//! the others are committed. A command that was acknowledged before it was committed is tried again, apart from those
//! that arrive meanwhile, until it is committed or the writer is closed.
//!
//! A service describes its commands ([`GroupedCommand`]) and how a group of them is committed ([`GroupWriter`]).
//! [`GroupCommit::run`] is the writer as a task, [`GroupCommit::run_on_thread`] for one that blocks.

mod metrics;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::logs::RepeatedFailure;
pub use metrics::GroupMetrics;

/// A command that waits to be committed. It holds a slot of a limit until it is answered: the queue itself has no bound.
pub trait GroupedCommand: Send + 'static {
    /// Why a group was not committed.
    type Error: GroupError;

    /// Its part of [`GroupOptions::max_weight`].
    fn weight(&self) -> usize {
        1
    }

    /// Whether its caller has left: it is dropped if no group has begun with it.
    fn is_abandoned(&self) -> bool {
        false
    }

    /// Whether it was acknowledged when it was queued: it is tried again when its group fails.
    fn is_acknowledged(&self) -> bool {
        false
    }

    /// Reports to its caller that it was not committed, or that this is unknown.
    fn fail(self, error: &Self::Error);
}

/// Why a group was not committed.
pub trait GroupError: Display + Send {
    /// Whether a command of the group is the cause: without it, the others can be committed. Nothing of the group was.
    fn is_of_one_command(&self) -> bool;
}

/// A group that was not committed, or of which that is unknown.
#[derive(Debug)]
pub struct FailedGroup<C: GroupedCommand> {
    /// All of its commands; none was answered.
    pub commands: Vec<C>,
    pub error: C::Error,
}

pub trait GroupWriter: Send {
    type Command: GroupedCommand;

    /// Commits a group as a whole, and then answers its commands. A group is never empty.
    ///
    /// # Errors
    /// The group, when it was not committed.
    fn commit(
        &mut self,
        group: Vec<Self::Command>,
    ) -> impl Future<Output = Result<(), FailedGroup<Self::Command>>> + Send;

    /// Ends what it has open, after its last group.
    fn close(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// How a writer forms groups.
#[derive(Debug, Clone, Copy)]
pub struct GroupOptions {
    /// A group ends when its commands weigh this much, at least 1: it bounds how many fail together, and how long the
    /// first waits.
    pub max_weight: usize,
    /// How long the first command of a group waits for others.
    pub batching_delay: Duration,
    /// Time between two attempts at acknowledged commands.
    pub retry_pause: Duration,
    /// Attempts at the acknowledged commands that are left when the writer is closed.
    pub last_attempts: u32,
}

impl GroupOptions {
    /// For commands none of which is acknowledged before it is committed: without delay, without retries.
    #[must_use]
    pub const fn of_weight(max_weight: usize) -> Self {
        Self { max_weight, batching_delay: Duration::ZERO, retry_pause: Duration::ZERO, last_attempts: 0 }
    }

    /// The same with a batching delay.
    #[must_use]
    pub const fn after(self, batching_delay: Duration) -> Self {
        Self { batching_delay, ..self }
    }
}

enum Message<C> {
    Command(C),
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the writer has ended")]
pub struct WriterEnded;

/// Where commands are sent.
#[derive(Debug)]
pub struct GroupQueue<C> {
    messages: UnboundedSender<Message<C>>,
    waiting: Arc<AtomicUsize>,
}

impl<C> GroupQueue<C> {
    /// Queues a command.
    ///
    /// # Errors
    /// When the writer has ended.
    pub fn send(&self, command: C) -> Result<(), WriterEnded> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.messages.send(Message::Command(command)).map_err(|_| WriterEnded)
    }

    /// Commands that no group has begun with.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The writer commits what was queued before, accepts no more, and ends.
    pub fn close(&self) {
        let _already_ended = self.messages.send(Message::Close);
    }
}

pub struct GroupCommit<W: GroupWriter> {
    writer: W,
    messages: UnboundedReceiver<Message<W::Command>>,
    waiting: Arc<AtomicUsize>,
    options: GroupOptions,
    metrics: GroupMetrics,
    /// Acknowledged commands whose group failed.
    retries: Vec<W::Command>,
    retry_at: Instant,
    /// The weight of the next group of them.
    retry_weight: usize,
    failures: RepeatedFailure,
}

impl<W: GroupWriter> GroupCommit<W> {
    /// A writer that is not running yet, and its queue.
    #[must_use]
    pub fn new(writer: W, options: GroupOptions, metrics: GroupMetrics) -> (GroupQueue<W::Command>, Self) {
        let (sender, messages) = unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = Self {
            writer,
            messages,
            waiting: Arc::clone(&waiting),
            options,
            metrics,
            retries: Vec::new(),
            retry_at: Instant::now(),
            retry_weight: options.max_weight,
            failures: RepeatedFailure::default(),
        };
        (GroupQueue { messages: sender, waiting }, writer)
    }

    /// Commits until the queue is closed or dropped.
    pub async fn run(mut self) {
        let mut is_open = true;
        while is_open {
            let mut group = Vec::new();
            is_open = self.gather(&mut group).await;
            self.commit(group).await;
            if !self.retries.is_empty() && Instant::now() >= self.retry_at {
                self.retry().await;
            }
        }
        self.retry_the_last().await;
        self.writer.close().await;
    }

    async fn retry_the_last(&mut self) {
        for _attempt in 0..self.options.last_attempts {
            if self.retries.is_empty() {
                return;
            }
            tokio::time::sleep_until(self.retry_at).await;
            self.retry().await;
        }
        if !self.retries.is_empty() {
            let commands = self.retries.len();
            tracing::error!(commands, "acknowledged commands were lost: the store did not accept them");
        }
    }

    /// The same on a thread of its own, for a writer that blocks.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run_on_thread(self, name: &str) -> std::io::Result<std::thread::JoinHandle<()>>
    where
        W: 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(self.run()))
    }

    /// Collects the commands that have arrived, after waiting for the first, or none when it is time for a retry;
    /// returns whether more may come. From the end of the queue on none is accepted; those that were queued behind it
    /// before are among the last, because they were accepted.
    async fn gather(&mut self, group: &mut Vec<W::Command>) -> bool {
        let first = if self.retries.is_empty() {
            self.messages.recv().await
        } else {
            match tokio::time::timeout_at(self.retry_at, self.messages.recv()).await {
                Ok(first) => first,
                Err(_time_to_retry) => return true,
            }
        };
        if first.is_some() && !self.options.batching_delay.is_zero() {
            tokio::time::sleep(self.options.batching_delay).await;
        }
        let (mut next, mut weight) = (first, 0);
        loop {
            if matches!(next, Some(Message::Command(_))) {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
            match next {
                Some(Message::Command(command)) if command.is_abandoned() => self.metrics.count_abandoned(),
                Some(Message::Command(command)) => {
                    weight += command.weight();
                    group.push(command);
                }
                Some(Message::Close) => self.messages.close(),
                None => return false,
            }
            if weight >= self.options.max_weight {
                return true;
            }
            match self.messages.try_recv() {
                Ok(message) => next = Some(message),
                Err(_none_yet) => return true,
            }
        }
    }

    /// Tries the acknowledged commands again, without those that arrived since: whatever makes them fail must not
    /// affect others. Those of a group that fails come last the next time, in smaller groups, so that a command which
    /// can never be written, and is not known as the cause, holds up no other for long.
    async fn retry(&mut self) {
        let mut waiting = std::mem::take(&mut self.retries);
        while !waiting.is_empty() && self.retries.is_empty() {
            let rest = waiting.split_off(self.count_within_weight(&waiting));
            self.commit(std::mem::replace(&mut waiting, rest)).await;
            let weight = if self.retries.is_empty() { self.retry_weight * 2 } else { self.retry_weight / 2 };
            self.retry_weight = weight.clamp(1, self.options.max_weight);
        }
        waiting.append(&mut self.retries);
        self.retries = waiting;
    }

    /// How many of the first commands make a group: at least one.
    fn count_within_weight(&self, commands: &[W::Command]) -> usize {
        let mut weight = 0;
        let is_within = |command: &&W::Command| {
            weight += command.weight();
            weight <= self.retry_weight
        };
        commands.iter().take_while(is_within).count().max(1).min(commands.len())
    }

    /// Commits a group, halving it where one command is the cause of its failure.
    async fn commit(&mut self, group: Vec<W::Command>) {
        let mut parts = vec![group];
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            let attempt = self.metrics.begin(part.len());
            let Err(FailedGroup { mut commands, error }) = self.writer.commit(part).await else {
                attempt.committed();
                continue;
            };
            attempt.failed();
            if !error.is_of_one_command() {
                if self.failures.is_to_be_logged() {
                    tracing::error!(%error, commands = commands.len(), "a group was not committed");
                }
                commands.extend(parts.drain(..).rev().flatten());
                return self.fail(commands, &error);
            }
            if commands.len() > 1 {
                let second = commands.split_off(commands.len() / 2);
                parts.extend([second, commands]);
                continue;
            }
            tracing::error!(%error, "a command is rejected");
            self.metrics.count_rejected();
            commands.into_iter().for_each(|command| command.fail(&error));
        }
    }

    /// Groups that fail while others wait for their retry do not postpone it: there may be such groups all the time.
    fn fail(&mut self, commands: Vec<W::Command>, error: &<W::Command as GroupedCommand>::Error) {
        if self.retries.is_empty() {
            self.retry_at = Instant::now() + self.options.retry_pause;
        }
        for command in commands {
            if command.is_acknowledged() {
                self.retries.push(command);
            } else {
                command.fail(error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
