//! `PUT v1/challenges/{challenge_id}/goals/{goal_id}/active`

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::identity::Caller;
use super::path::GoalPath;
use super::{Api, body, json};
use crate::render;
use crate::rules::Activation;
use crate::view::ActiveSet;

#[derive(Deserialize)]
struct SetActiveBody {
    #[serde(rename = "isActive", alias = "is_active")]
    is_active: Option<bool>,
}

pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    GoalPath { challenge_id, goal_id }: GoalPath,
    Caller(place): Caller,
    body: Body,
) -> Result<Response, Response> {
    let goal = api.operations.find(&challenge_id, &goal_id).map_err(IntoResponse::into_response)?;
    let request: SetActiveBody = body::object(body).await?;
    let activation = if request.is_active.unwrap_or_default() { Activation::On } else { Activation::Off };
    let row = api
        .operations
        .set_active(place.caller().clone(), goal, activation)
        .await
        .map_err(IntoResponse::into_response)?;
    Ok(json(render::json(&ActiveSet::new(&api.operations.catalog, &row, activation))))
}
