//! The gRPC API: the operations in the messages of `proto/listings`. [`requests`] reads and validates request messages,
//! [`messages`] builds response messages, [`middleware`] wraps every call, under both names of the service.

mod messages;
mod methods;
mod middleware;
mod products;
mod requests;
mod service;
mod status;
mod stock;

pub use methods::{METHODS, Method, MethodLimit, RateLimitKey};

use std::sync::Arc;

use axum::Router;
use kit::auth::Identity;
use kit::grpc_metrics::GrpcMetrics;
use kit::limit::Limit;
use kit::metrics::Metrics;
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tonic_health::server::HealthReporter;

use crate::caller::Caller;
use crate::limiter::Limiter;
use crate::operations::Operations;
use crate::proto::DESCRIPTORS;
use crate::proto::listings_service_server::ListingsServiceServer;
use middleware::{CurrentName, Middleware, MiddlewareService, OlderName};

pub use status::refusal_for_overload;

/// The longest request sets the stock of a thousand products.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// The implementation of the rpcs.
pub struct ListingsApi {
    operations: Arc<Operations>,
}

/// What a call must pass before its rpc runs.
pub struct Admission {
    /// Identifies the caller.
    pub identity: Arc<Identity>,
    /// Bounds how often each caller calls.
    pub limiter: Arc<Limiter>,
    /// Bounds the calls in progress.
    pub limit: Limit,
}

/// The services of the port: listings under both names, health and reflection.
pub async fn router(
    operations: Arc<Operations>,
    admission: Admission,
    metrics: &Metrics,
) -> (Router, HealthReporter) {
    let (reporter, health) = tonic_health::server::health_reporter();
    for name in crate::proto::SERVICE_NAMES.into_iter().chain([""]) {
        reporter.set_service_status(name, tonic_health::ServingStatus::Serving).await;
    }
    let service =
        ListingsServiceServer::new(ListingsApi { operations }).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let middleware = Arc::new(Middleware::new(admission, metrics));
    let routes = Routes::new(health)
        .add_service(MiddlewareService::<_, CurrentName>::new(service.clone(), Arc::clone(&middleware)))
        .add_service(MiddlewareService::<_, OlderName>::new(service, middleware));
    let routes = kit::grpc::with_reflection(routes, DESCRIPTORS);
    let routes = routes.prepare().into_axum_router();
    (GrpcMetrics::register(metrics).count(routes, &[DESCRIPTORS, kit::grpc::HEALTH]), reporter)
}

type RpcResult<T> = Result<Response<T>, Status>;

/// The caller. Only the middleware adds it to a request.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| Status::unauthenticated("the caller is not identified"))
}
