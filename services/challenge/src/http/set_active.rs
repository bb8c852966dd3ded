//! `PUT v1/challenges/{challenge_id}/goals/{goal_id}/active`

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::error::refusal_response;
use super::identity::Caller;
use super::path::GoalPath;
use super::{Api, json};
use crate::refusal::Code;
use crate::render;
use crate::rules::Activation;
use crate::view::ActiveSet;

const MAX_BODY_BYTES: usize = 16 * 1024;
/// Without a limit, a body that arrives slowly would hold a slot of the request limit indefinitely.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// Absent and null mean false, as in the JSON mapping of protobuf; unknown members are ignored.
#[derive(Deserialize)]
struct SetActiveBody {
    #[serde(rename = "isActive", alias = "is_active")]
    is_active: Option<bool>,
}

pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    GoalPath { challenge_id, goal_id }: GoalPath,
    Caller(user): Caller,
    body: Body,
) -> Result<Response, Response> {
    let goal = api.operations.find(&challenge_id, &goal_id).map_err(IntoResponse::into_response)?;
    let activation = read(body).await?;
    let row = api.operations.set_active(user, goal, activation).await.map_err(IntoResponse::into_response)?;
    Ok(json(render::json(&ActiveSet::of(&api.operations.catalog, &row, activation))))
}

async fn read(body: Body) -> Result<Activation, Response> {
    let too_slow = |_| refusal_response(Code::TooSlow, "the body did not arrive within 10 s");
    let too_large = |_| refusal_response(Code::TooLarge, "the body must arrive and be at most 16 KiB");
    let arrived = tokio::time::timeout(BODY_WAIT, to_bytes(body, MAX_BODY_BYTES)).await.map_err(too_slow)?;
    let bytes = arrived.map_err(too_large)?;
    let invalid = |reason: String| {
        refusal_response(Code::InvalidRequest, &format!("the body cannot be used: {reason}"))
    };
    // Ignored members are not parsed, so the whole body is checked for UTF-8 here.
    let text = std::str::from_utf8(&bytes).map_err(|error| invalid(error.to_string()))?.trim_ascii_start();
    let text = if text.is_empty() { "{}" } else { text };
    // Without this check, an array of the members' values would be accepted as an object.
    if !text.starts_with('{') {
        return Err(invalid("it must be an object".to_owned()));
    }
    let request: SetActiveBody = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    Ok(if request.is_active.unwrap_or_default() { Activation::On } else { Activation::Off })
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::http::StatusCode;
    use bytes::Bytes;
    use http_body::Frame;

    struct Never;

    impl http_body::Body for Never {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_arrives_releases_its_slot() {
        let refused = read(Body::new(Never)).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
    }
}
