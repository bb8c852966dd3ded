//! The HTTP API: routes, bodies, responses and refusals. The work itself is in `accept` and `device`.

mod body;
mod device;
mod document;
mod metrics;
mod response;
pub mod routes;
mod telemetry;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use kit::metrics::{Endpoint, Metrics};

use crate::accept::Acceptor;
use crate::device::Devices;
use crate::meters::Meters;
pub use body::BodyBounds;
pub use response::overloaded;
use response::{error, json};
use routes::Route;
pub(crate) use telemetry::announced_priority;

/// The state shared by all routes.
pub struct Api {
    /// Accepts samples.
    pub acceptor: Acceptor,
    /// The devices.
    pub devices: Arc<Devices>,
    /// The device of a request that names none.
    pub default_device: String,
    /// The counters.
    pub meters: Arc<Meters>,
    /// All metrics, for Prometheus.
    pub metrics: Metrics,
    /// Bounds on bodies.
    pub bodies: BodyBounds,
}

/// The routes.
pub fn router(api: Arc<Api>) -> Router {
    let metrics = api.metrics.clone();
    let add = |router: Router<Arc<Api>>, route: Route| {
        let endpoint = metrics.endpoint(route.name);
        let counted = axum::middleware::from_fn_with_state(endpoint, count);
        router.route(route.path, route.handler.layer(counted))
    };
    let missing = || async { error(StatusCode::NOT_FOUND, "no such path") };
    let wrong_method = || async { error(StatusCode::METHOD_NOT_ALLOWED, "the path takes another method") };
    let routes = routes::all().into_iter().fold(Router::new(), add);
    routes.fallback(missing).method_not_allowed_fallback(wrong_method).with_state(api)
}

/// Counts rate, errors and duration of an endpoint.
async fn count(State(endpoint): State<Endpoint>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let response = next.run(request).await;
    endpoint.answered(outcome(response.status().as_u16()), began);
    response
}

fn outcome(status: u16) -> &'static str {
    match status {
        200 => "200",
        202 => "202",
        400 => "400",
        401..=499 => "4xx",
        503 => "503",
        _ => "other",
    }
}

async fn health() -> Response {
    json(StatusCode::OK, r#"{"status":"ok"}"#)
}
