//! `GET /metrics`: JSON, or what Prometheus reads when that is asked for.

use super::Api;
use super::answer::json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn handle(State(api): State<Arc<Api>>, headers: HeaderMap) -> Response {
    if is_prometheus(&headers) {
        return ([(header::CONTENT_TYPE, OPEN_METRICS)], api.metrics.encode()).into_response();
    }
    let told = api.meters.told();
    json(StatusCode::OK, serde_json::to_string(&told).unwrap_or_default())
}

/// Prometheus names the forms that it reads, all of them texts.
fn is_prometheus(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("openmetrics-text") || accept.contains("text/plain"))
}
