//! `BatchSelectGoals` and `RandomSelectGoals`

use tonic::{Request, Response};

use super::guard::caller;
use super::{Players, RpcResult, messages};
use crate::operations::{DrawRequest, NamedRequest};
use crate::proto::service::{BatchSelectRequest, GoalSelectionResponse, RandomSelectRequest};
use crate::rules::{ActiveGoals, OtherGoals};

pub(super) async fn batch(
    players: &Players,
    request: Request<BatchSelectRequest>,
) -> RpcResult<GoalSelectionResponse> {
    let user = caller(&request)?;
    let message = request.into_inner();
    let challenge = players.challenge(&message.challenge_id)?;
    let others = OtherGoals::replaced_if(Some(message.replace_existing));
    let named = NamedRequest { goal_ids: message.goal_ids, others };
    let view = players.operations.select_named(user, challenge, named).await?;
    Ok(Response::new(messages::selection(view)))
}

pub(super) async fn random(
    players: &Players,
    request: &Request<RandomSelectRequest>,
) -> RpcResult<GoalSelectionResponse> {
    let user = caller(request)?;
    let message = request.get_ref();
    let challenge = players.challenge(&message.challenge_id)?;
    let draw = DrawRequest {
        count: message.count,
        active: ActiveGoals::excluded_if(Some(message.exclude_active)),
        others: OtherGoals::replaced_if(Some(message.replace_existing)),
    };
    let view = players.operations.select_drawn(user, challenge, draw).await?;
    Ok(Response::new(messages::selection(view)))
}
