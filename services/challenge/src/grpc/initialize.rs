//! `InitializePlayer`

use tonic::{Request, Response};

use super::guard::caller;
use super::{Players, RpcResult, messages};
use crate::proto::service::{InitializeRequest, InitializeResponse};
use crate::view::{AssignedView, assigned};

pub(super) async fn handle(
    players: &Players,
    request: &Request<InitializeRequest>,
) -> RpcResult<InitializeResponse> {
    let result = players.operations.initialize(caller(request)?).await?;
    let active = assigned(&players.operations.catalog, &result);
    Ok(Response::new(message(active, result.new_assignments)))
}

pub(super) fn message(active: Vec<AssignedView<'_>>, new_assignments: u32) -> InitializeResponse {
    InitializeResponse {
        new_assignments: i32::try_from(new_assignments).unwrap_or(i32::MAX),
        total_active: i32::try_from(active.len()).unwrap_or(i32::MAX),
        assigned_goals: active.into_iter().map(messages::assigned).collect(),
    }
}
