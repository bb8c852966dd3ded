//! Where rewards are granted. Every grant carries an idempotency key: two calls with one key grant once.

mod http;
mod ledger;
mod token;

use std::future::Future;
use std::pin::Pin;

use crate::grant::Grant;
pub use http::{HttpRewards, RewardSettings};
pub use ledger::Ledger;
pub use token::Token;

/// Why it is not known that a reward was granted. Repeating the call with the same key is always safe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The reward service refused this grant; it may accept others.
    #[error("the reward was refused: {0}")]
    Refused(String),
    /// The reward service neither confirmed nor refused the grant.
    #[error("the reward service did not answer: {0}")]
    Unanswered(String),
}

pub type GrantFuture<'a> = Pin<Box<dyn Future<Output = Result<(), GrantError>> + Send + 'a>>;

/// Grants rewards, idempotently by key. It is never called inside a database transaction.
pub trait RewardClient: Send + Sync {
    /// Grants once for each key, however often it is called.
    fn grant(&self, grant: Grant) -> GrantFuture<'_>;
}
