//! `ClaimGoalReward`

use super::guard::caller;
use super::{Answer, Players, messages};
use crate::proto::service::{ClaimRewardRequest, ClaimRewardResponse};
use crate::view::Claimed;
use tonic::{Request, Response};

pub(super) async fn handle(
    players: &Players,
    request: &Request<ClaimRewardRequest>,
) -> Answer<ClaimRewardResponse> {
    let user = caller(request)?;
    let asked = request.get_ref();
    let goal = players.goal(&asked.challenge_id, &asked.goal_id)?;
    let at = players.operations.claim(user, goal).await?;
    let done = Claimed::of(players.operations.catalog.goal(goal), at);
    Ok(Response::new(ClaimRewardResponse {
        goal_id: done.goal_id.to_owned(),
        status: done.status.to_owned(),
        reward: Some(messages::reward(done.reward)),
        claimed_at: done.claimed_at,
    }))
}
