//! Lists and searches of one caller in the store at once: those beyond wait for the caller's own, so that no caller takes
//! the store's connections from all others.

use std::sync::Arc;
use std::time::Duration;

use kit::store::StoreError;
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::caller::Caller;

/// Callers that are remembered at most; one that is forgotten has all of its places again.
const MAX_CALLERS: u64 = 100_000;
/// How long a caller without searches is remembered: longer than any search.
const IDLE: Duration = Duration::from_secs(60);

pub(super) struct SearchPlaces {
    each: usize,
    callers: Cache<Caller, Arc<Semaphore>>,
}

impl SearchPlaces {
    /// At most half of the searches that the store works on are of one caller.
    pub(super) fn of_store(searches: usize) -> Self {
        let callers = Cache::builder().max_capacity(MAX_CALLERS).time_to_idle(IDLE).build();
        Self { each: (searches / 2).max(1), callers }
    }

    /// A place for a search, when the caller has one. Services, which search for many users, need none.
    pub(super) async fn enter(&self, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
        let (Caller::Anonymous(_) | Caller::User(_)) = caller else { return Ok(None) };
        let places = self.callers.get_with_by_ref(caller, || Arc::new(Semaphore::new(self.each)));
        // The semaphore is never closed.
        places.acquire_owned().await.map(Some).map_err(|_closed| StoreError::Closed)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn a_caller_waits_for_a_place_of_their_own_and_takes_none_of_others() {
        let places = SearchPlaces::of_store(4);
        let (one, other) = (Caller::Anonymous("10.0.0.1".parse().ok()), Caller::User(7));
        let held = (places.enter(&one).await.unwrap(), places.enter(&one).await.unwrap());
        let mut third = pin!(places.enter(&one));
        let first_poll = std::future::poll_fn(|cx| Poll::Ready(third.as_mut().poll(cx))).await;
        assert!(first_poll.is_pending());
        for _ in 0..2 {
            assert!(places.enter(&other).await.unwrap().is_some());
        }
        assert!(places.enter(&Caller::Service("shop".to_owned())).await.unwrap().is_none());
        drop(held);
        assert!(third.await.unwrap().is_some());
    }
}
