//! Health over HTTP, in the format of existing probes. Every answer reports whether the rate limiter is on, so that a
//! benchmark can detect it.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kit::auth::Identity;
use kit::health::Health;
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::limiter::Limiter;
use crate::store::Store;

/// The components that health reports on.
#[derive(Clone)]
pub(super) struct HealthSources {
    pub(super) health: Arc<Health>,
    pub(super) store: Arc<Store>,
    pub(super) identity: Arc<Identity>,
    pub(super) limiter: Arc<Limiter>,
    pub(super) cache: Cache,
}

/// `/health` and, of its parts, `/live`, `/ready`, `/startup` and `/deep`.
pub(super) fn router(sources: HealthSources) -> Router {
    let with = |check: fn(&HealthSources) -> HealthReport| {
        let sources = sources.clone();
        get(move || async move { check(&sources) })
    };
    Router::new()
        .route("/health", with(readiness))
        .route("/health/live", with(healthy))
        .route("/health/ready", with(readiness))
        .route("/health/startup", with(startup))
        .route("/health/deep", with(deep))
}

struct HealthReport {
    code: StatusCode,
    body: Value,
}

impl HealthReport {
    fn new(sources: &HealthSources, status: HealthStatus, checks: &Value) -> Self {
        let (code, status) = match status {
            HealthStatus::Healthy => (StatusCode::OK, "healthy"),
            HealthStatus::Degraded => (StatusCode::OK, "degraded"),
            HealthStatus::Unhealthy => (StatusCode::SERVICE_UNAVAILABLE, "unhealthy"),
        };
        let rate_limit_enabled = sources.limiter.is_on();
        let body = json!({ "status": status, "checks": checks, "rate_limit_enabled": rate_limit_enabled });
        Self { code, body }
    }
}

enum HealthStatus {
    Healthy,
    Degraded,
    Unhealthy,
}

impl IntoResponse for HealthReport {
    fn into_response(self) -> Response {
        (self.code, [(header::CONTENT_TYPE, "application/json")], self.body.to_string()).into_response()
    }
}

fn healthy(sources: &HealthSources) -> HealthReport {
    HealthReport::new(sources, HealthStatus::Healthy, &json!({}))
}

fn readiness(sources: &HealthSources) -> HealthReport {
    match sources.health.ready() {
        Ok(()) => healthy(sources),
        Err(why) => HealthReport::new(sources, HealthStatus::Unhealthy, &json!({ "ready": why })),
    }
}

/// A draining process counts as started.
fn startup(sources: &HealthSources) -> HealthReport {
    match sources.health.ready() {
        Err(why) if why == "starting" => {
            HealthReport::new(sources, HealthStatus::Unhealthy, &json!({ "startup": why }))
        }
        _ => healthy(sources),
    }
}

/// Without its database the service is unhealthy; without token keys, cache or rate limiter it is degraded.
fn deep(sources: &HealthSources) -> HealthReport {
    let text = |outcome: Result<(), String>| outcome.map_or_else(|why| why, |()| "healthy".to_owned());
    let database = sources.store.probe().map_err(|error| error.to_string());
    let (identity, cache) = (sources.identity.probe(), sources.cache.probe());
    let limiter = sources.limiter.probe();
    let status = if database.is_err() {
        HealthStatus::Unhealthy
    } else if identity.is_err() || cache.is_err() || limiter.is_err() {
        HealthStatus::Degraded
    } else {
        HealthStatus::Healthy
    };
    let checks = json!({
        "database": text(database),
        "identity": text(identity),
        "cache": text(cache),
        "rate_limiter": text(limiter),
    });
    HealthReport::new(sources, status, &checks)
}
