//! `GET v1/challenges/{challenge_id}/rotation`

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::path::ChallengePath;
use super::{Api, json};
use crate::operations::Refusal;
use crate::render;

pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    ChallengePath(challenge_id): ChallengePath,
) -> Result<Response, Refusal> {
    let challenge = api.operations.find_challenge(&challenge_id)?;
    Ok(json(render::json(&api.operations.rotation(challenge))))
}
