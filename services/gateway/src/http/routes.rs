//! Every route. The router is made from this list only.

use std::sync::Arc;

use axum::http::Method;
use axum::routing::{MethodRouter, get, post};

use super::{Api, device, document, health, metrics, telemetry};
use crate::device::Command;

/// The one path that accepts samples; requests to it may be refused before they are routed.
pub const TELEMETRY: &str = "/telemetry";

/// One route.
pub struct Route {
    /// Its name in the metrics.
    pub name: &'static str,
    /// Its only method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

/// All routes.
#[must_use]
pub fn all() -> Vec<Route> {
    let read = |name, path, handler| Route { name, method: Method::GET, path, handler };
    let write = |name, path, handler| Route { name, method: Method::POST, path, handler };
    vec![
        write("telemetry", TELEMETRY, post(telemetry::handle)),
        read("status", "/status", get(device::status)),
        write("start", "/start", post(|api, query| device::command(api, query, Command::Start))),
        write("stop", "/stop", post(|api, query| device::command(api, query, Command::Stop))),
        write("reset", "/reset", post(|api, query| device::command(api, query, Command::Reset))),
        read("health", "/health", get(health)),
        read("metrics", "/metrics", get(metrics::handle)),
        read("document", "/openapi.json", get(document::handle)),
    ]
}
