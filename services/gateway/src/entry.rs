//! A task on its way: what holds it until it is handed on, and who is told of that.

use crate::journal::Segment;
use crate::sample::Priority;
use crate::task::Tasks;
use bytes::Bytes;
use kit::limit::Permit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::sync::Notify;

/// A task that was accepted and is not handed on yet.
#[derive(Debug)]
pub struct Entry {
    /// How much it matters.
    pub priority: Priority,
    /// Its JSON.
    pub task: Bytes,
    /// When it was accepted.
    pub since: Instant,
    /// Its place among those that may be held; none for what an earlier process left.
    pub place: Option<Permit>,
    /// What must be done when it is handed on.
    pub kept: Kept,
}

/// Where a task is besides in memory.
#[derive(Debug, Clone)]
pub enum Kept {
    /// Nowhere: it is gone with the process.
    Memory,
    /// In a segment on disk.
    Disk(Arc<Segment>),
    /// Nowhere, but its sender waits until it is handed on.
    Awaited(Arc<Receipt>),
}

impl Entry {
    /// The sink has it.
    pub fn handed_on(self) {
        match &self.kept {
            Kept::Memory => {}
            Kept::Disk(segment) => segment.handed_on(),
            Kept::Awaited(receipt) => receipt.handed_on(),
        }
    }
}

/// Entries of tasks that have their places.
pub fn entries<'a>(
    (tasks, places): (&'a Tasks, Vec<Permit>),
    kept: &'a Kept,
) -> impl Iterator<Item = Entry> + 'a {
    let since = Instant::now();
    tasks.iter().zip(places).map(move |((priority, task), place)| Entry {
        priority,
        task,
        since,
        place: Some(place),
        kept: kept.clone(),
    })
}

/// Tells a sender when all tasks of a request are handed on.
#[derive(Debug)]
pub struct Receipt {
    left: AtomicUsize,
    done: Notify,
}

impl Receipt {
    /// For so many tasks.
    #[must_use]
    pub fn of(tasks: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(tasks), done: Notify::new() })
    }

    /// Returns once all are handed on.
    pub async fn wait(&self) {
        while self.left.load(Ordering::Acquire) > 0 {
            // Given before anybody waits, the notice is kept.
            self.done.notified().await;
        }
    }

    fn handed_on(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}
