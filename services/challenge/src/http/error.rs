//! Refusals over HTTP: `{"errorCode","message","code"}`, the last being the gRPC code.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use crate::admission::NotAdmitted;
use crate::operations::{OVERLOADED_MESSAGE, Refusal};
use crate::refusal::Code;

/// Seconds after which a refused request may be retried.
const RETRY_AFTER_S: &str = "1";

pub(super) fn refusal_response(code: Code, message: &str) -> Response {
    let status = code.status();
    let body =
        serde_json::json!({ "errorCode": code.name(), "message": message, "code": code.grpc() }).to_string();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&status) {
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

/// The response to a request that is not admitted.
pub(super) fn not_admitted(reason: NotAdmitted) -> Response {
    match reason {
        NotAdmitted::Overloaded => overloaded(),
        _ => refusal_response(reason.code(), &reason.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_asks_for_a_retry_has_retry_after() {
        for (code, status) in [(Code::Overloaded, 503), (Code::Unavailable, 503), (Code::UserBusy, 429)] {
            let refused = refusal_response(code, "later");
            assert_eq!(refused.status(), status);
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
