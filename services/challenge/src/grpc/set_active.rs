//! `SetGoalActive`

use tonic::{Request, Response};

use super::guard::caller;
use super::{Players, RpcResult};
use crate::proto::service::{SetGoalActiveRequest, SetGoalActiveResponse};
use crate::rules::Activation;
use crate::view::ActiveSet;

pub(super) async fn handle(
    players: &Players,
    request: &Request<SetGoalActiveRequest>,
) -> RpcResult<SetGoalActiveResponse> {
    let user = caller(request)?;
    let message = request.get_ref();
    let goal = players.goal(&message.challenge_id, &message.goal_id)?;
    let activation = if message.is_active { Activation::On } else { Activation::Off };
    let row = players.operations.set_active(user, goal, activation).await?;
    let result = ActiveSet::new(&players.operations.catalog, &row, activation);
    Ok(Response::new(SetGoalActiveResponse {
        challenge_id: result.challenge_id.to_owned(),
        goal_id: result.goal_id.to_owned(),
        is_active: result.is_active,
        assigned_at: result.assigned_at,
        message: result.message.to_owned(),
    }))
}
