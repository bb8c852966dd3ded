//! A task in the queue: what it occupies until it is handed on, and what is notified then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use kit::limit::Permit;
use tokio::sync::Notify;

use crate::sample::Priority;
use crate::segment::Segment;
use crate::task::Tasks;

/// A task that was accepted and is not handed on yet.
#[derive(Debug)]
pub struct QueueEntry {
    /// Its sample's priority.
    pub priority: Priority,
    /// Its JSON.
    pub task: Bytes,
    /// When it was accepted.
    pub since: Instant,
    /// Its slot in the queue; `None` for a task that was recovered from the journal.
    pub slot: Option<Permit>,
    /// Where the task exists besides in memory.
    pub backing: TaskBacking,
}

/// Where a task exists besides in memory, and so what must be done when it is handed on.
#[derive(Debug, Clone)]
pub enum TaskBacking {
    /// Nowhere: it is lost with the process.
    Memory,
    Disk(Arc<Segment>),
    /// Nowhere, but its client waits until it is handed on.
    Awaited(Arc<HandOnReceipt>),
}

impl QueueEntry {
    /// The sink has the task.
    pub fn handed_on(self) {
        match &self.backing {
            TaskBacking::Memory => {}
            TaskBacking::Disk(segment) => segment.handed_on(),
            TaskBacking::Awaited(receipt) => receipt.handed_on(),
        }
    }
}

/// Entries of tasks that have their slots.
pub fn entries<'a>(
    tasks: &'a Tasks,
    slots: Vec<Permit>,
    backing: &'a TaskBacking,
) -> impl Iterator<Item = QueueEntry> + 'a {
    let since = Instant::now();
    tasks.iter().zip(slots).map(move |((priority, task), slot)| QueueEntry {
        priority,
        task,
        since,
        slot: Some(slot),
        backing: backing.clone(),
    })
}

/// Completes when all tasks of a request are handed on.
#[derive(Debug)]
pub struct HandOnReceipt {
    pending: AtomicUsize,
    done: Notify,
}

impl HandOnReceipt {
    #[must_use]
    pub fn for_tasks(count: usize) -> Arc<Self> {
        Arc::new(Self { pending: AtomicUsize::new(count), done: Notify::new() })
    }

    /// Returns once all are handed on.
    pub async fn wait(&self) {
        while self.pending.load(Ordering::Acquire) > 0 {
            // A notification sent before the wait is stored, so none is missed.
            self.done.notified().await;
        }
    }

    fn handed_on(&self) {
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}
