//! Refusals over HTTP: `{"errorCode","message","code"}`, the last being the gRPC code.

use crate::operations::Refusal;
use crate::rules::ClaimRefusal;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Seconds after which a refused request may be tried again.
const RETRY_AFTER_S: &str = "1";

/// Every way to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    InvalidRequest,
    TooLarge,
    TooSlow,
    Unauthenticated,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    ChallengeNotFound,
    GoalNotFound,
    GoalNotActive,
    GoalNotCompleted,
    PrerequisitesNotMet,
    AlreadyClaimed,
    RewardGrantFailed,
    Overloaded,
    Unavailable,
}

impl Code {
    /// Word, HTTP status, gRPC code.
    fn parts(self) -> (&'static str, StatusCode, u8) {
        match self {
            Self::InvalidRequest => ("INVALID_REQUEST", StatusCode::BAD_REQUEST, 3),
            Self::TooLarge => ("REQUEST_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE, 3),
            Self::TooSlow => ("REQUEST_TIMEOUT", StatusCode::REQUEST_TIMEOUT, 4),
            Self::Unauthenticated => ("UNAUTHENTICATED", StatusCode::UNAUTHORIZED, 16),
            Self::Forbidden => ("FORBIDDEN", StatusCode::FORBIDDEN, 7),
            Self::NotFound => ("NOT_FOUND", StatusCode::NOT_FOUND, 5),
            Self::MethodNotAllowed => ("METHOD_NOT_ALLOWED", StatusCode::METHOD_NOT_ALLOWED, 12),
            Self::ChallengeNotFound => ("CHALLENGE_NOT_FOUND", StatusCode::NOT_FOUND, 5),
            Self::GoalNotFound => ("GOAL_NOT_FOUND", StatusCode::NOT_FOUND, 5),
            Self::GoalNotActive => ("GOAL_NOT_ACTIVE", StatusCode::BAD_REQUEST, 9),
            Self::GoalNotCompleted => ("GOAL_NOT_COMPLETED", StatusCode::BAD_REQUEST, 9),
            Self::PrerequisitesNotMet => ("PREREQUISITES_NOT_MET", StatusCode::BAD_REQUEST, 9),
            Self::AlreadyClaimed => ("ALREADY_CLAIMED", StatusCode::CONFLICT, 6),
            Self::RewardGrantFailed => ("REWARD_GRANT_FAILED", StatusCode::BAD_GATEWAY, 13),
            Self::Overloaded => ("OVERLOADED", StatusCode::SERVICE_UNAVAILABLE, 8),
            Self::Unavailable => ("UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE, 14),
        }
    }
}

/// A refusal as a response.
pub(super) fn answer(refused: Code, message: &str) -> Response {
    let (word, status, code) = refused.parts();
    let body = serde_json::json!({ "errorCode": word, "message": message, "code": code }).to_string();
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

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = match &self {
            Self::UnknownChallenge(_) => Code::ChallengeNotFound,
            Self::UnknownGoal(_) => Code::GoalNotFound,
            Self::NotClaimable(ClaimRefusal::NotActive) => Code::GoalNotActive,
            Self::NotClaimable(ClaimRefusal::NotCompleted) => Code::GoalNotCompleted,
            Self::NotClaimable(ClaimRefusal::PrerequisitesUnmet) => Code::PrerequisitesNotMet,
            Self::NotClaimable(ClaimRefusal::AlreadyClaimed) => Code::AlreadyClaimed,
            Self::NotGranted => Code::RewardGrantFailed,
            Self::Unavailable => Code::Unavailable,
        };
        answer(code, &self.to_string())
    }
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
