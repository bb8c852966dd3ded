//! `HealthCheck`

use super::status::refused;
use super::{Answer, Players};
use crate::proto::service::HealthCheckResponse;
use crate::refusal::Code;
use tonic::Response;

/// Needs no identity, as whoever asks has none: it says whether this process serves.
pub(super) fn handle(players: &Players) -> Answer<HealthCheckResponse> {
    match players.health.ready() {
        Ok(()) => Ok(Response::new(HealthCheckResponse { status: "healthy".to_owned() })),
        Err(reason) => Err(refused(Code::Unavailable, &reason)),
    }
}
