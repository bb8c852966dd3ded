//! The first check of every request: a request that would be refused anyway is refused at the lowest cost.

use std::convert::Infallible;
use std::future::{self, Ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Version, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use prometheus_client::metrics::counter::Counter;

use super::Peer;
use super::frames::response_block;
use super::respond::{ResponseFuture, SharedResponder};
use super::streams::StreamExecutor;
use crate::backlog::{Backlog, OpenConnection, OpenRequest, Read, TurnState};
use crate::limit::Limit;
use crate::metrics::Metrics;

/// Refuses requests while a limit is full; while the process is behind, closes connections of HTTP/1.1 and refuses
/// requests of HTTP/2.
#[derive(Clone)]
pub struct Gate {
    backlog: Backlog,
    limit: Limit,
    policy: GatePolicy,
    exception: Option<Arc<FullLimitException>>,
    refused: Counter,
    /// The refusal, encoded for HTTP/2.
    refusal_block: Arc<[u8]>,
}

/// Whether a request with these headers is admitted although the limit is full.
type FullLimitException = dyn Fn(&HeaderMap) -> bool + Send + Sync;

/// What a gate refuses, how, and under which name it counts that.
#[derive(Clone, Copy)]
pub struct GatePolicy {
    /// The metric that counts the refusals.
    pub metric: &'static str,
    /// Paths that are never refused here: a service's health must be readable under any load.
    pub is_exempt: fn(&str) -> bool,
    /// The response to a refused request.
    pub refusal: fn() -> Response,
}

/// What there is too much of, when a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excess {
    /// It is refused.
    Request,
    /// Its connection is closed with the refusal.
    Connection,
}

impl Gate {
    /// A gate before the work that `limit` bounds. It only reads the limit; the code that does the work acquires it.
    #[must_use]
    pub fn new(backlog: &Backlog, limit: &Limit, policy: GatePolicy, metrics: &Metrics) -> Self {
        let refused = Counter::default();
        let counted = refused.clone();
        metrics.register(|registry| {
            registry.register(policy.metric, "Requests refused before they were routed", counted);
        });
        let refusal = (policy.refusal)();
        let refusal_block = response_block(refusal.status(), refusal.headers()).into();
        Self {
            backlog: backlog.clone(),
            limit: limit.clone(),
            policy,
            exception: None,
            refused,
            refusal_block,
        }
    }

    /// The same gate, which admits requests whose headers satisfy `exception` although the limit is full.
    #[must_use]
    pub fn admitting_when_full(
        mut self,
        exception: impl Fn(&HeaderMap) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.exception = Some(Arc::new(exception));
        self
    }

    fn is_exempt(&self, request: &Request<Incoming>) -> bool {
        (self.policy.is_exempt)(request.uri().path())
    }

    /// Whether the request cannot be worked on now.
    fn is_closed(&self, request: &Request<Incoming>) -> bool {
        let may_pass = || self.exception.as_ref().is_some_and(|exception| exception(request.headers()));
        self.limit.is_full() && !may_pass()
    }

    /// Counts a request that is worked on.
    fn admit(&self, request: &Request<Incoming>) -> Result<Option<OpenRequest>, Excess> {
        if self.is_exempt(request) {
            return Ok(None);
        }
        let is_multiplexed = request.version() >= Version::HTTP_2;
        if !is_multiplexed && self.backlog.must_close() {
            return Err(Excess::Connection);
        }
        if self.is_closed(request) {
            return Err(Excess::Request);
        }
        if !is_multiplexed {
            return Ok(Some(self.backlog.request_of_limited_connection()));
        }
        self.backlog.request().map(Some).ok_or(Excess::Request)
    }

    /// The response to a request that is not worked on.
    fn refusal(&self, excess: Excess) -> Response {
        self.refused.inc();
        let mut refusal = (self.policy.refusal)();
        if excess == Excess::Connection {
            refusal.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        refusal
    }

    /// How many requests of HTTP/2 may be passed on now; `None` while their number is not limited.
    pub(super) fn space(&self) -> Option<usize> {
        self.backlog.space()
    }

    /// After a read of a connection of HTTP/2, whose surplus requests were refused before they were parsed: how long it is
    /// not read.
    pub(super) fn after_read(&self, state: &mut TurnState, read: Read) -> Option<Duration> {
        if read.refused > 0 {
            self.backlog.note_refused();
            self.refused.inc_by(read.refused);
        }
        self.backlog.after_read(state, read)
    }

    /// The headers of a refusal, encoded for HTTP/2.
    pub(super) fn refusal_block(&self) -> &[u8] {
        &self.refusal_block
    }

    /// Whether connections are limited now.
    pub(super) fn is_behind(&self) -> bool {
        self.backlog.is_behind()
    }

    /// Whether a connection that has not been read yet is to be closed.
    pub(super) fn must_close(&self) -> bool {
        self.backlog.must_close()
    }

    /// Returns when another connection may be accepted.
    pub(super) async fn connection(&self) -> OpenConnection {
        self.backlog.connection().await
    }
}

/// What answers requests behind a gate, for one connection.
#[derive(Clone)]
pub(super) struct GatedRoutes {
    pub(super) gate: Option<Gate>,
    pub(super) responder: SharedResponder,
    /// The other end of the connection.
    pub(super) peer: SocketAddr,
    /// Carries out its requests, if it is of HTTP/2.
    pub(super) executor: StreamExecutor,
}

/// The response to one request, as a future.
pub(super) enum GatedResponse {
    Refused(Ready<Result<Response, Infallible>>),
    Admitted(ResponseFuture, #[expect(dead_code, reason = "counted while it exists")] Option<OpenRequest>),
}

impl Future for GatedResponse {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Refused(refused) => Pin::new(refused).poll(context),
            Self::Admitted(answering, _) => answering.as_mut().poll(context),
        }
    }
}

impl Service<Request<Incoming>> for GatedRoutes {
    type Response = Response;
    type Error = Infallible;
    type Future = GatedResponse;

    fn call(&self, mut request: Request<Incoming>) -> GatedResponse {
        let mut open = None;
        if let Some(gate) = &self.gate {
            match gate.admit(&request) {
                Ok(counted) => open = counted,
                Err(excess) => {
                    self.executor.expect_refusal();
                    return GatedResponse::Refused(future::ready(Ok(gate.refusal(excess))));
                }
            }
        }
        request.extensions_mut().insert(Peer(self.peer));
        GatedResponse::Admitted((self.responder)(request), open)
    }
}
