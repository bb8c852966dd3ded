//! `POST v1/challenges/{challenge_id}/goals/{goal_id}/claim`

use super::identity::Caller;
use super::{Api, json};
use crate::operations::Refusal;
use crate::rules::Status;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done<'a> {
    goal_id: &'a str,
    status: &'static str,
    reward: Reward<'a>,
    claimed_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reward<'a> {
    r#type: &'a str,
    reward_id: &'a str,
    quantity: i32,
}

/// The body carries nothing and is not read.
pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    Path((challenge_id, goal_id)): Path<(String, String)>,
    Caller(user): Caller,
) -> Result<Response, Refusal> {
    let goal = api.operations.find(&challenge_id, &goal_id)?;
    let claimed_at = api.operations.claim(user, goal).await?.to_string();
    let reward = &api.operations.catalog.goal(goal).reward;
    let reward = Reward { r#type: reward.kind, reward_id: &reward.id, quantity: reward.quantity };
    let done = Done { goal_id: &goal_id, status: Status::Claimed.word(), reward, claimed_at };
    // Texts and numbers only, which always serialise.
    Ok(json(serde_json::to_string(&done).unwrap_or_default()))
}
