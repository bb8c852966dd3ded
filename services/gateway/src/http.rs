//! The HTTP API: routes, bodies, responses and refusals. The work itself is in `accept` and `device`.

mod body;
mod device;
mod document;
mod metrics;
mod response;
pub mod routes;
mod telemetry;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use kit::auth::{Denied, Identity, Role};
use kit::caller_limit::CallerLimit;
use kit::metrics::{Endpoint, Metrics};
use kit::serve::Respond;

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
    pub devices: Arc<Devices>,
    /// The device of a request that names none.
    pub default_device: String,
    pub meters: Arc<Meters>,
    /// All metrics, for Prometheus.
    pub metrics: Metrics,
    pub bodies: BodyBounds,
    /// Bounds on the requests of one device.
    pub device_limit: CallerLimit<String>,
    /// The status of a response to samples that were accepted.
    pub accepted_status: StatusCode,
}

/// All routes, each behind its guard.
pub fn routes(api: Arc<Api>) -> impl Respond {
    let all = routes::all();
    let guard =
        |route: &Route| (route.path, Guard { endpoint: api.metrics.endpoint(route.name), role: route.role });
    let guards = all.iter().map(guard).collect();
    let add = |router: Router<Arc<Api>>, route: Route| router.route(route.path, route.handler);
    let missing = || async { error(StatusCode::NOT_FOUND, "no such path") };
    let wrong_method = || async { error(StatusCode::METHOD_NOT_ALLOWED, "the path takes another method") };
    let router = all.into_iter().fold(Router::new(), add);
    let router = router.fallback(missing).method_not_allowed_fallback(wrong_method);
    GuardedRoutes { guards, identity: Arc::clone(&api.identity), router: router.with_state(api) }
}

/// What is done around every request to a route.
struct Guard {
    endpoint: Endpoint,
    /// The role that callers need; `None` for a route that needs no token.
    role: Option<Role>,
}

impl Guard {
    /// Adds the caller to the request.
    async fn identify(&self, identity: &Identity, request: &mut Request) -> Result<(), Denied> {
        let Some(role) = self.role else { return Ok(()) };
        let caller = Caller::authenticate(identity, request.headers()).await?;
        caller.require(role)?;
        request.extensions_mut().insert(caller);
        Ok(())
    }
}

/// The routes, each behind its guard.
struct GuardedRoutes {
    /// By path.
    guards: HashMap<&'static str, Guard>,
    identity: Arc<Identity>,
    router: Router,
}

impl Respond for GuardedRoutes {
    /// Checks the caller, and counts rate, errors and duration of an endpoint.
    async fn respond(&self, mut request: Request) -> Response {
        let began = Instant::now();
        let Some(guard) = self.guards.get(request.uri().path()) else {
            return self.router.respond(request).await;
        };
        let response = match guard.identify(&self.identity, &mut request).await {
            Ok(()) => self.router.respond(request).await,
            Err(reason) => denied(reason),
        };
        guard.endpoint.answered(outcome(response.status().as_u16()), began);
        response
    }
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
