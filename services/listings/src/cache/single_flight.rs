//! One query for concurrent reads of the same answer. A read that arrives while a query runs does not share its result,
//! which may be older than a write answered before the read arrived. It waits for the next query, which begins later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kit::store::StoreError;
use tokio::sync::oneshot;

use super::CachedValue;
use crate::scope::CacheScope;

type FlightKey = (CacheScope, String);
type QueryResult = Result<CachedValue, StoreError>;

/// What a waiter receives.
#[derive(Debug)]
enum WaiterMessage {
    /// The result of another waiter's query.
    Result(QueryResult),
    /// The waiter runs the query, for itself and for the followers.
    Lead(Leadership),
}

type Waiters = Vec<oneshot::Sender<WaiterMessage>>;

/// The queries in progress, each with the waiters for the next query of the same key. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SingleFlight {
    waiting: Arc<Mutex<HashMap<FlightKey, Waiters>>>,
}

impl SingleFlight {
    /// The result of a query that begins after this call: of `query`, or of another waiter's.
    pub(super) async fn share(
        &self,
        key: FlightKey,
        query: impl Future<Output = QueryResult>,
    ) -> QueryResult {
        let mut leadership = match self.enter(key) {
            Ok(leadership) => leadership,
            Err(message) => match message.await {
                Ok(WaiterMessage::Result(result)) => return result,
                Ok(WaiterMessage::Lead(leadership)) => leadership,
                // A leader always sends a message, when it ends or when it is dropped.
                Err(_sender_dropped) => return Err(StoreError::Closed),
            },
        };
        let result = query.await;
        for follower in std::mem::take(&mut leadership.followers) {
            let _caller_gone = follower.send(WaiterMessage::Result(result.clone()));
        }
        result
    }

    /// Leadership when no query of this key runs, else the receiver of a new waiter.
    fn enter(&self, key: FlightKey) -> Result<Leadership, oneshot::Receiver<WaiterMessage>> {
        match self.lock().entry(key.clone()) {
            Entry::Occupied(mut waiters) => {
                let (sender, message) = oneshot::channel();
                waiters.get_mut().push(sender);
                Err(message)
            }
            Entry::Vacant(entry) => {
                entry.insert(Vec::new());
                Ok(Leadership { single_flight: self.clone(), key: Some(key), followers: Vec::new() })
            }
        }
    }

    /// Makes one of the waiters the leader of the others.
    fn hand_over(&self, key: FlightKey, mut waiters: Waiters) {
        if let Some(more) = self.lock().get_mut(&key) {
            waiters.append(more);
        }
        loop {
            let Some(next) = waiters.pop() else {
                let mut waiting = self.lock();
                match waiting.get_mut(&key) {
                    Some(more) if !more.is_empty() => waiters.append(more),
                    _ => {
                        waiting.remove(&key);
                        return;
                    }
                }
                continue;
            };
            let leadership =
                Leadership { single_flight: self.clone(), key: Some(key.clone()), followers: waiters };
            match next.send(WaiterMessage::Lead(leadership)) {
                Err(WaiterMessage::Lead(mut leadership)) => {
                    leadership.key = None;
                    waiters = std::mem::take(&mut leadership.followers);
                }
                _ => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FlightKey, Waiters>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run the query of a key. Its holder may be cancelled at any moment, also before it has received the
/// leadership; dropping it hands it over to the next waiter.
#[derive(Debug)]
struct Leadership {
    single_flight: SingleFlight,
    /// `None` when the leadership could not be delivered.
    key: Option<FlightKey>,
    followers: Waiters,
}

impl Drop for Leadership {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.single_flight.clone().hand_over(key, std::mem::take(&mut self.followers));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use tokio::task::{JoinHandle, yield_now};

    use super::*;
    use crate::stats::StorefrontStats;

    fn value(total: i64) -> CachedValue {
        CachedValue::Stats(StorefrontStats { total, ..StorefrontStats::default() })
    }

    fn key() -> FlightKey {
        (CacheScope::Stats(1), String::new())
    }

    /// Queries that end when the gate gets a permit and return their number.
    struct NumberedQueries {
        single_flight: SingleFlight,
        started: AtomicI64,
        gate: tokio::sync::Semaphore,
    }

    impl NumberedQueries {
        async fn run(self: Arc<Self>) -> CachedValue {
            let query = async {
                let number = self.started.fetch_add(1, Ordering::Relaxed);
                self.gate.acquire().await.unwrap().forget();
                Ok(value(number))
            };
            self.single_flight.share(key(), query).await.unwrap()
        }

        /// Three reads; the first runs the query, and the others wait for the next one.
        async fn led_by_the_first_of_three(self: &Arc<Self>) -> [JoinHandle<CachedValue>; 3] {
            let read = || tokio::spawn(Arc::clone(self).run());
            let first = read();
            let_tasks_run().await;
            let reads = [first, read(), read()];
            let_tasks_run().await;
            reads
        }
    }

    fn numbered_queries() -> Arc<NumberedQueries> {
        let gate = tokio::sync::Semaphore::new(0);
        Arc::new(NumberedQueries { single_flight: SingleFlight::default(), started: AtomicI64::new(0), gate })
    }

    async fn let_tasks_run() {
        for _ in 0..20 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_read_that_arrives_while_a_query_runs_shares_the_next_query() {
        let queries = numbered_queries();
        let first = tokio::spawn(Arc::clone(&queries).run());
        let_tasks_run().await;
        let later: Vec<_> = (0..10).map(|_| tokio::spawn(Arc::clone(&queries).run())).collect();
        let_tasks_run().await;
        queries.gate.add_permits(2);
        assert_eq!(first.await.unwrap(), value(0));
        for one in later {
            assert_eq!(one.await.unwrap(), value(1));
        }
        assert!(queries.single_flight.waiting.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn when_the_leader_is_cancelled_a_waiter_runs_the_query() {
        let queries = numbered_queries();
        let [first, second, third] = queries.led_by_the_first_of_three().await;
        first.abort();
        let_tasks_run().await;
        assert_eq!(queries.started.load(Ordering::Relaxed), 2);
        queries.gate.add_permits(1);
        assert_eq!(second.await.unwrap(), value(1));
        assert_eq!(third.await.unwrap(), value(1));
    }

    /// The leadership may be sent to a waiter that is cancelled before it receives it.
    #[tokio::test]
    async fn an_undelivered_leadership_is_handed_over() {
        let queries = numbered_queries();
        let [first, second, third] = queries.led_by_the_first_of_three().await;
        first.abort();
        // Aborted before it runs again, so before it receives the leadership.
        third.abort();
        queries.gate.add_permits(9);
        assert!(second.await.unwrap() == value(1));
        assert!(queries.single_flight.waiting.lock().unwrap().is_empty());
    }
}
