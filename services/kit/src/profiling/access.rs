//! Who may take profiles: programs on this machine, and administrators.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::auth::{Credential, Denied, Identity, Role};
use crate::serve::Peer;

/// Refuses callers from other machines without the token of an administrator. Where no callers are verified, all that
/// reach the port are trusted, as the service's settings say.
pub(super) async fn operators_only(
    State(identity): State<Arc<Identity>>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>();
    let is_local = peer.is_some_and(|Peer(address)| address.ip().to_canonical().is_loopback());
    let allowed = if is_local { Ok(()) } else { is_operator(&identity, request.headers()).await };
    match allowed {
        Ok(()) => next.run(request).await,
        Err(reason) => {
            let status = match reason {
                Denied::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
                Denied::Forbidden(_) => StatusCode::FORBIDDEN,
                Denied::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            (status, format!("{reason}\n")).into_response()
        }
    }
}

async fn is_operator(identity: &Identity, headers: &axum::http::HeaderMap) -> Result<(), Denied> {
    match identity.credential(headers).await? {
        Credential::Unverified | Credential::Token { role: Role::Admin, .. } => Ok(()),
        Credential::Token { .. } => Err(Denied::Forbidden("profiles are for administrators")),
        Credential::Missing => Err(Denied::Unauthenticated(
            "from another machine, profiles need the bearer token of an administrator",
        )),
    }
}
