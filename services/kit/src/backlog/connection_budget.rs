//! How many connections are accepted during an overload.
//!
//! A client that was not answered in time comes back on a new connection, and accepting and closing that costs as much
//! as a response. So one connection is accepted for every few requests that were handled.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// Connections that were made before the overload and still wait: as many as a port's kernel backlog has.
const INITIAL_CONNECTIONS: usize = 4096;
/// Requests handled for each connection accepted.
const REQUESTS_PER_CONNECTION: usize = 8;
/// This much time with an empty queue counts as one request.
const IDLE_US_PER_REQUEST: u128 = 25;
/// Permits that no connection has used yet are kept up to this number.
const MAX_UNUSED_PERMITS: usize = 64;

/// Connections that may be accepted. It counts only during an overload.
#[derive(Debug)]
pub(super) struct ConnectionBudget {
    permits: Semaphore,
    /// Requests handled since the last permit was added.
    requests: AtomicUsize,
}

impl Default for ConnectionBudget {
    fn default() -> Self {
        Self { permits: Semaphore::new(0), requests: AtomicUsize::new(0) }
    }
}

/// How many requests this much time with an empty queue counts as.
pub(super) fn requests_worth(idle: Duration) -> usize {
    // An idle step is milliseconds long.
    (idle.as_micros() / IDLE_US_PER_REQUEST) as usize
}

impl ConnectionBudget {
    pub(super) fn open(&self) {
        self.permits.forget_permits(Semaphore::MAX_PERMITS);
        self.permits.add_permits(INITIAL_CONNECTIONS);
    }

    /// Releases whatever waits for a permit.
    pub(super) fn close(&self) {
        self.permits.add_permits(MAX_UNUSED_PERMITS);
    }

    /// Adds the permits that this many handled requests are worth.
    pub(super) fn add_for_requests(&self, handled: usize) {
        let requests = self.requests.load(Ordering::Relaxed) + handled;
        self.requests.store(requests % REQUESTS_PER_CONNECTION, Ordering::Relaxed);
        if self.permits.available_permits() < MAX_UNUSED_PERMITS {
            self.permits.add_permits(requests / REQUESTS_PER_CONNECTION);
        }
    }

    /// Whether no further connection may be accepted now.
    pub(super) fn is_spent(&self) -> bool {
        self.permits.available_permits() == 0
    }

    /// Returns when another connection may be accepted.
    pub(super) async fn acquire(&self) {
        // The semaphore is never closed.
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn is_permitted(budget: &ConnectionBudget) -> bool {
        pin!(budget.acquire()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn waiting_connections_are_accepted_and_then_one_for_every_few_requests() {
        let budget = ConnectionBudget::default();
        budget.open();
        assert_eq!((0..5_000).filter(|_| is_permitted(&budget)).count(), INITIAL_CONNECTIONS);
        assert!(budget.is_spent());
        (0..2).for_each(|_| budget.add_for_requests(REQUESTS_PER_CONNECTION - 1));
        budget.add_for_requests(2);
        assert_eq!((0..9).filter(|_| is_permitted(&budget)).count(), 2);
        (0..1_000).for_each(|_| budget.add_for_requests(REQUESTS_PER_CONNECTION));
        assert_eq!((0..1_000).filter(|_| is_permitted(&budget)).count(), MAX_UNUSED_PERMITS);
        budget.close();
        budget.open();
        assert_eq!((0..5_000).filter(|_| is_permitted(&budget)).count(), INITIAL_CONNECTIONS);
    }
}
