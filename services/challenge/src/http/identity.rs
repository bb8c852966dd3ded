//! Authentication over HTTP: the decision of [`crate::identity`] becomes a part of the request, or a refusal.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;
use kit::auth::Denied;

use super::error::denied;
use crate::identity::Identity;
use crate::user::UserId;

/// The user of a request. Only [`identify`] adds one to a request.
#[derive(Clone)]
pub(super) struct Caller(pub(super) UserId);

/// Authenticates the caller and adds the user to the request.
pub(super) async fn identify(identity: &Identity, request: &mut Request) -> Result<(), Denied> {
    let user = identity.of_headers(request.headers()).await?;
    request.extensions_mut().insert(Caller(user));
    Ok(())
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let missing = || denied(Denied::Unauthenticated("this route has no user"));
        parts.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}
