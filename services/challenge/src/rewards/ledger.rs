//! Rewards of the embedded deployment: a table in the service's own database.

use super::{Grant, GrantError, Granting, RewardClient};
use crate::store::Store;
use std::sync::Arc;

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
        Box::pin(async move {
            self.store.enter_grant(grant).await.map_err(|e| GrantError::Unanswered(e.to_string()))
        })
    }
}
