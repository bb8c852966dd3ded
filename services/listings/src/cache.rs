//! What answers of the store are remembered, and when they are forgotten.

mod flights;
mod local;
mod value;

pub use local::{Local, Number};
pub use value::Value;

use crate::scope::{Kind, Scope};
use flights::Flights;
use kit::metrics::Metrics;
use kit::store::StoreError;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A cache, or none. Clones share it.
#[derive(Debug, Clone)]
pub enum Cache {
    /// Nothing is remembered: every read asks the store.
    Off,
    /// In this process, for a store that this process alone writes.
    Local(Arc<Local>),
}

/// With what an answer may be added after a miss.
#[derive(Debug, Clone)]
pub(crate) enum Ticket {
    None,
    Local(Number),
}

impl Cache {
    /// Forgets, before a write is answered, what it has touched; for the embedded store.
    pub(crate) fn forget_here(&self, scopes: &BTreeSet<Scope>) {
        if let Self::Local(local) = self {
            local.forget(scopes);
        }
    }

    async fn look(&self, scope: &Scope, key: &str) -> Result<Value, Ticket> {
        match self {
            Self::Off => Err(Ticket::None),
            Self::Local(local) => local.look(scope, key).map_err(Ticket::Local),
        }
    }

    async fn add(&self, scope: &Scope, (key, ticket): (&str, Ticket), value: &Value) {
        match (self, ticket) {
            (Self::Local(local), Ticket::Local(number)) => local.add(scope, (key, number), value.clone()),
            _ => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

/// The store's answers through a cache.
#[derive(Debug)]
pub struct Remembered {
    cache: Cache,
    flights: Flights,
    hits: [Counter; Kind::ALL.len()],
    misses: [Counter; Kind::ALL.len()],
}

impl Remembered {
    /// Answers through this cache.
    #[must_use]
    pub fn new(cache: Cache, metrics: &Metrics) -> Self {
        let (hits, misses) =
            (Family::<KindLabel, Counter>::default(), Family::<KindLabel, Counter>::default());
        metrics.register(|registry| {
            registry.register("cache_hits", "Answers that were remembered, by kind", hits.clone());
            registry.register(
                "cache_misses",
                "Answers that the store was asked for, by kind",
                misses.clone(),
            );
        });
        let of = |family: &Family<KindLabel, Counter>| {
            Kind::ALL.map(|kind| family.get_or_create_owned(&KindLabel { kind: kind.word() }))
        };
        Self { cache, flights: Flights::default(), hits: of(&hits), misses: of(&misses) }
    }

    /// What is remembered under `key` in `scope`, or what `ask` says: of a query that began after this was called,
    /// which others may have asked.
    ///
    /// # Errors
    /// What `ask` says.
    pub async fn get(
        &self,
        (scope, key): (Scope, &str),
        ask: impl Future<Output = Result<Value, StoreError>>,
    ) -> Result<Value, StoreError> {
        let ticket = match self.look(&scope, key).await {
            Ok(value) => return Ok(value),
            Err(ticket) => ticket,
        };
        let (asked, text) = ((scope.clone(), key.to_owned()), key);
        let query = async {
            let value = ask.await?;
            self.cache.add(&scope, (text, ticket), &value).await;
            Ok(value)
        };
        self.flights.share(asked, query).await
    }

    pub(crate) async fn look(&self, scope: &Scope, key: &str) -> Result<Value, Ticket> {
        let found = self.cache.look(scope, key).await;
        let counters = if found.is_ok() { &self.hits } else { &self.misses };
        counters[scope.kind() as usize].inc();
        found
    }

    pub(crate) async fn add(&self, scope: &Scope, entry: (&str, Ticket), value: &Value) {
        self.cache.add(scope, entry, value).await;
    }
}
