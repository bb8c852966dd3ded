//! The JSON object in a request's body, as in the JSON mapping of protobuf: absent members and null mean zero, unknown
//! members are ignored.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use serde::de::DeserializeOwned;

use super::error::refusal_response;
use crate::refusal::Code;

const MAX_BODY_BYTES: usize = 16 * 1024;
/// Without a limit, a body that arrives slowly would hold a slot of the request limit indefinitely.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// Reads the body; an empty one is an empty object.
pub(super) async fn object<T: DeserializeOwned>(body: Body) -> Result<T, Response> {
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
    serde_json::from_str(text).map_err(|error| invalid(error.to_string()))
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
        let refused = object::<serde_json::Value>(Body::new(Never)).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
    }
}
