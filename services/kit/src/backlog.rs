//! Overload control: how long a runnable task waits for a thread, and the admission queue that follows from it.
//!
//! Under more load than a process can handle, requests queue where no counter sees them: in sockets, and among the
//! runnable tasks. Then every response comes too late to be of use, and nothing is refused. So a task measures every
//! few milliseconds how late it is woken. When that delay has exceeded its target for a while, requests wait in an
//! admission queue before they are worked on, and are admitted a few at a time: the newest first, because its client is
//! the most likely to still wait. If the queue does not become empty within a second, its oldest requests are refused
//! as well. Refusing takes time that could be spent on work, so it gets a fixed share of the time; a request that is
//! neither admitted nor refused costs nothing while it waits. (Delay as the signal of overload, and waiting before
//! acting on it, are those of CoDel, RFC 8289.)

mod admission_control;
mod connection_budget;
mod wait_queue;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use admission_control::{AdmissionControl, CHECK_INTERVAL, QueueSnapshot, QueueStep};
use connection_budget::ConnectionBudget;
use wait_queue::WaitQueue;
pub(crate) use wait_queue::{Admission, QueueSlot};

/// A process's backlog. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Backlog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Avoids taking the queue's lock while the queue is closed.
    is_behind: AtomicBool,
    queue: WaitQueue,
    /// The queue has been non-empty for longer than a burst.
    is_overloaded: AtomicBool,
    /// How many connections may be accepted during an overload.
    connections: ConnectionBudget,
}

impl Backlog {
    /// Watches the runtime that it is called on, for as long as any clone exists. `target` is how long a runnable task
    /// may wait before requests are queued; zero admits every request whatever the delay.
    #[must_use]
    pub fn watch(target: Duration) -> Self {
        let backlog = Self::default();
        if target.is_zero() {
            return backlog;
        }
        let watched = Arc::downgrade(&backlog.shared);
        tokio::spawn(async move {
            let mut control = AdmissionControl::new(target);
            loop {
                let begun = Instant::now();
                tokio::time::sleep(CHECK_INTERVAL).await;
                let Some(shared) = watched.upgrade() else { return };
                if control.record_delay(begun.elapsed().saturating_sub(CHECK_INTERVAL)) {
                    shared.run_queue(&mut control).await;
                }
            }
        });
        backlog
    }

    /// Whether requests are queued now.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.shared.is_behind.load(Ordering::Relaxed)
    }

    /// A slot in the admission queue; `None` when the queue is closed and every request is admitted.
    pub(crate) fn enter_queue(&self) -> Option<QueueSlot> {
        if self.is_behind() { self.shared.queue.join(Instant::now()) } else { None }
    }

    /// Returns when another connection may be accepted: at once, or during an overload when enough queued requests were
    /// handled.
    pub(crate) async fn connection_permit(&self) {
        if self.is_overloaded() {
            self.shared.connections.acquire().await;
        }
    }

    /// Whether the queue has been non-empty for longer than a burst.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.shared.is_overloaded.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Opens the admission queue and works it off until it is not needed any more.
    async fn run_queue(&self, control: &mut AdmissionControl) {
        self.queue.open();
        self.is_behind.store(true, Ordering::Relaxed);
        let mut done = QueueStep::Idle;
        loop {
            let begun = Instant::now();
            let handled = match done {
                QueueStep::Idle => tokio::select! {
                    () = self.queue.first_arrived() => connection_budget::requests_worth(begun.elapsed()),
                    () = tokio::time::sleep(CHECK_INTERVAL) => connection_budget::requests_worth(CHECK_INTERVAL),
                },
                QueueStep::AdmitNewest(count) => self.queue.admit_newest(count),
                QueueStep::RefuseOldest { count, waited } => self.queue.refuse_oldest(count, begun - waited),
            };
            self.connections.add_for_requests(handled);
            // Returns when every other runnable task has run, be it to answer a request or to queue one.
            tokio::task::yield_now().await;
            let now = Instant::now();
            let is_overloaded = self.is_overloaded.load(Ordering::Relaxed);
            let snapshot = QueueSnapshot {
                waits: self.queue.wait_times(now),
                is_accept_limited: is_overloaded && self.connections.is_spent(),
            };
            match control.next_step(done, now - begun, snapshot) {
                Some(next) => done = next,
                None => break,
            }
            if control.is_overload() && !is_overloaded {
                self.connections.open();
                self.is_overloaded.store(true, Ordering::Relaxed);
            }
        }
        self.is_behind.store(false, Ordering::Relaxed);
        self.is_overloaded.store(false, Ordering::Relaxed);
        self.queue.close();
        self.connections.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn when_the_queue_closes_its_waiters_are_admitted_and_no_request_joins_it_afterwards() {
        let backlog = Backlog::watch(Duration::ZERO);
        assert!(backlog.enter_queue().is_none(), "the process is not behind");
        let shared = Arc::clone(&backlog.shared);
        let queueing = tokio::spawn(async move {
            let mut control = AdmissionControl::new(Duration::from_millis(10));
            shared.run_queue(&mut control).await;
        });
        let slot = loop {
            match backlog.enter_queue() {
                Some(slot) => break slot,
                None => tokio::task::yield_now().await,
            }
        };
        assert_eq!(slot.await, Admission::Admitted);
        queueing.await.unwrap();
        assert!(backlog.enter_queue().is_none() && !backlog.is_behind());
        backlog.connection_permit().await;
    }
}
