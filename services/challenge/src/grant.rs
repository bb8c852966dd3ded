//! One grant of a reward: what a user receives, under which idempotency key.

use crate::user::UserId;

/// One reward for one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The same for every attempt at this grant; no other grant has it.
    pub idempotency_key: String,
    /// The user who receives it.
    pub user: UserId,
    /// `ITEM` or `WALLET`.
    pub reward_type: String,
    /// The item or currency.
    pub reward_id: String,
    pub quantity: i32,
}
