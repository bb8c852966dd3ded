//! Refusals over HTTP: `{"errorCode","message","code"}`, the last being the gRPC code.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use kit::auth::Denied;

use crate::operations::Refusal;
use crate::refusal::{Code, OVERLOADED_MESSAGE};

/// Seconds after which a refused request may be retried.
const RETRY_AFTER_S: &str = "1";

/// A refusal as a response.
pub(super) fn refusal_response(code: Code, message: &str) -> Response {
    let status = code.status();
    let body =
        serde_json::json!({ "errorCode": code.name(), "message": message, "code": code.grpc() }).to_string();
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

/// The response to requests above a limit. Its body is made once, because it is sent most when the service is busiest.
#[must_use]
pub fn overloaded() -> Response {
    static BODY: LazyLock<Bytes> = LazyLock::new(|| {
        let code = Code::Overloaded;
        serde_json::json!({ "errorCode": code.name(), "message": OVERLOADED_MESSAGE, "code": code.grpc() })
            .to_string()
            .into()
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
        refusal_response(Code::from(&self), &self.to_string())
    }
}

/// The response to a caller who is not authenticated, or not allowed.
pub(super) fn denied(denied: Denied) -> Response {
    refusal_response(denied.into(), &denied.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_503_response_has_retry_after() {
        for code in [Code::Overloaded, Code::Unavailable] {
            let refused = refusal_response(code, "later");
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
        }
        assert!(!refusal_response(Code::AlreadyClaimed, "no").headers().contains_key(header::RETRY_AFTER));
    }

    #[test]
    fn a_401_response_names_the_authentication_scheme() {
        assert_eq!(
            refusal_response(Code::Unauthenticated, "unknown").headers()[header::WWW_AUTHENTICATE],
            "Bearer"
        );
        assert!(!refusal_response(Code::Forbidden, "no").headers().contains_key(header::WWW_AUTHENTICATE));
    }

    #[test]
    fn a_failed_grant_is_a_bad_gateway() {
        let refused = Refusal::NotGranted.into_response();
        assert_eq!(refused.status(), StatusCode::BAD_GATEWAY);
    }
}
