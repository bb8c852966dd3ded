//! The gRPC API: `service` passes each call to the interface's method, `middleware` wraps every call, under both names
//! of the service.

mod middleware;
mod service;
mod status;

use std::sync::Arc;

use axum::Router;
use kit::grpc::PortHealth;
use kit::grpc_metrics::GrpcMetrics;
use kit::metrics::Metrics;
use tonic::service::Routes;

use crate::admission::Admission;
use crate::api::Api;
use crate::methods::MAX_REQUEST_BYTES;
use crate::proto::listings_service_server::ListingsServiceServer;
use crate::proto::{DESCRIPTORS, SERVICE_NAMES};
use middleware::{CurrentName, Middleware, MiddlewareService, OlderName};
use service::Rpcs;

pub use status::refusal_for_overload;

/// The services of the port: listings under both names, health and reflection.
pub async fn router(api: Api, admission: Arc<Admission>, metrics: &Metrics) -> (Router, PortHealth) {
    let (health, health_server) = PortHealth::serving(&SERVICE_NAMES).await;
    let service = ListingsServiceServer::new(Rpcs { api }).max_decoding_message_size(MAX_REQUEST_BYTES);
    let middleware = Arc::new(Middleware::new(admission, metrics));
    let routes = Routes::new(health_server)
        .add_service(MiddlewareService::<_, CurrentName>::new(service.clone(), Arc::clone(&middleware)))
        .add_service(MiddlewareService::<_, OlderName>::new(service, middleware));
    let routes = kit::grpc::with_reflection(routes, DESCRIPTORS);
    let routes = routes.prepare().into_axum_router();
    (GrpcMetrics::register(metrics).count(routes, &[DESCRIPTORS, kit::grpc::HEALTH]), health)
}
