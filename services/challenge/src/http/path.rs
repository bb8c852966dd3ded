//! The ids in a path, as text. Whether the goal exists is checked by the operations.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::Response;

use super::error::refusal_response;
use crate::refusal::Code;

/// `…/challenges/{challenge_id}/goals/{goal_id}/…`, percent-decoded.
pub(super) struct GoalPath {
    pub(super) challenge_id: String,
    pub(super) goal_id: String,
}

/// `…/challenges/{challenge_id}/…`, percent-decoded.
pub(super) struct ChallengePath(pub(super) String);

const NOT_UTF8: &str = "the path's ids are not UTF-8";

impl<S: Send + Sync> FromRequestParts<S> for ChallengePath {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        id.map(|Path(id)| Self(id)).map_err(|_| refusal_response(Code::InvalidRequest, NOT_UTF8))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for GoalPath {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let ids = Path::<(String, String)>::from_request_parts(parts, state).await;
        let invalid = |_| refusal_response(Code::InvalidRequest, NOT_UTF8);
        let Path((challenge_id, goal_id)) = ids.map_err(invalid)?;
        Ok(Self { challenge_id, goal_id })
    }
}
