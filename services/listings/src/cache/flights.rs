//! One query for all who ask the same at the same time. Whoever comes while a query runs is not given its answer, as
//! that may be older than a write answered before they came: they wait for the next, which begins after they came.

use super::Value;
use crate::scope::Scope;
use kit::store::StoreError;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

type Key = (Scope, String);
type Answer = Result<Value, StoreError>;

/// What somebody who waits is told.
#[derive(Debug)]
enum Turn {
    Answer(Answer),
    /// Ask, for yourself and for those who came before you ask.
    Ask(Lead),
}

type Waiting = Vec<oneshot::Sender<Turn>>;

/// Queries that run now, each with those who wait for the next of its kind. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Flights {
    waiting: Arc<Mutex<HashMap<Key, Waiting>>>,
}

impl Flights {
    /// The answer of a query that begins after this was called: of `ask`, or of somebody else's.
    pub(super) async fn share(&self, key: Key, ask: impl Future<Output = Answer>) -> Answer {
        let mut lead = match self.enter(key) {
            Ok(lead) => lead,
            Err(turn) => match turn.await {
                Ok(Turn::Answer(answer)) => return answer,
                Ok(Turn::Ask(lead)) => lead,
                // Whoever asks tells everybody when they end or go.
                Err(_gone) => return Err(StoreError::Closed),
            },
        };
        let answer = ask.await;
        for follower in std::mem::take(&mut lead.followers) {
            let _caller_gone = follower.send(Turn::Answer(answer.clone()));
        }
        answer
    }

    /// To ask when no query of the kind runs, else to wait.
    fn enter(&self, key: Key) -> Result<Lead, oneshot::Receiver<Turn>> {
        match self.lock().entry(key.clone()) {
            Entry::Occupied(mut others) => {
                let (sender, turn) = oneshot::channel();
                others.get_mut().push(sender);
                Err(turn)
            }
            Entry::Vacant(nobody) => {
                nobody.insert(Vec::new());
                Ok(Lead { flights: self.clone(), key: Some(key), followers: Vec::new() })
            }
        }
    }

    /// Lets one of those who wait ask for all of them.
    fn pass_on(&self, key: Key, mut heirs: Waiting) {
        if let Some(more) = self.lock().get_mut(&key) {
            heirs.append(more);
        }
        loop {
            let Some(heir) = heirs.pop() else {
                let mut waiting = self.lock();
                match waiting.get_mut(&key) {
                    Some(more) if !more.is_empty() => heirs.append(more),
                    _ => {
                        waiting.remove(&key);
                        return;
                    }
                }
                continue;
            };
            let lead = Lead { flights: self.clone(), key: Some(key.clone()), followers: heirs };
            match heir.send(Turn::Ask(lead)) {
                Err(Turn::Ask(mut lead)) => {
                    lead.key = None;
                    heirs = std::mem::take(&mut lead.followers);
                }
                _ => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn to ask. Whoever has it may go away at any moment, also before they know of it: then it is the next one's.
#[derive(Debug)]
struct Lead {
    flights: Flights,
    /// `None` when the turn was not taken.
    key: Option<Key>,
    followers: Waiting,
}

impl Drop for Lead {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.flights.clone().pass_on(key, std::mem::take(&mut self.followers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Stats;
    use std::sync::atomic::{AtomicI64, Ordering};
    use tokio::task::yield_now;

    fn value(total: i64) -> Value {
        Value::Stats(Stats { total, ..Stats::default() })
    }

    fn key() -> Key {
        (Scope::Stats(1), String::new())
    }

    /// Begins a query that ends when it is let go, and answers with its number.
    struct Setup {
        flights: Flights,
        queries: AtomicI64,
        gate: tokio::sync::Semaphore,
    }

    impl Setup {
        async fn ask(self: Arc<Self>) -> Value {
            let query = async {
                let number = self.queries.fetch_add(1, Ordering::Relaxed);
                self.gate.acquire().await.unwrap().forget();
                Ok(value(number))
            };
            self.flights.share(key(), query).await.unwrap()
        }
    }

    fn setup() -> Arc<Setup> {
        let gate = tokio::sync::Semaphore::new(0);
        Arc::new(Setup { flights: Flights::default(), queries: AtomicI64::new(0), gate })
    }

    async fn settle() {
        for _ in 0..20 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_comes_while_a_query_runs_shares_the_next_one() {
        let setup = setup();
        let first = tokio::spawn(Arc::clone(&setup).ask());
        settle().await;
        let later: Vec<_> = (0..10).map(|_| tokio::spawn(Arc::clone(&setup).ask())).collect();
        settle().await;
        setup.gate.add_permits(2);
        assert_eq!(first.await.unwrap(), value(0));
        for one in later {
            assert_eq!(one.await.unwrap(), value(1));
        }
        assert!(setup.flights.waiting.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn when_the_one_who_asks_goes_away_another_asks() {
        let setup = setup();
        let first = tokio::spawn(Arc::clone(&setup).ask());
        settle().await;
        let second = tokio::spawn(Arc::clone(&setup).ask());
        let third = tokio::spawn(Arc::clone(&setup).ask());
        settle().await;
        first.abort();
        settle().await;
        assert_eq!(setup.queries.load(Ordering::Relaxed), 2);
        setup.gate.add_permits(1);
        assert_eq!(second.await.unwrap(), value(1));
        assert_eq!(third.await.unwrap(), value(1));
    }

    /// The turn may be given to somebody who goes away before they know of it.
    #[tokio::test]
    async fn a_turn_that_nobody_took_is_passed_on() {
        let setup = setup();
        let first = tokio::spawn(Arc::clone(&setup).ask());
        settle().await;
        let second = tokio::spawn(Arc::clone(&setup).ask());
        let third = tokio::spawn(Arc::clone(&setup).ask());
        settle().await;
        first.abort();
        // Aborted before they run again, so with their turn untaken.
        third.abort();
        setup.gate.add_permits(9);
        assert!(second.await.unwrap() == value(1));
        assert!(setup.flights.waiting.lock().unwrap().is_empty());
    }
}
