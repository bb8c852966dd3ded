//! How many connections are taken in under overload.
//!
//! A client that was not answered in time comes again on a new connection, and taking that in and letting it go costs
//! as much as an answer. So there is one for every few requests that had their turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Those that came before, and still wait for an answer: as many as a port keeps in the kernel.
const FIRST: usize = 4096;
/// Turns for each connection.
const TURNS: usize = 8;
/// Time in which nobody stood in line, and which counts as a turn.
const IDLE_TURN_US: u128 = 25;
/// Connections that were not there to be taken in may come later, up to so many.
const MOST: usize = 64;

/// Connections that may be taken in; nobody counts them without need.
#[derive(Debug)]
pub(super) struct Connections {
    may_come: Semaphore,
    /// Turns that were had since the last was added.
    turns: AtomicUsize,
}

impl Default for Connections {
    fn default() -> Self {
        Self { may_come: Semaphore::new(0), turns: AtomicUsize::new(0) }
    }
}

/// What time in which nobody stood in line is worth.
pub(super) fn turns_of(idle: Duration) -> usize {
    // A rest is milliseconds long.
    (idle.as_micros() / IDLE_TURN_US) as usize
}

impl Connections {
    pub(super) fn open(&self) {
        self.may_come.forget_permits(Semaphore::MAX_PERMITS);
        self.may_come.add_permits(FIRST);
    }

    /// Lets go whoever waits.
    pub(super) fn close(&self) {
        self.may_come.add_permits(MOST);
    }

    /// So many requests had their turn.
    pub(super) fn after(&self, turns: usize) {
        let turns = self.turns.load(Ordering::Relaxed) + turns;
        self.turns.store(turns % TURNS, Ordering::Relaxed);
        if self.may_come.available_permits() < MOST {
            self.may_come.add_permits(turns / TURNS);
        }
    }

    /// Whether as many were taken in as may be.
    pub(super) fn are_all_in(&self) -> bool {
        self.may_come.available_permits() == 0
    }

    /// Returns when another may be taken in.
    pub(super) async fn next(&self) {
        // It is never closed.
        if let Ok(permit) = self.may_come.acquire().await {
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn may_come(connections: &Connections) -> bool {
        pin!(connections.next()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn those_that_were_there_are_taken_in_and_then_one_for_every_few_turns() {
        let connections = Connections::default();
        connections.open();
        assert_eq!((0..5_000).filter(|_| may_come(&connections)).count(), FIRST);
        assert!(connections.are_all_in());
        (0..2).for_each(|_| connections.after(TURNS - 1));
        connections.after(2);
        assert_eq!((0..9).filter(|_| may_come(&connections)).count(), 2);
        (0..1_000).for_each(|_| connections.after(TURNS));
        assert_eq!((0..1_000).filter(|_| may_come(&connections)).count(), MOST);
        connections.close();
        connections.open();
        assert_eq!((0..5_000).filter(|_| may_come(&connections)).count(), FIRST);
    }
}
