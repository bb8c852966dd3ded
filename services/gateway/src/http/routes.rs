//! Every route. The router is made of this list alone, so what is not in it does not exist.

use super::{Api, device, document, health, metrics, telemetry};
use crate::device::Command;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;

/// The one path that takes samples, and that is refused before it is routed when there is no room for any.
pub const TELEMETRY: &str = "/telemetry";

/// One route.
pub struct Route {
    /// Its name in the metrics.
    pub name: &'static str,
    /// The one method it takes.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

/// All routes.
#[must_use]
pub fn all() -> Vec<Route> {
    let ask = |name, path, handler| Route { name, method: Method::GET, path, handler };
    let tell = |name, path, handler| Route { name, method: Method::POST, path, handler };
    vec![
        tell("telemetry", TELEMETRY, post(telemetry::handle)),
        ask("status", "/status", get(device::status)),
        tell("start", "/start", post(|api, asked| device::command(api, asked, Command::Start))),
        tell("stop", "/stop", post(|api, asked| device::command(api, asked, Command::Stop))),
        tell("reset", "/reset", post(|api, asked| device::command(api, asked, Command::Reset))),
        ask("health", "/health", get(health)),
        ask("metrics", "/metrics", get(metrics::handle)),
        ask("document", "/openapi.json", get(document::handle)),
    ]
}
