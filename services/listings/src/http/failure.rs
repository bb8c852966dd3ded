//! What did not succeed, as responses: `{"error": "…"}`.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kit::auth::Denied;
use serde_json::json;

use crate::admission::NotAdmitted;
use crate::methods::{MAX_REQUEST_BYTES, TIMED_OUT};
use crate::refusal::Refusal;

/// How long a body may take to arrive. It is below the time limit of every route that has a body, so that the caller
/// learns what took so long.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a request has no other response.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the body must arrive and have at most {MAX_REQUEST_BYTES} bytes")]
    TooLarge,
    #[error("the body did not arrive within {} s", BODY_TIMEOUT.as_secs())]
    TooSlow,
    #[error("{TIMED_OUT}")]
    TimedOut,
    #[error("no such path")]
    NoSuchPath,
    #[error("the path takes another method")]
    WrongMethod,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotAdmitted(NotAdmitted::Denied(Denied::Unauthenticated(_))) => StatusCode::UNAUTHORIZED,
            Self::NotAdmitted(NotAdmitted::Denied(Denied::Forbidden(_)))
            | Self::Refused(Refusal::Forbidden(_)) => StatusCode::FORBIDDEN,
            Self::NotAdmitted(NotAdmitted::RateLimited(_)) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotAdmitted(_) | Self::Refused(Refusal::Full | Refusal::Unavailable) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Refused(Refusal::Invalid(_)) => StatusCode::BAD_REQUEST,
            Self::Refused(Refusal::NotFound(..)) | Self::NoSuchPath => StatusCode::NOT_FOUND,
            Self::Refused(Refusal::Precondition(_)) => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TimedOut | Self::Refused(Refusal::TooBroad) => StatusCode::GATEWAY_TIMEOUT,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    /// When the request may be sent again.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::NotAdmitted(NotAdmitted::RateLimited(time)) => Some(*time),
            _ => (self.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(Duration::from_secs(1)),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = super::json(status, &json!({ "error": self.to_string() }));
        let headers = response.headers_mut();
        if let Some(time) = self.retry_after() {
            let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The response to a request that is refused because of overload.
#[must_use]
pub fn overloaded() -> Response {
    Failure::from(NotAdmitted::Overloaded).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_asks_for_a_retry_says_when() {
        let of = |reason| Failure::from(reason).into_response();
        let limited = of(NotAdmitted::RateLimited(Duration::from_millis(2_100)));
        assert_eq!(
            (limited.status().as_u16(), &limited.headers()[header::RETRY_AFTER]),
            (429, &"3".parse().unwrap())
        );
        for reason in [NotAdmitted::Overloaded, NotAdmitted::RateUnknown] {
            let refused = of(reason);
            assert_eq!(
                (refused.status().as_u16(), &refused.headers()[header::RETRY_AFTER]),
                (503, &"1".parse().unwrap())
            );
        }
        let conflict = Failure::from(Refusal::Precondition("why".to_owned())).into_response();
        assert!(
            conflict.status() == StatusCode::CONFLICT
                && !conflict.headers().contains_key(header::RETRY_AFTER)
        );
    }
}
