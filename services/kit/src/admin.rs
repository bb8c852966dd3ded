//! The admin port's routes: liveness, readiness, metrics. It must have no route for a service's users.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::health::Health;
use crate::metrics::{Metrics, OPEN_METRICS_TYPE};

/// `/healthz` (200 while the process runs), `/readyz` and `/ready` (503 with the reason while it should get no requests)
/// and `/metrics`.
pub fn router(health: Arc<Health>, metrics: Metrics) -> Router {
    let ready = get(move || async move { readiness(&health) });
    Router::new()
        .route("/healthz", get(|| async { json(StatusCode::OK, "healthy") }))
        .route("/readyz", ready.clone())
        .route("/ready", ready)
        .route(
            "/metrics",
            get(move || async move { ([(header::CONTENT_TYPE, OPEN_METRICS_TYPE)], metrics.encode()) }),
        )
}

fn readiness(health: &Health) -> impl IntoResponse + use<> {
    match health.ready() {
        Ok(()) => json(StatusCode::OK, "ready"),
        Err(reason) => json(StatusCode::SERVICE_UNAVAILABLE, &reason),
    }
}

fn json(code: StatusCode, status: &str) -> impl IntoResponse + use<> {
    let body = serde_json::json!({ "status": status }).to_string();
    (code, [(header::CONTENT_TYPE, "application/json")], body)
}
