//! The current keys: fetched at start, refreshed, and fetched again when a token names an unknown one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use tokio::sync::{Mutex, Semaphore, watch};

use super::TokenError;
use super::keys::Keys;
use super::source::Source;

/// However many unknown keys tokens name, the key server gets a request for them no more often than this.
const REFETCH_GAP: Duration = Duration::from_secs(5);
/// Tokens that may wait for keys at once, so that forged ones cannot occupy every request slot.
const MAX_WAITING: usize = 64;
/// The pause after a failed fetch; it doubles with every further failure up to the longest.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The newest keys, and why there are no newer ones.
struct State {
    keys: Option<ConfirmedKeys>,
    last_error: Option<String>,
}

struct ConfirmedKeys {
    keys: Arc<Keys>,
    /// When the source last returned them.
    at: Instant,
}

/// How often the keys were fetched, by outcome.
pub(super) struct FetchCounters {
    pub(super) ok: Counter,
    pub(super) failed: Counter,
}

pub(super) struct KeyRing {
    source: Source,
    /// How long keys are used that could not be confirmed since.
    max_age: Duration,
    state: watch::Sender<State>,
    /// When the last fetch began; locked during a fetch, so that there is never a second one.
    last_fetch: Mutex<Option<Instant>>,
    waiting: Semaphore,
    fetches: FetchCounters,
}

impl KeyRing {
    pub(super) fn new(source: Source, max_age: Duration, fetches: FetchCounters) -> Self {
        let state = watch::Sender::new(State { keys: None, last_error: None });
        let (last_fetch, waiting) = (Mutex::new(None), Semaphore::new(MAX_WAITING));
        Self { source, max_age, state, last_fetch, waiting, fetches }
    }

    /// The keys to verify with.
    pub(super) fn current(&self) -> Result<Arc<Keys>, TokenError> {
        let state = self.state.borrow();
        match &state.keys {
            Some(confirmed) if confirmed.at.elapsed() <= self.max_age => Ok(Arc::clone(&confirmed.keys)),
            _ => Err(TokenError::NoKeys),
        }
    }

    pub(super) fn probe(&self) -> Result<(), String> {
        self.current().map(drop).map_err(|_| {
            let state = self.state.borrow();
            let reason = state.last_error.as_deref().unwrap_or("they are being fetched");
            format!("no keys to verify tokens with: {reason}")
        })
    }

    pub(super) async fn ready(&self) {
        // The sender is a field of `self`, so the wait cannot fail.
        let mut states = self.state.subscribe();
        let _there = states.wait_for(|state| state.keys.is_some()).await;
    }

    /// Keys that are newer than those `seen`, if the source has some and was not read a moment ago.
    pub(super) async fn refetched(&self, seen: &Arc<Keys>) -> Result<Arc<Keys>, TokenError> {
        let _slot = self.waiting.try_acquire().map_err(|_| TokenError::Busy)?;
        let mut last_fetch = self.last_fetch.lock().await;
        let keys = self.current()?;
        let is_recent = last_fetch.is_some_and(|begun| begun.elapsed() < REFETCH_GAP);
        if is_recent || !Arc::ptr_eq(&keys, seen) {
            return Ok(keys);
        }
        *last_fetch = Some(Instant::now());
        let _kept_in_state = self.fetch().await;
        self.current()
    }

    /// Fetches now and every `period`; sooner after a failure, with a pause that grows with each further one.
    pub(super) async fn refresh(self: Arc<Self>, period: Duration) {
        let mut retry = FIRST_RETRY;
        loop {
            let mut last_fetch = self.last_fetch.lock().await;
            *last_fetch = Some(Instant::now());
            let fetched = self.fetch().await;
            drop(last_fetch);
            let pause = match fetched {
                Ok(()) => {
                    retry = FIRST_RETRY;
                    period
                }
                Err(error) => {
                    tracing::warn!(trouble = %error, "the keys to verify tokens with could not be fetched");
                    let pause = retry.min(period);
                    retry = (retry * 2).min(LONGEST_RETRY);
                    pause
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn fetch(&self) -> Result<(), String> {
        let read = self.source.read().await;
        let parsed = read.and_then(|document| Keys::parse(&document).map_err(str::to_owned));
        match parsed {
            Ok(keys) => {
                self.fetches.ok.inc();
                self.state.send_modify(|state| state.confirm(keys));
                Ok(())
            }
            Err(error) => {
                self.fetches.failed.inc();
                self.state.send_modify(|state| state.last_error = Some(error.clone()));
                Err(error)
            }
        }
    }
}

impl State {
    /// Keys that did not change stay, with the tokens verified by them.
    fn confirm(&mut self, fetched: Keys) {
        let before = self.keys.take().map(|confirmed| confirmed.keys);
        let unchanged = before.filter(|keys| keys.digest == fetched.digest);
        let keys = unchanged.unwrap_or_else(|| Arc::new(fetched));
        self.keys = Some(ConfirmedKeys { keys, at: Instant::now() });
        self.last_error = None;
    }
}
