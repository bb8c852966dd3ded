//! `SetGoalActive`

use super::guard::caller;
use super::{Answer, Players};
use crate::proto::service::{SetGoalActiveRequest, SetGoalActiveResponse};
use crate::rules::Activation;
use crate::view::ActiveSet;
use tonic::{Request, Response};

pub(super) async fn handle(
    players: &Players,
    request: &Request<SetGoalActiveRequest>,
) -> Answer<SetGoalActiveResponse> {
    let user = caller(request)?;
    let asked = request.get_ref();
    let goal = players.goal(&asked.challenge_id, &asked.goal_id)?;
    let activation = if asked.is_active { Activation::On } else { Activation::Off };
    let row = players.operations.set_active(user, goal, activation).await?;
    let done = ActiveSet::of(&players.operations.catalog, &row, activation);
    Ok(Response::new(SetGoalActiveResponse {
        challenge_id: done.challenge_id.to_owned(),
        goal_id: done.goal_id.to_owned(),
        is_active: done.is_active,
        assigned_at: done.assigned_at,
        message: done.message.to_owned(),
    }))
}
