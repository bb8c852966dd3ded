//! The operations in the messages of the interface, the same for every transport: validates a request ([`requests`]),
//! checks what its caller may do, and makes the response ([`messages`]).

mod categories;
mod favorites;
mod listings;
mod messages;
mod products;
mod requests;
mod stock;

use std::sync::Arc;

use crate::operations::Operations;
use crate::refusal::Refusal;

/// One method for each rpc.
#[derive(Clone)]
pub struct Api {
    operations: Arc<Operations>,
}

impl Api {
    /// The interface of these operations.
    #[must_use]
    pub fn new(operations: Arc<Operations>) -> Self {
        Self { operations }
    }
}

type ApiResult<T> = Result<T, Refusal>;
