//! `POST v1/challenges/{challenge_id}/goals/{goal_id}/claim`

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::identity::Caller;
use super::path::GoalPath;
use super::{Api, json};
use crate::operations::Refusal;
use crate::render;
use crate::view::Claimed;

/// The body has no content and is not read.
pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    GoalPath { challenge_id, goal_id }: GoalPath,
    Caller(place): Caller,
) -> Result<Response, Refusal> {
    let goal = api.operations.find(&challenge_id, &goal_id)?;
    let claimed_at = api.operations.claim(place, goal).await?;
    Ok(json(render::json(&Claimed::new(api.operations.catalog.goal(goal), claimed_at))))
}
