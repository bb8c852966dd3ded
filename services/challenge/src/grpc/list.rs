//! `GetUserChallenges`

use super::guard::caller;
use super::{Answer, Players, messages};
use crate::proto::service::{GetChallengesRequest, GetChallengesResponse};
use crate::view::Shown;
use kit::clock::UtcMs;
use tonic::{Request, Response};

pub(super) async fn handle(
    players: &Players,
    request: &Request<GetChallengesRequest>,
) -> Answer<GetChallengesResponse> {
    let user = caller(request)?;
    let shown = if request.get_ref().active_only { Shown::Active } else { Shown::All };
    let goals = players.operations.goals(&user).await?;
    let challenges = messages::challenges((&players.operations.catalog, &goals), shown, UtcMs::now());
    Ok(Response::new(GetChallengesResponse { challenges }))
}
