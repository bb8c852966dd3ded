//! `ClaimGoalReward`

use tonic::{Request, Response};

use super::guard::place;
use super::{Players, RpcResult, messages};
use crate::proto::service::{ClaimRewardRequest, ClaimRewardResponse};
use crate::view::Claimed;

pub(super) async fn handle(
    players: &Players,
    request: &Request<ClaimRewardRequest>,
) -> RpcResult<ClaimRewardResponse> {
    let place = place(request)?;
    let message = request.get_ref();
    let goal = players.goal(&message.challenge_id, &message.goal_id)?;
    let at = players.operations.claim(place, goal).await?;
    let claimed = Claimed::new(players.operations.catalog.goal(goal), at);
    Ok(Response::new(ClaimRewardResponse {
        goal_id: claimed.goal_id.to_owned(),
        status: claimed.status.to_owned(),
        reward: Some(messages::reward(claimed.reward)),
        claimed_at: claimed.claimed_at,
    }))
}
