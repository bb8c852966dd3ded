//! How far behind a process is, told by how long a task that is ready waits for its turn, and what follows from it.
//!
//! Under more load than a process can bear, requests queue where no counter sees them: in sockets, and among the tasks
//! that are ready to run. Then each is answered too late to be of use, and nothing is refused. So a task looks every
//! few milliseconds how late it is woken. As soon as that has been too late for a while, requests stand in a line
//! before they are worked on, and are called a few at a time: the newest first, whose senders still wait. A line that
//! does not end within a second is worked off from its other end too: the oldest are refused. But refusing takes
//! time that could be spent working, so it is given a part of the time and no more; who is neither served nor refused
//! costs nothing while it stands there. (The delay as the sign of overload, and patience before acting on it, are
//! those of CoDel, RFC 8289.)

mod connections;
mod pace;
mod wait_queue;

pub(crate) use wait_queue::{Place, Turn};

use connections::Connections;
use pace::{LOOK_EVERY, Next, Pace, Waiting};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wait_queue::Line;

/// A process's backlog. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Backlog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Spares everybody the line's lock as long as there is none.
    is_behind: AtomicBool,
    line: Line,
    /// The line has stood for so long that it was no burst.
    is_overloaded: AtomicBool,
    /// How many connections may be taken in then.
    connections: Connections,
}

impl Backlog {
    /// Looks after the runtime that it is called on, for as long as any clone exists. `target` is how long a task that
    /// is ready may wait before requests stand in line; zero lets everybody in whatever the wait.
    #[must_use]
    pub fn watch(target: Duration) -> Self {
        let backlog = Self::default();
        if target.is_zero() {
            return backlog;
        }
        let watched = Arc::downgrade(&backlog.shared);
        tokio::spawn(async move {
            let mut pace = Pace::new(target);
            loop {
                let begun = Instant::now();
                tokio::time::sleep(LOOK_EVERY).await;
                let Some(shared) = watched.upgrade() else { return };
                if pace.look(begun.elapsed().saturating_sub(LOOK_EVERY)) {
                    shared.keep(&mut pace).await;
                }
            }
        });
        backlog
    }

    /// Whether requests stand in line now.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.shared.is_behind.load(Ordering::Relaxed)
    }

    /// A place in the line; `None` when there is none and everybody is let in.
    pub(crate) fn join(&self) -> Option<Place> {
        if self.is_behind() { self.shared.line.join(Instant::now()) } else { None }
    }

    /// Returns when another connection may be taken in: at once, or when those in line had their share.
    pub(crate) async fn has_time_for_a_connection(&self) {
        if self.is_overloaded() {
            self.shared.connections.next().await;
        }
    }

    /// Whether the line has not ended for so long that this is more than a burst.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.shared.is_overloaded.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Keeps a line until it is not needed any more.
    async fn keep(&self, pace: &mut Pace) {
        self.line.open();
        self.is_behind.store(true, Ordering::Relaxed);
        let mut done = Next::Rest;
        loop {
            let begun = Instant::now();
            let turns = match done {
                Next::Rest => tokio::select! {
                    () = self.line.joined() => connections::turns_of(begun.elapsed()),
                    () = tokio::time::sleep(LOOK_EVERY) => connections::turns_of(LOOK_EVERY),
                },
                Next::Serve(count) => self.line.serve(count),
                Next::Refuse(count, since) => self.line.refuse(count, begun - since),
            };
            self.connections.after(turns);
            // Returns when everybody else who was ready had a turn, be it to answer or to join the line.
            tokio::task::yield_now().await;
            let now = Instant::now();
            let is_overloaded = self.is_overloaded.load(Ordering::Relaxed);
            let (line, is_door_shut) = (self.line.ages(now), is_overloaded && self.connections.are_all_in());
            match pace.round(done, now - begun, Waiting { line, is_door_shut }) {
                Some(next) => done = next,
                None => break,
            }
            if pace.is_overload() && !is_overloaded {
                self.connections.open();
                self.is_overloaded.store(true, Ordering::Relaxed);
            }
        }
        self.is_behind.store(false, Ordering::Relaxed);
        self.is_overloaded.store(false, Ordering::Relaxed);
        self.line.close();
        self.connections.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_stands_in_line_when_it_ends_is_served_and_nobody_joins_it_after() {
        let backlog = Backlog::watch(Duration::ZERO);
        assert!(backlog.join().is_none(), "nobody is behind");
        let shared = Arc::clone(&backlog.shared);
        let keeping = tokio::spawn(async move {
            let mut pace = Pace::new(Duration::from_millis(10));
            shared.keep(&mut pace).await;
        });
        let place = loop {
            match backlog.join() {
                Some(place) => break place,
                None => tokio::task::yield_now().await,
            }
        };
        assert_eq!(place.await, Turn::Served);
        keeping.await.unwrap();
        assert!(backlog.join().is_none() && !backlog.is_behind());
        backlog.has_time_for_a_connection().await;
    }
}
