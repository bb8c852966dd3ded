//! Around every operation: the limit on concurrent requests, authentication, and the metrics of rate, errors and
//! duration.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use kit::limit::Limit;
use kit::metrics::Endpoint;

use super::error::{denied, overloaded};
use super::identity::identify;
use crate::identity::Identity;

#[derive(Clone)]
pub(super) struct Guard {
    pub(super) limit: Limit,
    pub(super) endpoint: Endpoint,
    pub(super) identity: Arc<Identity>,
}

pub(super) async fn run(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let response = match guard.limit.enter() {
        Some(_slot) => match identify(&guard.identity, &mut request).await {
            Ok(()) => next.run(request).await,
            Err(reason) => denied(reason),
        },
        None => overloaded(),
    };
    guard.endpoint.answered(outcome(response.status().as_u16()), started);
    response
}

fn outcome(status: u16) -> &'static str {
    match status {
        200 => "200",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        409 => "409",
        502 => "502",
        503 => "503",
        402 | 405..=499 => "4xx",
        _ => "other",
    }
}
