//! Around every operation: admission, and the metrics of rate, errors and duration.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use kit::metrics::Endpoint;

use super::error::not_admitted;
use super::identity::Caller;
use crate::admission::Admission;

pub(super) struct Guard {
    pub(super) endpoint: Endpoint,
    pub(super) admission: Admission,
}

pub(super) async fn run(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let response = match guard.admission.admit(request.headers()).await {
        Ok(admitted) => {
            request.extensions_mut().insert(Caller(admitted.place.clone()));
            let response = next.run(request).await;
            drop(admitted);
            response
        }
        Err(reason) => not_admitted(reason),
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
        429 => "429",
        502 => "502",
        503 => "503",
        402 | 405..=499 => "4xx",
        _ => "other",
    }
}
