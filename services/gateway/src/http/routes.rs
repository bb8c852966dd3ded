//! Every route. The router is made from this list only.

use std::sync::Arc;

use axum::http::Method;
use axum::routing::{MethodRouter, get, post};
use kit::auth::Role;

use super::{Api, device, document, health, metrics, telemetry};
use crate::device::Command;

/// The one path that accepts samples; requests to it may be refused before they are routed.
pub const TELEMETRY: &str = "/telemetry";

pub struct Route {
    /// Its name in the metrics.
    pub name: &'static str,
    pub method: Method,
    pub path: &'static str,
    /// The role that its callers need, for the devices that they act for; `None` when it needs no token.
    pub role: Option<Role>,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

#[must_use]
pub fn all() -> Vec<Route> {
    let read = |name, path, role, handler| Route { name, method: Method::GET, path, role, handler };
    let write = |name, path, role, handler| Route { name, method: Method::POST, path, role, handler };
    let [device, service, admin] = [Role::User, Role::Service, Role::Admin].map(Some);
    vec![
        write("telemetry", TELEMETRY, device, post(telemetry::handle)),
        read("status", "/status", device, get(device::status)),
        write(
            "start",
            "/start",
            admin,
            post(|api, caller, query| device::command(api, caller, query, Command::Start)),
        ),
        write(
            "stop",
            "/stop",
            admin,
            post(|api, caller, query| device::command(api, caller, query, Command::Stop)),
        ),
        write(
            "reset",
            "/reset",
            admin,
            post(|api, caller, query| device::command(api, caller, query, Command::Reset)),
        ),
        read("health", "/health", None, get(health)),
        read("metrics", "/metrics", service, get(metrics::handle)),
        read("document", "/openapi.json", None, get(document::handle)),
    ]
}
