//! Refusals over HTTP: `{"errorCode","message","code"}`, the last being the gRPC code.

use crate::operations::Refusal;
use crate::refusal::{Code, NO_ROOM};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use kit::auth::Denied;
use std::sync::LazyLock;

/// Seconds after which a refused request may be tried again.
const RETRY_AFTER_S: &str = "1";

/// A refusal as a response.
pub(super) fn answer(refused: Code, message: &str) -> Response {
    let status = refused.status();
    let body = serde_json::json!({ "errorCode": refused.word(), "message": message, "code": refused.grpc() })
        .to_string();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// What a request is told that there is no room for; made once.
#[must_use]
pub fn overloaded() -> Response {
    static BODY: LazyLock<Bytes> = LazyLock::new(|| {
        let code = Code::Overloaded;
        let words = serde_json::json!({ "errorCode": code.word(), "message": NO_ROOM, "code": code.grpc() });
        words.to_string().into()
    });
    let mut response = Response::new(Body::from(BODY.clone()));
    *response.status_mut() = Code::Overloaded.status();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    response
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        answer(Code::from(&self), &self.to_string())
    }
}

/// To somebody who is not known, or may not.
pub(super) fn denied(denied: Denied) -> Response {
    answer(denied.into(), &denied.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_for_want_of_room_is_told_when_to_come_again() {
        for code in [Code::Overloaded, Code::Unavailable] {
            let refused = answer(code, "later");
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
        }
        assert!(!answer(Code::AlreadyClaimed, "no").headers().contains_key(header::RETRY_AFTER));
    }

    #[test]
    fn who_is_not_known_is_told_how_to_be() {
        assert_eq!(answer(Code::Unauthenticated, "who?").headers()[header::WWW_AUTHENTICATE], "Bearer");
        assert!(!answer(Code::Forbidden, "no").headers().contains_key(header::WWW_AUTHENTICATE));
    }

    #[test]
    fn a_failed_grant_is_a_bad_gateway() {
        let refused = Refusal::NotGranted.into_response();
        assert_eq!(refused.status(), StatusCode::BAD_GATEWAY);
    }
}
