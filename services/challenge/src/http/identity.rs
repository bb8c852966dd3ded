//! Who asks, over HTTP. The decision is [`crate::identity`]'s; here it becomes a part of the request or a refusal.

use super::error::denied;
use crate::identity::Identity;
use crate::user::UserId;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;
use kit::auth::Denied;

/// The user whose goals a request is about. Only [`identify`] puts one into a request.
#[derive(Clone)]
pub(super) struct Caller(pub(super) UserId);

/// Finds out who asks and notes it in the request.
pub(super) async fn identify(identity: &Identity, request: &mut Request) -> Result<(), Denied> {
    let user = identity.of_headers(request.headers()).await?;
    request.extensions_mut().insert(Caller(user));
    Ok(())
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let unknown = || denied(Denied::Unauthenticated("this route knows no user"));
        parts.extensions.get::<Self>().cloned().ok_or_else(unknown)
    }
}
