//! Cached answers of the store and their invalidation.

#[cfg(feature = "faults")]
mod faults;
mod local;
mod shared;
mod single_flight;
mod value;

pub use local::{LocalCache, ScopeVersion};
pub(crate) use shared::wait_for_generation_expiry;
pub use shared::{ClosedScopes, GENERATION_TTL, SharedCache};
pub use value::CachedValue;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use kit::metrics::Metrics;
use kit::store::StoreError;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::scope::{CacheScope, ScopeKind};
use shared::SharedFillToken;
use single_flight::SingleFlight;

/// A cache, or none. Clones share it.
#[derive(Debug, Clone)]
pub enum Cache {
    /// Nothing is cached: every read queries the store.
    Off,
    /// In this process, for a store that only this process writes.
    Local(Arc<LocalCache>),
    /// In Redis, for a database that several processes share.
    Shared(Arc<SharedCache>),
}

/// What a reader gets on a miss; with it the reader may add the answer.
#[derive(Debug, Clone)]
pub(crate) enum FillToken {
    None,
    Local(ScopeVersion),
    Shared(SharedFillToken),
}

/// The generation of cached answers that the database currently allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObservedGeneration {
    pub(crate) number: i64,
    /// When the query that read it began.
    pub(crate) observed_at: Instant,
}

impl Cache {
    /// Invalidates these scopes in the cache of the embedded store; called before the write is answered.
    pub(crate) fn invalidate_local(&self, scopes: &BTreeSet<CacheScope>) {
        if let Self::Local(local) = self {
            local.invalidate(scopes);
        }
    }

    /// Closes these scopes before the commit of a write to a shared database.
    pub(crate) async fn close(&self, scopes: &BTreeSet<CacheScope>) -> ClosedScopes {
        match self {
            Self::Shared(shared) if !scopes.is_empty() => shared.close(scopes).await,
            _ => ClosedScopes::default(),
        }
    }

    /// Opens the scopes after the commit. True when no replica can find an answer from before the commit any more.
    pub(crate) async fn open(&self, closed: &ClosedScopes) -> bool {
        match self {
            Self::Shared(shared) if !closed.is_empty() => shared.open(closed).await,
            _ => true,
        }
    }

    /// Uses this generation until it expires.
    pub(crate) fn use_generation(&self, generation: ObservedGeneration) {
        if let Self::Shared(shared) = self {
            shared.use_generation(generation);
        }
    }

    /// Whether the cache works; a cache that is off does.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub fn probe(&self) -> Result<(), String> {
        match self {
            Self::Shared(shared) if !shared.is_up() => Err("Redis does not answer".to_owned()),
            _ => Ok(()),
        }
    }

    async fn look_up(&self, scopes: &[CacheScope], key: &str) -> Vec<Result<CachedValue, FillToken>> {
        match self {
            Self::Off => vec![Err(FillToken::None); scopes.len()],
            Self::Local(local) => {
                scopes.iter().map(|scope| local.look_up(scope, key).map_err(FillToken::Local)).collect()
            }
            Self::Shared(shared) => {
                let token = |token: Option<SharedFillToken>| token.map_or(FillToken::None, FillToken::Shared);
                Box::pin(shared.look_up(scopes, key))
                    .await
                    .into_iter()
                    .map(|found| found.map_err(token))
                    .collect()
            }
        }
    }

    async fn add(&self, scope: &CacheScope, key: &str, token: FillToken, value: &CachedValue) {
        match (self, token) {
            (Self::Local(local), FillToken::Local(version)) => local.add(scope, key, version, value.clone()),
            (Self::Shared(shared), FillToken::Shared(token)) => shared.add(scope, key, token, value).await,
            _ => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

/// Reads of the store through a cache.
#[derive(Debug)]
pub struct CachedReads {
    cache: Cache,
    single_flight: SingleFlight,
    hits: [Counter; ScopeKind::ALL.len()],
    misses: [Counter; ScopeKind::ALL.len()],
}

impl CachedReads {
    /// Reads through this cache.
    #[must_use]
    pub fn new(cache: Cache, metrics: &Metrics) -> Self {
        let (hits, misses) =
            (Family::<KindLabel, Counter>::default(), Family::<KindLabel, Counter>::default());
        metrics.register(|registry| {
            registry.register("cache_hits", "Answers from the cache, by kind", hits.clone());
            registry.register("cache_misses", "Answers from the store, by kind", misses.clone());
        });
        let of = |family: &Family<KindLabel, Counter>| {
            ScopeKind::ALL.map(|kind| family.get_or_create_owned(&KindLabel { kind: kind.as_str() }))
        };
        Self { cache, single_flight: SingleFlight::default(), hits: of(&hits), misses: of(&misses) }
    }

    /// The cached answer under `key` in `scope`, or the result of `query`. Concurrent calls with the same scope and key
    /// share a query, which begins after all of them were made.
    ///
    /// # Errors
    /// The errors of `query`.
    pub async fn get<Q>(
        &self,
        scope: CacheScope,
        key: &str,
        query: impl FnOnce() -> Q,
    ) -> Result<CachedValue, StoreError>
    where
        Q: Future<Output = Result<CachedValue, StoreError>>,
    {
        let mut found = self.look_up(std::slice::from_ref(&scope), key).await;
        let token = match found.pop().unwrap_or(Err(FillToken::None)) {
            Ok(value) => return Ok(value),
            Err(token) => token,
        };
        let flight_key = (scope.clone(), key.to_owned());
        // A query's future has tens of kilobytes, which a read that finds its answer need not move: it is boxed.
        let query_and_add = Box::pin(async {
            let value = query().await?;
            self.add(&scope, key, token, &value).await;
            Ok(value)
        });
        #[cfg(feature = "faults")]
        if faults::is_on() {
            return query_and_add.await;
        }
        self.single_flight.share(flight_key, query_and_add).await
    }

    /// For each scope the cached answer under `key`, or the token with which it may be added.
    pub(crate) async fn look_up(
        &self,
        scopes: &[CacheScope],
        key: &str,
    ) -> Vec<Result<CachedValue, FillToken>> {
        let found = self.cache.look_up(scopes, key).await;
        #[cfg(feature = "faults")]
        let found = faults::discard(found, scopes, key);
        for (scope, outcome) in scopes.iter().zip(&found) {
            let counters = if outcome.is_ok() { &self.hits } else { &self.misses };
            counters[scope.kind() as usize].inc();
        }
        found
    }

    pub(crate) async fn add(&self, scope: &CacheScope, key: &str, token: FillToken, value: &CachedValue) {
        #[cfg(feature = "faults")]
        faults::record_query(scope, key);
        self.cache.add(scope, key, token, value).await;
    }
}
