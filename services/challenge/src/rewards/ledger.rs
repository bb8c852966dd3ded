//! Rewards of the embedded deployment: a table in the service's own database.

use std::sync::Arc;

use super::{GrantError, GrantFuture, RewardClient};
use crate::grant::Grant;
use crate::store::Store;

/// The rewards of the embedded deployment: a ledger in the service's own database, which the game reads.
pub struct Ledger {
    store: Arc<Store>,
}

impl Ledger {
    /// A ledger in `store`.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

impl RewardClient for Ledger {
    fn grant(&self, grant: Grant) -> GrantFuture<'_> {
        Box::pin(async move {
            self.store.enter_grant(grant).await.map_err(|e| GrantError::Unanswered(e.to_string()))
        })
    }
}
