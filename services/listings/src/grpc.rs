//! The gRPC API: the operations in the messages of `proto/listings`. [`asked`] reads and checks what is asked for,
//! [`messages`] words the answers, [`guard`] stands around every call, under both of the service's names.

mod asked;
mod guard;
mod messages;
mod methods;
mod products;
mod shop;
mod status;
mod stock;

pub use methods::{By, METHODS, Method};

use crate::identity::{Caller, Identity};
use crate::limiter::Limiter;
use crate::operations::Operations;
use crate::proto::DESCRIPTORS;
use crate::proto::listings_service_server::ListingsServiceServer;
use axum::Router;
use guard::{Current, Guard, Guarded, Older};
use kit::limit::Limit;
use kit::metrics::Metrics;
use std::sync::Arc;
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tonic_health::server::HealthReporter;

pub use guard::Counted;
pub use status::refusal_for_overload;

/// The longest request sets the stock of a thousand products.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// What every rpc needs.
pub struct Shop {
    operations: Arc<Operations>,
}

/// Who and what stands before the rpcs.
pub struct Before {
    /// Knows who calls.
    pub identity: Arc<Identity>,
    /// Bounds how often.
    pub limiter: Arc<Limiter>,
    /// Bounds how many at once.
    pub limit: Limit,
}

/// The port's services: listings under both names, health and reflection.
pub async fn router(
    operations: Arc<Operations>,
    before: Before,
    metrics: &Metrics,
) -> (Router, HealthReporter) {
    let (reporter, health) = tonic_health::server::health_reporter();
    for name in crate::proto::NAMES.into_iter().chain([""]) {
        reporter.set_service_status(name, tonic_health::ServingStatus::Serving).await;
    }
    let service =
        ListingsServiceServer::new(Shop { operations }).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let guard = Arc::new(Guard::new(before, metrics));
    let routes = Routes::new(health)
        .add_service(Guarded::<_, Current>::new(service.clone(), Arc::clone(&guard)))
        .add_service(Guarded::<_, Older>::new(service, guard));
    let routes = kit::grpc::with_reflection(routes, DESCRIPTORS);
    (routes.prepare().into_axum_router(), reporter)
}

type Answer<T> = Result<Response<T>, Status>;

/// Who calls. Only the guard puts one into a call.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| Status::unauthenticated("nobody is known to call"))
}
