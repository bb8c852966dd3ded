//! The keys that there are now: fetched at start, refreshed, fetched again when a token names one that is not there.

use super::TokenError;
use super::keys::Keys;
use super::source::Source;
use prometheus_client::metrics::counter::Counter;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Semaphore, watch};

/// However many unknown keys are named, the key server is asked about them no more often than this.
const REFETCH_GAP: Duration = Duration::from_secs(5);
/// Tokens that may wait for keys at once, so that forged ones cannot take every place that requests have.
const WAITING: usize = 64;
/// After a failed fetch; doubled with every further one up to the longest.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The newest keys, and why there are no newer ones.
struct State {
    keys: Option<(Arc<Keys>, Instant)>,
    trouble: Option<String>,
}

pub(super) struct Ring {
    source: Source,
    /// How long keys are used that could not be confirmed since.
    keep: Duration,
    state: watch::Sender<State>,
    /// When the last fetch began; held while one is under way, so that there is never a second.
    last_fetch: Mutex<Option<Instant>>,
    waiting: Semaphore,
    /// Fetches that succeeded, and that failed.
    fetches: [Counter; 2],
}

impl Ring {
    pub(super) fn new(source: Source, keep: Duration, fetches: [Counter; 2]) -> Self {
        let state = watch::Sender::new(State { keys: None, trouble: None });
        let (last_fetch, waiting) = (Mutex::new(None), Semaphore::new(WAITING));
        Self { source, keep, state, last_fetch, waiting, fetches }
    }

    /// The keys to verify with.
    pub(super) fn current(&self) -> Result<Arc<Keys>, TokenError> {
        let state = self.state.borrow();
        match &state.keys {
            Some((keys, confirmed)) if confirmed.elapsed() <= self.keep => Ok(Arc::clone(keys)),
            _ => Err(TokenError::NoKeys),
        }
    }

    pub(super) fn probe(&self) -> Result<(), String> {
        self.current().map(drop).map_err(|_| {
            let state = self.state.borrow();
            let trouble = state.trouble.as_deref().unwrap_or("they are being fetched");
            format!("no keys to verify tokens with: {trouble}")
        })
    }

    pub(super) async fn ready(&self) {
        // The sender lives as long as this does.
        let mut states = self.state.subscribe();
        let _there = states.wait_for(|state| state.keys.is_some()).await;
    }

    /// Keys that are newer than those `seen`, if the key server has some and was not asked a moment ago.
    pub(super) async fn refetched(&self, seen: &Arc<Keys>) -> Result<Arc<Keys>, TokenError> {
        let _place = self.waiting.try_acquire().map_err(|_| TokenError::Busy)?;
        let mut last_fetch = self.last_fetch.lock().await;
        let keys = self.current()?;
        let is_recent = last_fetch.is_some_and(|begun| begun.elapsed() < REFETCH_GAP);
        if is_recent || !Arc::ptr_eq(&keys, seen) {
            return Ok(keys);
        }
        *last_fetch = Some(Instant::now());
        let _told = self.fetch().await;
        self.current()
    }

    /// Fetches now and every `period`; sooner after a failure, less so after each further one.
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
                Err(trouble) => {
                    tracing::warn!(%trouble, "the keys to verify tokens with could not be fetched");
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
        self.fetches[usize::from(parsed.is_err())].inc();
        match parsed {
            Ok(keys) => {
                self.state.send_modify(|state| state.confirm(keys));
                Ok(())
            }
            Err(trouble) => {
                self.state.send_modify(|state| state.trouble = Some(trouble.clone()));
                Err(trouble)
            }
        }
    }
}

impl State {
    /// The same keys as before stay, with the tokens verified by them.
    fn confirm(&mut self, fetched: Keys) {
        let kept = self.keys.take().map(|(keys, _)| keys).filter(|keys| keys.digest == fetched.digest);
        self.keys = Some((kept.unwrap_or_else(|| Arc::new(fetched)), Instant::now()));
        self.trouble = None;
    }
}
