//! `GetUserChallenges`

use tonic::{Request, Response};

use super::guard::caller;
use super::{Players, RpcResult, messages};
use crate::operations::GoalsAt;
use crate::proto::service::{GetChallengesRequest, GetChallengesResponse};
use crate::view::GoalFilter;

pub(super) async fn handle(
    players: &Players,
    request: &Request<GetChallengesRequest>,
) -> RpcResult<GetChallengesResponse> {
    let user = caller(request)?;
    let filter = if request.get_ref().active_only { GoalFilter::Active } else { GoalFilter::All };
    let GoalsAt { goals, at } = players.operations.goals(&user).await?;
    let challenges = messages::challenges(&players.operations.catalog, &goals, filter, at);
    Ok(Response::new(GetChallengesResponse { challenges }))
}
