//! Before every event: its caller must be a publisher. Health and reflection are open: they contain nothing of players.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use kit::grpc::outcome;
use kit::metrics::Endpoint;
use kit::serve::Respond;
use tonic::Status;

use crate::identity::Identity;
use crate::refusal::Code;

const OPEN: [&str; 2] = ["/grpc.health.", "/grpc.reflection."];

/// `inner`, for publishers; health and reflection for everyone.
pub(super) struct PublishersOnly<R> {
    pub(super) identity: Arc<Identity>,
    /// The rpcs of publishers, each with its metrics: those of a call that is refused here.
    pub(super) rpcs: [(String, Endpoint); 2],
    pub(super) inner: R,
}

impl<R: Respond> Respond for PublishersOnly<R> {
    async fn respond(&self, request: Request) -> Response {
        let started = Instant::now();
        let path = request.uri().path();
        if OPEN.iter().any(|service| path.starts_with(service)) {
            return self.inner.respond(request).await;
        }
        let Err(denied) = self.identity.check_publisher(request.headers()).await else {
            return self.inner.respond(request).await;
        };
        let refused = Status::new(Code::from(denied).grpc().into(), denied.to_string()).into_http();
        if let Some((_, endpoint)) = self.rpcs.iter().find(|(rpc, _)| rpc == path) {
            endpoint.answered(outcome(&refused), started);
        }
        refused
    }
}
