//! The rules of goals as pure functions: a user's rows in, changed rows out.
//!
//! No store, no clock, no runtime, no transport. Every write path calls these functions, so that HTTP, gRPC and events
//! cannot behave differently. Start at [`UserGoals`].

mod change;
mod claim;
mod order;
mod rotation;
mod select;
mod state;
mod status;

pub use change::{Activation, ActivityChange, GoalEvent, TriggeredEvent, apply, assign_defaults, set_active};
pub use claim::{ClaimRefusal, claimable, end_claim};
pub use order::EventOrder;
pub use rotation::{is_repeatable, rotate};
pub use select::{ActiveGoals, Choice, Draw, OtherGoals, SelectRefusal, Selected, Selection, select};
pub use state::{GoalRow, UserGoals};
pub use status::{Status, is_locked, progress, status};

#[cfg(test)]
mod tests;
