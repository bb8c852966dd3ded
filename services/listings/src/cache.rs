//! What answers of the store are remembered, and when they are forgotten.

#[cfg(feature = "faults")]
mod faults;
mod flights;
mod local;
mod shared;
mod value;

pub use local::{Local, Number};
pub(crate) use shared::until_nobody_believes;
pub use shared::{BELIEVED_FOR, Closing, Shared};
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
    /// In Redis, for a database that several processes share.
    Shared(Arc<Shared>),
}

/// With what an answer may be added after a miss.
#[derive(Debug, Clone)]
pub(crate) enum Ticket {
    None,
    Local(Number),
    Shared(shared::Ticket),
}

impl Cache {
    /// Forgets, before a write is answered, what it has touched; for the embedded store.
    pub(crate) fn forget_here(&self, scopes: &BTreeSet<Scope>) {
        if let Self::Local(local) = self {
            local.forget(scopes);
        }
    }

    /// Before the commit of a write that touches these, in a database that is shared.
    pub(crate) async fn close(&self, scopes: &BTreeSet<Scope>) -> Closing {
        match self {
            Self::Shared(shared) if !scopes.is_empty() => shared.close(scopes).await,
            _ => Closing::default(),
        }
    }

    /// After the commit; whether nobody can find any more what was there before.
    pub(crate) async fn open(&self, closing: &Closing) -> bool {
        match self {
            Self::Shared(shared) if !closing.is_empty() => shared.open(closing).await,
            _ => true,
        }
    }

    /// Believes the generation that a look at the database has found, and when the look began.
    pub(crate) fn believe(&self, seen: (i64, std::time::Instant)) {
        if let Self::Shared(shared) = self {
            shared.believe(seen);
        }
    }

    /// Whether it works: a cache that is off does.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn probe(&self) -> Result<(), String> {
        match self {
            Self::Shared(shared) if !shared.is_up() => Err("Redis does not answer".to_owned()),
            _ => Ok(()),
        }
    }

    async fn look(&self, scopes: &[Scope], key: &str) -> Vec<Result<Value, Ticket>> {
        match self {
            Self::Off => vec![Err(Ticket::None); scopes.len()],
            Self::Local(local) => {
                scopes.iter().map(|scope| local.look(scope, key).map_err(Ticket::Local)).collect()
            }
            Self::Shared(shared) => {
                let ticket = |ticket: Option<shared::Ticket>| ticket.map_or(Ticket::None, Ticket::Shared);
                shared.look(scopes, key).await.into_iter().map(|found| found.map_err(ticket)).collect()
            }
        }
    }

    async fn add(&self, scope: &Scope, (key, ticket): (&str, Ticket), value: &Value) {
        match (self, ticket) {
            (Self::Local(local), Ticket::Local(number)) => local.add(scope, (key, number), value.clone()),
            (Self::Shared(shared), Ticket::Shared(ticket)) => shared.add(scope, (key, ticket), value).await,
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
        let mut looked = self.look(std::slice::from_ref(&scope), key).await;
        let ticket = match looked.pop().unwrap_or(Err(Ticket::None)) {
            Ok(value) => return Ok(value),
            Err(ticket) => ticket,
        };
        let (asked, text) = ((scope.clone(), key.to_owned()), key);
        let query = async {
            let value = ask.await?;
            self.add(&scope, (text, ticket), &value).await;
            Ok(value)
        };
        #[cfg(feature = "faults")]
        if faults::is_on() {
            return query.await;
        }
        self.flights.share(asked, query).await
    }

    /// Of each scope what is remembered under `key`, or with what it may be added.
    pub(crate) async fn look(&self, scopes: &[Scope], key: &str) -> Vec<Result<Value, Ticket>> {
        let looked = self.cache.look(scopes, key).await;
        #[cfg(feature = "faults")]
        let looked = faults::forget(looked, (scopes, key));
        for (scope, found) in scopes.iter().zip(&looked) {
            let counters = if found.is_ok() { &self.hits } else { &self.misses };
            counters[scope.kind() as usize].inc();
        }
        looked
    }

    pub(crate) async fn add(&self, scope: &Scope, entry: (&str, Ticket), value: &Value) {
        #[cfg(feature = "faults")]
        faults::learn(scope, entry.0);
        self.cache.add(scope, entry, value).await;
    }
}
