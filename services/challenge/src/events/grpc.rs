//! The two event services that publishers call, translated to and from the intake, and their port.

use std::sync::Arc;
use std::time::Instant;

use kit::grpc::PortHealth;
use kit::metrics::{Endpoint, Metrics};
use kit::serve::Respond;
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use super::guard::PublishersOnly;
use super::{EventMessage, EventPayload, Intake, IntakeError, IntakeOutcome, StatisticChange};
use crate::grpc::edge::Edge;
use crate::identity::Identity;
use crate::proto::EVENTS;
use crate::proto::account::UserLoggedIn;
use crate::proto::account::user_authentication_user_logged_in_service_server::{
    UserAuthenticationUserLoggedInService, UserAuthenticationUserLoggedInServiceServer as LoginServer,
};
use crate::proto::statistic::StatItemUpdated;
use crate::proto::statistic::statistic_stat_item_updated_service_server::{
    StatisticStatItemUpdatedService, StatisticStatItemUpdatedServiceServer as StatisticServer,
};
use crate::store::StoreError;

/// Events have a few hundred bytes; larger messages than this are refused.
const MAX_EVENT_BYTES: usize = 256 * 1024;

/// Both services on one intake.
#[derive(Clone)]
pub struct EventServices {
    intake: Arc<Intake>,
    login: Endpoint,
    statistic: Endpoint,
}

impl EventServices {
    /// Services that pass every event to `intake`.
    #[must_use]
    pub fn new(intake: Arc<Intake>, metrics: &Metrics) -> Self {
        let [login, statistic] = ["event_login", "event_statistic"].map(|name| metrics.endpoint(name));
        Self { intake, login, statistic }
    }

    async fn take(&self, message: EventMessage<'_>, endpoint: &Endpoint) -> Result<Response<()>, Status> {
        let started = Instant::now();
        let result = self.intake.take(message).await;
        endpoint.answered(outcome(&result), started);
        result.map(|_| Response::new(())).map_err(|error| status(&error))
    }
}

/// The port's services.
const NAMES: [&str; 2] = [LoginServer::<EventServices>::NAME, StatisticServer::<EventServices>::NAME];

/// The publishers' port: both services, health and reflection. Calls that are not a publisher's are refused before
/// their message is read.
pub async fn port(
    intake: Arc<Intake>,
    identity: Arc<Identity>,
    metrics: &Metrics,
) -> (impl Respond + use<>, PortHealth) {
    let (health, health_server) = PortHealth::serving(&NAMES).await;
    let services = EventServices::new(intake, metrics);
    let [login_path, statistic_path] = NAMES.map(|service| format!("/{service}/OnMessage"));
    let rpcs = [(login_path, services.login.clone()), (statistic_path, services.statistic.clone())];
    let login = LoginServer::new(services.clone()).max_decoding_message_size(MAX_EVENT_BYTES);
    let statistic = StatisticServer::new(services).max_decoding_message_size(MAX_EVENT_BYTES);
    let routes = Routes::new(health_server).add_service(login).add_service(statistic);
    let inner = kit::grpc::with_reflection(routes, EVENTS).prepare().into_axum_router();
    (Edge(PublishersOnly { identity, rpcs, inner }), health)
}

#[tonic::async_trait]
impl UserAuthenticationUserLoggedInService for EventServices {
    async fn on_message(&self, request: Request<UserLoggedIn>) -> Result<Response<()>, Status> {
        let event = request.into_inner();
        let message = EventMessage {
            namespace: &event.namespace,
            id: &event.id,
            user: &event.user_id,
            version: event.version,
            timestamp: &event.timestamp,
            payload: EventPayload::Login,
        };
        self.take(message, &self.login).await
    }
}

#[tonic::async_trait]
impl StatisticStatItemUpdatedService for EventServices {
    async fn on_message(&self, request: Request<StatItemUpdated>) -> Result<Response<()>, Status> {
        let event = request.into_inner();
        // An event without a payload is read as one with an empty stat code, and refused as such.
        let payload = event.payload.unwrap_or_default();
        let change = StatisticChange {
            stat_code: &payload.stat_code,
            latest: payload.latest_value,
            added: payload.inc,
        };
        let message = EventMessage {
            namespace: &event.namespace,
            id: &event.id,
            user: &event.user_id,
            version: event.version,
            timestamp: &event.timestamp,
            payload: EventPayload::Statistic(change),
        };
        self.take(message, &self.statistic).await
    }
}

fn status(error: &IntakeError) -> Status {
    match error {
        IntakeError::Invalid(reason) => Status::invalid_argument(*reason),
        IntakeError::Full => Status::resource_exhausted(error.to_string()),
        IntakeError::Store(StoreError::Rejected(_)) => {
            Status::invalid_argument("the event contains what the store cannot represent")
        }
        IntakeError::Store(error) => {
            tracing::error!(%error, "an event could not be stored");
            Status::unavailable("the event could not be stored; deliver it again")
        }
    }
}

fn outcome(result: &Result<IntakeOutcome, IntakeError>) -> &'static str {
    match result {
        Ok(IntakeOutcome::Ignored) => "ignored",
        Ok(IntakeOutcome::Written) => "written",
        Ok(IntakeOutcome::Duplicate) => "duplicate",
        Ok(IntakeOutcome::Buffered) => "buffered",
        Err(IntakeError::Invalid(_) | IntakeError::Store(StoreError::Rejected(_))) => "invalid_argument",
        Err(IntakeError::Full) => "resource_exhausted",
        Err(IntakeError::Store(_)) => "unavailable",
    }
}
