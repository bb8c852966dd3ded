//! The goal that a path names, as text. Whether there is such a goal is the operations' business.

use super::error::answer;
use crate::refusal::Code;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::Response;

/// `…/challenges/{challenge_id}/goals/{goal_id}/…`, with percent-encoding undone.
pub(super) struct GoalPath {
    pub(super) challenge_id: String,
    pub(super) goal_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for GoalPath {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let named = Path::<(String, String)>::from_request_parts(parts, state).await;
        let unreadable = |_| answer(Code::InvalidRequest, "the path's ids are not UTF-8");
        let Path((challenge_id, goal_id)) = named.map_err(unreadable)?;
        Ok(Self { challenge_id, goal_id })
    }
}
