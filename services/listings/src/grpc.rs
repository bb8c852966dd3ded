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
use kit::grpc::PortHealth;
use kit::limit::Limit;
use kit::metrics::Metrics;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use crate::caller::Caller;
use crate::limiter::Limiter;
use crate::operations::Operations;
use crate::proto::listings_service_server::ListingsServiceServer;
use crate::proto::{DESCRIPTORS, SERVICE_NAMES};
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
) -> (Router, PortHealth) {
    let (health, health_server) = PortHealth::serving(&SERVICE_NAMES).await;
    let service =
        ListingsServiceServer::new(ListingsApi { operations }).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let middleware = Arc::new(Middleware::new(admission, metrics));
    let routes = Routes::new(health_server)
        .add_service(MiddlewareService::<_, CurrentName>::new(service.clone(), Arc::clone(&middleware)))
        .add_service(MiddlewareService::<_, OlderName>::new(service, middleware));
    let routes = kit::grpc::with_reflection(routes, DESCRIPTORS);
    (routes.prepare().into_axum_router(), health)
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
