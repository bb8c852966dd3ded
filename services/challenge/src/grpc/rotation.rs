//! `GetRotationStatus`

use tonic::{Request, Response};

use super::{Players, RpcResult, messages};
use crate::proto::service::{GetRotationStatusRequest, GetRotationStatusResponse};

pub(super) fn handle(
    players: &Players,
    request: &Request<GetRotationStatusRequest>,
) -> RpcResult<GetRotationStatusResponse> {
    let challenge = players.challenge(&request.get_ref().challenge_id)?;
    Ok(Response::new(messages::rotation(players.operations.rotation(challenge))))
}
