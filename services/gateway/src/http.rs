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
use kit::auth::{Denied, Identity, Role};
use kit::caller_limit::CallerLimit;
use kit::metrics::{Endpoint, Metrics};

use crate::accept::Acceptor;
use crate::caller::Caller;
use crate::device::Devices;
use crate::meters::Meters;
pub use body::BodyBounds;
pub use response::overloaded;
use response::{denied, error, json};
use routes::Route;
pub(crate) use telemetry::announced_priority;

/// The state shared by all routes.
pub struct Api {
    /// Accepts samples.
    pub acceptor: Acceptor,
    /// Identifies callers.
    pub identity: Arc<Identity>,
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
    /// Bounds on the requests of one device.
    pub device_limit: CallerLimit<String>,
    /// The status of a response to samples that were accepted.
    pub accepted_status: StatusCode,
}

/// The routes.
pub fn router(api: Arc<Api>) -> Router {
    let metrics = api.metrics.clone();
    let add = |router: Router<Arc<Api>>, route: Route| {
        let guard = Guard { endpoint: metrics.endpoint(route.name), api: Arc::clone(&api), role: route.role };
        let guarded = axum::middleware::from_fn_with_state(guard, guard_route);
        router.route(route.path, route.handler.layer(guarded))
    };
    let missing = || async { error(StatusCode::NOT_FOUND, "no such path") };
    let wrong_method = || async { error(StatusCode::METHOD_NOT_ALLOWED, "the path takes another method") };
    let routes = routes::all().into_iter().fold(Router::new(), add);
    routes.fallback(missing).method_not_allowed_fallback(wrong_method).with_state(api)
}

/// What is done around every request to a route.
#[derive(Clone)]
struct Guard {
    endpoint: Endpoint,
    api: Arc<Api>,
    /// The role that callers need; `None` for a route that needs no token.
    role: Option<Role>,
}

impl Guard {
    /// Adds the caller to the request.
    async fn identify(&self, request: &mut Request) -> Result<(), Denied> {
        let Some(role) = self.role else { return Ok(()) };
        let caller = Caller::of(&self.api.identity, request.headers()).await?;
        caller.require(role)?;
        request.extensions_mut().insert(caller);
        Ok(())
    }
}

/// Checks the caller, and counts rate, errors and duration of an endpoint.
async fn guard_route(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let response = match guard.identify(&mut request).await {
        Ok(()) => next.run(request).await,
        Err(reason) => denied(reason),
    };
    guard.endpoint.answered(outcome(response.status().as_u16()), began);
    response
}

fn outcome(status: u16) -> &'static str {
    match status {
        200 => "200",
        202 => "202",
        400 => "400",
        401 => "401",
        403 => "403",
        429 => "429",
        402 | 404..=499 => "4xx",
        503 => "503",
        _ => "other",
    }
}

async fn health() -> Response {
    json(StatusCode::OK, r#"{"status":"ok"}"#)
}
