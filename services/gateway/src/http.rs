//! The HTTP API: routes, bodies, and how answers and refusals look. What is done is `accept`'s and `device`'s business.

mod answer;
mod body;
mod device;
mod document;
mod metrics;
pub mod routes;
mod telemetry;

use crate::accept::Acceptor;
use crate::device::Devices;
use crate::meters::Meters;
pub use answer::overloaded;
use answer::{error, json};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
pub use body::BodyBounds;
use kit::metrics::{Endpoint, Metrics};
use routes::Route;
use std::sync::Arc;
use std::time::Instant;
pub(crate) use telemetry::announced;

/// What every route needs.
pub struct Api {
    /// Takes samples in.
    pub acceptor: Acceptor,
    /// Who sends.
    pub devices: Arc<Devices>,
    /// The device that is meant when none is named.
    pub default_device: String,
    /// What is counted.
    pub meters: Arc<Meters>,
    /// All of it, for Prometheus.
    pub metrics: Metrics,
    /// How bodies are read.
    pub bodies: BodyBounds,
}

/// The routes.
pub fn router(api: Arc<Api>) -> Router {
    let metrics = api.metrics.clone();
    let place = |router: Router<Arc<Api>>, route: Route| {
        let endpoint = metrics.endpoint(route.name);
        let counted = axum::middleware::from_fn_with_state(endpoint, count);
        router.route(route.path, route.handler.layer(counted))
    };
    let missing = || async { error(StatusCode::NOT_FOUND, "no such path") };
    let wrong_method = || async { error(StatusCode::METHOD_NOT_ALLOWED, "the path takes another method") };
    let routes = routes::all().into_iter().fold(Router::new(), place);
    routes.fallback(missing).method_not_allowed_fallback(wrong_method).with_state(api)
}

/// Rate, errors and duration of an endpoint.
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
