//! `HealthCheck`

use tonic::Response;

use super::status::refusal;
use super::{Players, RpcResult};
use crate::proto::service::HealthCheckResponse;
use crate::refusal::Code;

/// Whether this process serves. Without authentication, because health checkers have no identity.
pub(super) fn handle(players: &Players) -> RpcResult<HealthCheckResponse> {
    match players.health.ready() {
        Ok(()) => Ok(Response::new(HealthCheckResponse { status: "healthy".to_owned() })),
        Err(reason) => Err(refusal(Code::Unavailable, &reason)),
    }
}
