//! Where rewards are granted. A grant carries a key; asking twice with one key must grant once.

mod http;
mod ledger;
mod token;

pub use http::{HttpRewards, RewardSettings};
pub use ledger::Ledger;
pub use token::Token;

use crate::user::UserId;
use std::future::Future;
use std::pin::Pin;

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

/// Why it is not known that a reward was granted. Asking again with the same key is always safe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The reward service said no to this grant; it may be fit for others.
    #[error("the reward was refused: {0}")]
    Refused(String),
    /// It gave no answer that says yes or no.
    #[error("the reward service did not answer: {0}")]
    Unanswered(String),
}

/// What a grant ends in.
pub type Granting<'a> = Pin<Box<dyn Future<Output = Result<(), GrantError>> + Send + 'a>>;

/// Grants rewards, idempotently by key. It is never called inside a database transaction.
pub trait RewardClient: Send + Sync {
    /// Grants once for each key, however often it is called.
    fn grant(&self, grant: Grant) -> Granting<'_>;
}
