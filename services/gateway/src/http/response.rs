//! Responses: JSON, with `{"error": …}` for refusals.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use kit::auth::Denied;
use serde_json::json as value;

use crate::accept::{AcceptOutcome, NO_SPACE, RefusedSample, RequestRefusal};
use crate::intake::BodyError;

/// Seconds after which a refused request may be tried again.
const RETRY_AFTER_S: &str = "1";

pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn error(status: StatusCode, why: &str) -> Response {
    let mut response = json(status, value!({ "error": why }).to_string());
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    }
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The response to a caller who is not identified, or not allowed.
pub(super) fn denied(denied: Denied) -> Response {
    let status = match denied {
        Denied::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Denied::Forbidden(_) => StatusCode::FORBIDDEN,
        Denied::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    error(status, &denied.to_string())
}

/// The response to a request that the queue has no space for; its body is made once.
#[must_use]
pub fn overloaded() -> Response {
    static BODY: LazyLock<Bytes> = LazyLock::new(|| value!({ "error": NO_SPACE }).to_string().into());
    let mut response = json(StatusCode::SERVICE_UNAVAILABLE, BODY.clone());
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    response
}

/// The response to a device that has as many requests in flight as may be.
pub(super) fn device_busy() -> Response {
    error(StatusCode::TOO_MANY_REQUESTS, "too many requests of this device at once")
}

const RECEIVED: &str = "Telemetry received";

/// The response to a request that was read; `status` is that of an acknowledgement.
pub(super) fn accepted(outcome: &AcceptOutcome, status: StatusCode) -> Response {
    static ONE: LazyLock<Bytes> = LazyLock::new(|| acknowledgement(1).into());
    let refused = || {
        let refused = outcome.refused.iter().map(|RefusedSample { index, invalid }| {
            value!({ "index": index, "member": invalid.member, "reason": invalid.to_string() })
        });
        refused.collect::<Vec<_>>()
    };
    match (outcome.accepted, outcome.refused.is_empty()) {
        (1, true) => json(status, ONE.clone()),
        (0, true) => error(StatusCode::BAD_REQUEST, "there is no sample in the body"),
        (0, false) => {
            let body =
                value!({ "error": "no sample could be accepted", "accepted": 0, "refused": refused() });
            json(StatusCode::BAD_REQUEST, body.to_string())
        }
        (count, true) => json(status, acknowledgement(count)),
        (count, false) => {
            let body = value!({ "ok": true, "message": RECEIVED, "accepted": count, "refused": refused() });
            json(status, body.to_string())
        }
    }
}

fn acknowledgement(count: usize) -> String {
    value!({ "ok": true, "message": RECEIVED, "accepted": count, "refused": [] }).to_string()
}

pub(super) fn refused(why: &RequestRefusal) -> Response {
    let status = match why {
        RequestRefusal::NoSpace => return overloaded(),
        RequestRefusal::Denied(reason) => return denied(*reason),
        RequestRefusal::Unreadable(BodyError::TooMany(_)) => StatusCode::PAYLOAD_TOO_LARGE,
        RequestRefusal::Unreadable(_) => StatusCode::BAD_REQUEST,
        RequestRefusal::NotPersisted(_) | RequestRefusal::NotHandedOnInTime => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    };
    error(status, &why.to_string())
}
