//! Health over HTTP, in the shape that existing probes read. Whether calls are limited stands in every answer, so that
//! nobody measures a service without knowing.

use crate::cache::Cache;
use crate::identity::Identity;
use crate::limiter::Limiter;
use crate::store::Store;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use kit::health::Health;
use serde_json::{Value, json};
use std::sync::Arc;

/// What health tells of.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) health: Arc<Health>,
    pub(super) store: Arc<Store>,
    pub(super) identity: Arc<Identity>,
    pub(super) limiter: Arc<Limiter>,
    pub(super) cache: Cache,
}

/// `/health` and, of its parts, `/live`, `/ready`, `/startup` and `/deep`.
pub(super) fn router(shown: Shown) -> Router {
    let with = |answer: fn(&Shown) -> (StatusCode, Value)| {
        let shown = shown.clone();
        get(move || async move { worded(answer(&shown)) })
    };
    Router::new()
        .route("/health", with(readiness))
        .route("/health/live", with(|shown| (StatusCode::OK, answer(shown, ("healthy", json!({}))))))
        .route("/health/ready", with(readiness))
        .route("/health/startup", with(startup))
        .route("/health/deep", with(deep))
}

fn worded((code, body): (StatusCode, Value)) -> impl IntoResponse + use<> {
    (code, [(header::CONTENT_TYPE, "application/json")], body.to_string())
}

fn answer(shown: &Shown, (status, checks): (&str, Value)) -> Value {
    json!({ "status": status, "checks": checks, "rate_limit_enabled": shown.limiter.is_on() })
}

fn readiness(shown: &Shown) -> (StatusCode, Value) {
    match shown.health.ready() {
        Ok(()) => (StatusCode::OK, answer(shown, ("healthy", json!({})))),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, answer(shown, ("unhealthy", json!({ "ready": why })))),
    }
}

/// A process that drains has started.
fn startup(shown: &Shown) -> (StatusCode, Value) {
    match shown.health.ready() {
        Err(why) if why == "starting" => {
            (StatusCode::SERVICE_UNAVAILABLE, answer(shown, ("unhealthy", json!({ "startup": why }))))
        }
        _ => (StatusCode::OK, answer(shown, ("healthy", json!({})))),
    }
}

/// Without its database it is unhealthy; without what makes it fast or bounds it, degraded.
fn deep(shown: &Shown) -> (StatusCode, Value) {
    let worded = |outcome: Result<(), String>| outcome.map_or_else(|why| why, |()| "healthy".to_owned());
    let database = shown.store.probe().map_err(|error| error.to_string());
    let (identity, cache) = (shown.identity.probe(), shown.cache.probe());
    let limiter = shown.limiter.probe();
    let status = if database.is_err() {
        "unhealthy"
    } else if identity.is_err() || cache.is_err() || limiter.is_err() {
        "degraded"
    } else {
        "healthy"
    };
    let code = if database.is_err() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let checks = json!({
        "database": worded(database),
        "identity": worded(identity),
        "cache": worded(cache),
        "rate_limiter": worded(limiter),
    });
    (code, answer(shown, (status, checks)))
}
