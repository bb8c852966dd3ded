//! `POST v1/challenges/initialize`

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::identity::Caller;
use super::{Api, json};
use crate::operations::Refusal;

/// The body has no content and is not read.
pub(super) async fn handle(State(api): State<Arc<Api>>, Caller(place): Caller) -> Result<Response, Refusal> {
    let result = api.operations.initialize(place.caller().clone()).await?;
    Ok(json(api.initialize.render(&api.operations.catalog, &result)))
}
