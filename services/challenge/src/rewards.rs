//! Where rewards are granted. A grant carries a key; asking twice with one key must grant once.

use crate::store::Store;
use crate::user::UserId;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// One reward for one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The same for every attempt at this grant, and for no other.
    pub idempotency_key: String,
    /// Who receives it.
    pub user: UserId,
    /// `ITEM` or `WALLET`.
    pub reward_type: String,
    /// The item or currency.
    pub reward_id: String,
    /// How many.
    pub quantity: i32,
}

/// The reward was not granted, or it is unknown whether it was; asking again with the same key is safe.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the reward was not granted: {0}")]
pub struct GrantError(pub String);

/// What a grant ends in.
pub type Granting<'a> = Pin<Box<dyn Future<Output = Result<(), GrantError>> + Send + 'a>>;

/// Grants rewards, idempotently by key. It is never called inside a database transaction.
pub trait RewardClient: Send + Sync {
    /// Grants once for each key, however often it is called.
    fn grant(&self, grant: Grant) -> Granting<'_>;
}

/// The embedded deployment's rewards: a ledger in the service's own database, where a game reads what to hand out.
pub struct Ledger {
    store: Arc<Store>,
}

impl Ledger {
    /// A ledger kept in `store`.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

impl RewardClient for Ledger {
    fn grant(&self, grant: Grant) -> Granting<'_> {
        Box::pin(async move { self.store.enter_grant(grant).await.map_err(|e| GrantError(e.to_string())) })
    }
}
