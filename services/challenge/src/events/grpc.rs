//! The two event services that publishers call, translated to and from the intake.

use super::{Intake, Refused, Taken, Told, What};
use crate::proto::account::UserLoggedIn;
use crate::proto::account::user_authentication_user_logged_in_service_server::UserAuthenticationUserLoggedInService;
use crate::proto::statistic::StatItemUpdated;
use crate::proto::statistic::statistic_stat_item_updated_service_server::StatisticStatItemUpdatedService;
use kit::metrics::{Endpoint, Metrics};
use std::sync::Arc;
use std::time::Instant;
use tonic::{Request, Response, Status};

/// Both services on one intake.
#[derive(Clone)]
pub struct EventServices {
    intake: Arc<Intake>,
    login: Endpoint,
    statistic: Endpoint,
}

impl EventServices {
    /// Services that hand everything to `intake`.
    #[must_use]
    pub fn new(intake: Arc<Intake>, metrics: &Metrics) -> Self {
        let [login, statistic] = ["event_login", "event_statistic"].map(|name| metrics.endpoint(name));
        Self { intake, login, statistic }
    }

    async fn take(&self, told: Told<'_>, endpoint: &Endpoint) -> Result<Response<()>, Status> {
        let started = Instant::now();
        let taken = self.intake.take(told).await;
        endpoint.answered(outcome(&taken), started);
        taken.map(|_| Response::new(())).map_err(|refused| status(&refused))
    }
}

#[tonic::async_trait]
impl UserAuthenticationUserLoggedInService for EventServices {
    async fn on_message(&self, request: Request<UserLoggedIn>) -> Result<Response<()>, Status> {
        let event = request.into_inner();
        let told = Told {
            namespace: &event.namespace,
            id: &event.id,
            user: &event.user_id,
            version: event.version,
            timestamp: &event.timestamp,
            what: What::Login,
        };
        self.take(told, &self.login).await
    }
}

#[tonic::async_trait]
impl StatisticStatItemUpdatedService for EventServices {
    async fn on_message(&self, request: Request<StatItemUpdated>) -> Result<Response<()>, Status> {
        let event = request.into_inner();
        // An event without a payload reads as one whose stat code is empty, and is refused as such.
        let payload = event.payload.unwrap_or_default();
        let what = What::Statistic {
            stat_code: &payload.stat_code,
            latest: payload.latest_value,
            added: payload.inc,
        };
        let told = Told {
            namespace: &event.namespace,
            id: &event.id,
            user: &event.user_id,
            version: event.version,
            timestamp: &event.timestamp,
            what,
        };
        self.take(told, &self.statistic).await
    }
}

fn status(refused: &Refused) -> Status {
    match refused {
        Refused::Invalid(reason) => Status::invalid_argument(*reason),
        Refused::Full => Status::resource_exhausted(refused.to_string()),
        Refused::Store(error) => {
            tracing::error!(%error, "an event could not be stored");
            Status::unavailable("the event could not be stored; deliver it again")
        }
    }
}

fn outcome(taken: &Result<Taken, Refused>) -> &'static str {
    match taken {
        Ok(Taken::Nothing) => "ignored",
        Ok(Taken::Written) => "written",
        Ok(Taken::Duplicate) => "duplicate",
        Ok(Taken::Buffered) => "buffered",
        Err(Refused::Invalid(_)) => "invalid_argument",
        Err(Refused::Full) => "resource_exhausted",
        Err(Refused::Store(_)) => "unavailable",
    }
}
