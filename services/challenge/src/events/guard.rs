//! Before every event: its caller must be a publisher. Health and reflection are open: they contain nothing of players.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use kit::grpc::outcome;
use kit::metrics::Endpoint;
use tonic::Status;

use crate::identity::Identity;
use crate::refusal::Code;

const OPEN: [&str; 2] = ["/grpc.health.", "/grpc.reflection."];

#[derive(Clone)]
pub(super) struct PublisherGuard {
    pub(super) identity: Arc<Identity>,
    /// The rpcs of publishers, each with its metrics: those of a call that is refused here.
    pub(super) rpcs: Arc<[(String, Endpoint)]>,
}

pub(super) async fn run(State(guard): State<PublisherGuard>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.uri().path();
    if OPEN.iter().any(|service| path.starts_with(service)) {
        return next.run(request).await;
    }
    let Err(denied) = guard.identity.check_publisher(request.headers()).await else {
        return next.run(request).await;
    };
    let refused = Status::new(Code::from(denied).grpc().into(), denied.to_string()).into_http();
    if let Some((_, endpoint)) = guard.rpcs.iter().find(|(rpc, _)| rpc == path) {
        endpoint.answered(outcome(&refused), started);
    }
    refused
}
