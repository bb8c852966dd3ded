//! `POST v1/challenges/initialize`

use super::identity::Caller;
use super::{Api, json};
use crate::operations::Refusal;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;

/// The body has no content and is not read.
pub(super) async fn handle(State(api): State<Arc<Api>>, Caller(user): Caller) -> Result<Response, Refusal> {
    let result = api.operations.initialize(user).await?;
    Ok(json(api.initialize.render(&api.operations.catalog, &result)))
}
