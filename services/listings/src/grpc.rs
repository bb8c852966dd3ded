//! The gRPC API: `service` passes each call to the interface's method, `middleware` wraps every call, under both names
//! of the service.

mod middleware;
mod service;
mod status;

use std::sync::Arc;

use kit::grpc::PortHealth;
use kit::grpc_metrics::GrpcMetrics;
use kit::metrics::Metrics;
use kit::serve::Respond;
use tonic::service::Routes;

use crate::admission::Admission;
use crate::api::Api;
use crate::methods::MAX_REQUEST_BYTES;
use crate::proto::listings_service_server::ListingsServiceServer;
use crate::proto::{DESCRIPTORS, SERVICE_NAMES};
use middleware::Middleware;
use service::Rpcs;

pub use status::refusal_for_overload;

/// The services of the port: listings under both names, health and reflection.
pub async fn port(
    api: Api,
    admission: Arc<Admission>,
    metrics: &Metrics,
) -> (impl Respond + use<>, PortHealth) {
    let (health, health_server) = PortHealth::serving(&SERVICE_NAMES).await;
    let service = ListingsServiceServer::new(Rpcs { api }).max_decoding_message_size(MAX_REQUEST_BYTES);
    let routes = kit::grpc::with_reflection(Routes::new(health_server).add_service(service), DESCRIPTORS);
    let rpcs = Middleware::new(routes.prepare().into_axum_router(), admission, metrics);
    (GrpcMetrics::register(metrics).count(rpcs, &[DESCRIPTORS, kit::grpc::HEALTH]), health)
}
