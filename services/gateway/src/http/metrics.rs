//! `GET /metrics`: JSON, or OpenMetrics when the request accepts it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kit::metrics::OPEN_METRICS_TYPE;

use super::Api;
use super::response::json;

pub(super) async fn handle(State(api): State<Arc<Api>>, headers: HeaderMap) -> Response {
    if is_prometheus(&headers) {
        return ([(header::CONTENT_TYPE, OPEN_METRICS_TYPE)], api.metrics.encode()).into_response();
    }
    let report = api.meters.report();
    json(StatusCode::OK, serde_json::to_string(&report).unwrap_or_default())
}

/// Prometheus names the formats that it reads, all of which are texts.
fn is_prometheus(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("openmetrics-text") || accept.contains("text/plain"))
}
