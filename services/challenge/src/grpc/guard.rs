//! Around every rpc of the players' service: admission, and the metrics of rate, errors and duration. Calls of other services (health, reflection) are passed on: they contain no player's data.

use std::collections::HashMap;
use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use kit::grpc::outcome;
use kit::metrics::{Endpoint, Metrics};
use kit::serve::Respond;
use tonic::Status;

use super::status::{self, refusal};
use crate::admission::Admission;
use crate::http::routes::Access;
use crate::refusal::Code;
use crate::user::{UserId, UserPlace};

/// Each rpc's path, its name in the metrics, and which callers may call it.
const RPCS: [(&str, &str, Access); 8] = [
    ("/service.Service/GetUserChallenges", "grpc_list", Access::Player),
    ("/service.Service/InitializePlayer", "grpc_initialize", Access::Player),
    ("/service.Service/SetGoalActive", "grpc_set_active", Access::Player),
    ("/service.Service/ClaimGoalReward", "grpc_claim", Access::Player),
    ("/service.Service/BatchSelectGoals", "grpc_batch_select", Access::Player),
    ("/service.Service/RandomSelectGoals", "grpc_random_select", Access::Player),
    ("/service.Service/GetRotationStatus", "grpc_rotation", Access::Player),
    ("/service.Service/HealthCheck", "grpc_healthz", Access::Public),
];

/// The place of a call's user. Only this module adds one to a call.
#[derive(Clone)]
struct Caller(UserPlace);

/// The user of a call.
///
/// # Errors
/// When the call did not pass the guard: then it has no user.
pub(super) fn caller<T>(request: &tonic::Request<T>) -> Result<UserId, Status> {
    place(request).map(|place| place.caller().clone())
}

/// The place of a call's user.
///
/// # Errors
/// When the call did not pass the guard: then it has no user.
pub(super) fn place<T>(request: &tonic::Request<T>) -> Result<UserPlace, Status> {
    let caller = request.extensions().get::<Caller>().map(|caller| caller.0.clone());
    caller.ok_or_else(|| refusal(Code::Unauthenticated, "this rpc has no user"))
}

/// The rpcs of `inner`, guarded.
pub(super) struct Guarded<R> {
    admission: Admission,
    rpcs: HashMap<&'static str, (Endpoint, Access)>,
    inner: R,
}

impl<R: Respond> Guarded<R> {
    pub(super) fn new(inner: R, admission: Admission, metrics: &Metrics) -> Self {
        let rpcs = RPCS.into_iter().map(|(path, name, access)| (path, (metrics.endpoint(name), access)));
        Self { admission, rpcs: rpcs.collect(), inner }
    }

    async fn admit(&self, mut request: Request) -> Response {
        match self.admission.admit(request.headers()).await {
            Ok(admitted) => {
                request.extensions_mut().insert(Caller(admitted.place.clone()));
                let response = self.inner.respond(request).await;
                drop(admitted);
                response
            }
            Err(reason) => status::refusal_response(reason.code(), &reason.message()),
        }
    }
}

impl<R: Respond> Respond for Guarded<R> {
    async fn respond(&self, request: Request) -> Response {
        let started = Instant::now();
        let Some((endpoint, access)) = self.rpcs.get(request.uri().path()) else {
            return self.inner.respond(request).await;
        };
        let response = match access {
            Access::Public => self.inner.respond(request).await,
            Access::Player => self.admit(request).await,
        };
        endpoint.answered(outcome(&response), started);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use prost::Message;

    use crate::proto::PLAYERS;

    #[test]
    fn every_rpc_of_the_service_is_guarded() {
        let set = prost_types::FileDescriptorSet::decode(PLAYERS).unwrap();
        let services = set.file.iter().flat_map(|file| &file.service);
        let mut declared: Vec<String> = services
            .flat_map(|service| &service.method)
            .map(|method| format!("/{}/{}", super::super::NAME, method.name()))
            .collect();
        let mut guarded = RPCS.map(|(path, ..)| path.to_owned());
        declared.sort_unstable();
        guarded.sort_unstable();
        assert_eq!(declared, guarded);
    }
}
