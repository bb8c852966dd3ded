//! The routes of profiles, named as those of Go's `net/http/pprof`, so that the same tools use them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Query;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde::Deserialize;

use super::access::operators_only;
use super::cpu::{self, CpuProfileError};
use super::heap::{self, Shown};
use crate::auth::Identity;

/// The longest profile of the processor.
const MAX_SECONDS: u64 = 600;

const INDEX: &str = "/debug/pprof/\n\n\
    profile?seconds=30  what uses the processor, 100 samples a second of CPU time\n\
    heap                memory in use, by the functions that asked for it\n\
    allocs              memory allocated since the start, likewise\n\n\
    go tool pprof -http=: http://HOST:PORT/debug/pprof/profile?seconds=10\n";

pub(super) fn router(identity: Arc<Identity>) -> Router {
    Router::new()
        .route("/debug/pprof", get(async || INDEX))
        .route("/debug/pprof/", get(async || INDEX))
        .route("/debug/pprof/profile", get(processor))
        .route("/debug/pprof/heap", get(async |query| allocations(query, Shown::InUse).await))
        .route("/debug/pprof/allocs", get(async |query| allocations(query, Shown::Allocated).await))
        .layer(axum::middleware::from_fn_with_state(identity, operators_only))
}

#[derive(Debug, Deserialize)]
struct ProfileQuery {
    seconds: Option<u64>,
}

async fn processor(Query(query): Query<ProfileQuery>) -> Response {
    let seconds = query.seconds.unwrap_or(30);
    if !(1..=MAX_SECONDS).contains(&seconds) {
        let text = format!("seconds={seconds} cannot be used: a whole number from 1 to {MAX_SECONDS}\n");
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    match cpu::profile(Duration::from_secs(seconds)).await {
        Ok(bytes) => gzip(bytes),
        Err(error @ CpuProfileError::Busy) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], format!("{error}\n"))
                .into_response()
        }
        Err(error @ CpuProfileError::System(_)) => failed(&error),
    }
}

#[derive(Debug, Deserialize)]
struct HeapQuery {
    #[serde(default)]
    debug: u8,
}

/// Names are looked up in large files, which takes a while: not on a thread that serves requests.
async fn allocations(Query(query): Query<HeapQuery>, shown: Shown) -> Response {
    if query.debug > 0 {
        return heap::text().into_response();
    }
    match tokio::task::spawn_blocking(move || heap::profile(shown)).await {
        Ok(Ok(bytes)) => gzip(bytes),
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

fn gzip(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

fn failed(error: &dyn std::error::Error) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
}
