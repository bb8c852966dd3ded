//! What happens to a user's goals, as pure functions: a user's rows in, changed rows out.
//!
//! No store, no clock, no runtime, no transport. Every write path goes through here, so that HTTP, gRPC and events
//! cannot come to differ. Start at [`UserGoals`].

mod change;
mod claim;
mod order;
mod state;
mod status;

pub use change::{Activation, Happening, apply, assign_defaults, set_active};
pub use claim::{ClaimRefusal, claimable, mark_claimed};
pub use order::EventOrder;
pub use state::{GoalRow, UserGoals};
pub use status::{Status, is_locked, progress, status};

#[cfg(test)]
mod tests;
