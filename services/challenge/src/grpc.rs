//! The players' gRPC API: the same operations as over HTTP, in the messages of `proto/service.proto`. The operations are
//! in `operations`, the fields of a goal in `view`.
//!
//! Every call passes [`guard`] (limit, authentication, metrics) and [`edge`] (deadline, malformed messages).

mod claim;
pub mod edge;
mod guard;
mod health;
mod initialize;
mod list;
mod messages;
mod rotation;
mod select;
mod set_active;
mod status;

use std::sync::Arc;

use kit::grpc::PortHealth;
use kit::health::Health;
use kit::metrics::Metrics;
use kit::serve::Respond;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use crate::admission::Admission;
use crate::catalog::{ChallengeIndex, GoalIndex};
use crate::operations::Operations;
use crate::proto::PLAYERS;
use crate::proto::service as proto;
use crate::proto::service::service_server::{Service, ServiceServer};
use crate::refusal::Code;
use edge::Edge;
use guard::Guarded;

/// The longest request is a selection of goals by id.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// The name of the players' service for health checkers and reflection.
const NAME: &str = "service.Service";

/// What every rpc needs.
pub struct Players {
    operations: Arc<Operations>,
    health: Arc<Health>,
}

impl Players {
    /// The rpcs on these operations.
    #[must_use]
    pub fn new(operations: Arc<Operations>, health: Arc<Health>) -> Self {
        Self { operations, health }
    }

    /// Unlike in a path, ids in a message may be empty.
    fn goal(&self, challenge_id: &str, goal_id: &str) -> Result<GoalIndex, Status> {
        if challenge_id.is_empty() || goal_id.is_empty() {
            return Err(status::refusal(Code::InvalidRequest, "challenge_id and goal_id must be given"));
        }
        Ok(self.operations.find(challenge_id, goal_id)?)
    }

    fn challenge(&self, challenge_id: &str) -> Result<ChallengeIndex, Status> {
        if challenge_id.is_empty() {
            return Err(status::refusal(Code::InvalidRequest, "challenge_id must be given"));
        }
        Ok(self.operations.find_challenge(challenge_id)?)
    }
}

/// The players' port: their service, health and reflection. Calls that are not admitted, by the same limits as over
/// HTTP, are refused before any work.
pub async fn port(
    players: Players,
    admission: &Admission,
    metrics: &Metrics,
) -> (impl Respond + use<>, PortHealth) {
    let (health, health_server) = PortHealth::serving(&[NAME]).await;
    let service = ServiceServer::new(players).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let routes = kit::grpc::with_reflection(Routes::new(health_server).add_service(service), PLAYERS);
    let rpcs = Edge(routes.prepare().into_axum_router());
    (Guarded::new(rpcs, admission.clone(), metrics), health)
}

type RpcResult<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Service for Players {
    async fn get_user_challenges(
        &self,
        request: Request<proto::GetChallengesRequest>,
    ) -> RpcResult<proto::GetChallengesResponse> {
        list::handle(self, &request).await
    }

    async fn initialize_player(
        &self,
        request: Request<proto::InitializeRequest>,
    ) -> RpcResult<proto::InitializeResponse> {
        initialize::handle(self, &request).await
    }

    async fn set_goal_active(
        &self,
        request: Request<proto::SetGoalActiveRequest>,
    ) -> RpcResult<proto::SetGoalActiveResponse> {
        set_active::handle(self, &request).await
    }

    async fn claim_goal_reward(
        &self,
        request: Request<proto::ClaimRewardRequest>,
    ) -> RpcResult<proto::ClaimRewardResponse> {
        claim::handle(self, &request).await
    }

    async fn batch_select_goals(
        &self,
        request: Request<proto::BatchSelectRequest>,
    ) -> RpcResult<proto::GoalSelectionResponse> {
        select::batch(self, request).await
    }

    async fn random_select_goals(
        &self,
        request: Request<proto::RandomSelectRequest>,
    ) -> RpcResult<proto::GoalSelectionResponse> {
        select::random(self, &request).await
    }

    async fn get_rotation_status(
        &self,
        request: Request<proto::GetRotationStatusRequest>,
    ) -> RpcResult<proto::GetRotationStatusResponse> {
        rotation::handle(self, &request)
    }

    async fn health_check(
        &self,
        _request: Request<proto::HealthCheckRequest>,
    ) -> RpcResult<proto::HealthCheckResponse> {
        health::handle(self)
    }
}

#[cfg(test)]
mod tests;
