//! `POST v1/challenges/{challenge_id}/goals/batch-select` and `…/random-select`

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::identity::Caller;
use super::path::ChallengePath;
use super::{Api, body, json};
use crate::operations::{DrawRequest, NamedRequest, Refusal};
use crate::render;
use crate::rules::{ActiveGoals, OtherGoals};
use crate::view::SelectionView;

#[derive(Deserialize)]
struct BatchBody {
    #[serde(rename = "goalIds", alias = "goal_ids")]
    goal_ids: Option<Vec<String>>,
    #[serde(rename = "replaceExisting", alias = "replace_existing")]
    replace_existing: Option<bool>,
}

#[derive(Deserialize)]
struct RandomBody {
    count: Option<i32>,
    #[serde(rename = "replaceExisting", alias = "replace_existing")]
    replace_existing: Option<bool>,
    #[serde(rename = "excludeActive", alias = "exclude_active")]
    exclude_active: Option<bool>,
}

pub(super) async fn batch(
    State(api): State<Arc<Api>>,
    ChallengePath(challenge_id): ChallengePath,
    Caller(place): Caller,
    body: Body,
) -> Result<Response, Response> {
    let challenge = api.operations.find_challenge(&challenge_id).map_err(IntoResponse::into_response)?;
    let request: BatchBody = body::object(body).await?;
    let request = NamedRequest {
        goal_ids: request.goal_ids.unwrap_or_default(),
        others: OtherGoals::replaced_if(request.replace_existing),
    };
    Ok(answer(api.operations.select_named(place.caller().clone(), challenge, request).await))
}

pub(super) async fn random(
    State(api): State<Arc<Api>>,
    ChallengePath(challenge_id): ChallengePath,
    Caller(place): Caller,
    body: Body,
) -> Result<Response, Response> {
    let challenge = api.operations.find_challenge(&challenge_id).map_err(IntoResponse::into_response)?;
    let request: RandomBody = body::object(body).await?;
    let draw = DrawRequest {
        count: request.count.unwrap_or_default(),
        active: ActiveGoals::excluded_if(request.exclude_active),
        others: OtherGoals::replaced_if(request.replace_existing),
    };
    Ok(answer(api.operations.select_drawn(place.caller().clone(), challenge, draw).await))
}

fn answer(selected: Result<SelectionView<'_>, Refusal>) -> Response {
    selected.map_or_else(IntoResponse::into_response, |view| json(render::json(&view)))
}
