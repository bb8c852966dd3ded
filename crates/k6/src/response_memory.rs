//! The memory for responses that virtual users receive and hold.

use std::sync::Arc;

use engine::{BodyBudget, BudgetError, HeldBytes};
use wire::Headers;

/// What the responses of a run that scripts receive and hold may take at once.
pub(crate) const BODY_BUDGET_BYTES: usize = 1 << 30;

/// What a field takes besides its name and value.
const FIELD_BYTES: usize = 16;

/// What is left of it, and how to get more.
#[derive(Clone, Copy)]
pub(crate) struct ResponseMemory<'a> {
    pub(crate) budget: &'a Arc<BodyBudget>,
    /// Frees responses that only refer to themselves.
    pub(crate) collect: &'a dyn Fn(),
}

impl ResponseMemory<'_> {
    /// Take so many more bytes.
    pub(crate) fn grow(&self, held: &mut HeldBytes, by: usize) -> Result<(), BudgetError> {
        held.grow(by).or_else(|_| {
            (self.collect)();
            held.grow(by)
        })
    }
}

/// What headers take.
pub(crate) fn fields_bytes(headers: &Headers) -> usize {
    headers.iter().map(|(name, value)| name.len() + value.len() + FIELD_BYTES).sum()
}
