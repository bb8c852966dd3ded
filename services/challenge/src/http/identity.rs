//! The user of a request, over HTTP.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;

use super::error::refusal_response;
use crate::refusal::Code;
use crate::user::UserPlace;

/// The place of a request's user. Only the guard adds one to a request.
#[derive(Clone)]
pub(super) struct Caller(pub(super) UserPlace);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let missing = || refusal_response(Code::Unauthenticated, "this route has no user");
        parts.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}
