//! Who asks. For now only the test identity header, which the settings must switch on; there is no default user.

use super::error::{Code, answer};
use crate::user::UserId;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;

/// The test identity header.
const HEADER: &str = "x-mock-user-id";

/// The user whose goals a request is about.
pub(super) struct Caller(pub(super) UserId);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let text = parts.headers.get(HEADER).map(|value| value.to_str().unwrap_or_default());
        let user = text.and_then(UserId::new);
        let reason = "x-mock-user-id must name a user: 1 to 100 characters without control characters";
        user.map(Caller).ok_or_else(|| answer(Code::Unauthenticated, reason))
    }
}
