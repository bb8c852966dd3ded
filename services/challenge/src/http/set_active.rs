//! `PUT v1/challenges/{challenge_id}/goals/{goal_id}/active`

use super::error::answer;
use super::identity::Caller;
use super::path::GoalPath;
use super::{Api, json};
use crate::refusal::Code;
use crate::render;
use crate::rules::Activation;
use crate::view::ActiveSet;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

const MAX_BODY_BYTES: usize = 16 * 1024;
/// A body that trickles in would hold one of the places for requests for as long as it likes.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// Absent and null mean false, as in the messages' own JSON mapping; unknown members are dropped.
#[derive(Deserialize)]
struct Asked {
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
    let too_slow = |_| answer(Code::TooSlow, "the body did not arrive within 10 s");
    let too_large = |_| answer(Code::TooLarge, "the body must arrive and be at most 16 KiB");
    let arrived = tokio::time::timeout(BODY_WAIT, to_bytes(body, MAX_BODY_BYTES)).await.map_err(too_slow)?;
    let bytes = arrived.map_err(too_large)?;
    let unfit = |reason: String| answer(Code::InvalidRequest, &format!("the body cannot be used: {reason}"));
    // Members that are dropped are not looked into: here is seen that they are text at all.
    let text = std::str::from_utf8(&bytes).map_err(|error| unfit(error.to_string()))?.trim_ascii_start();
    let text = if text.is_empty() { "{}" } else { text };
    // Without this look, a list of the members' values would be read as the members.
    if !text.starts_with('{') {
        return Err(unfit("it must be an object".to_owned()));
    }
    let asked: Asked = serde_json::from_str(text).map_err(|error| unfit(error.to_string()))?;
    Ok(if asked.is_active.unwrap_or_default() { Activation::On } else { Activation::Off })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use bytes::Bytes;
    use http_body::Frame;
    use std::pin::Pin;
    use std::task::{Context, Poll};

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
    async fn a_body_that_never_arrives_gives_its_place_back() {
        let refused = read(Body::new(Never)).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
    }
}
