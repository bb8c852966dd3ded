//! The first check of every request: a request that would be refused anyway is refused at the lowest cost.

use std::future::{self, Ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::counter::Counter;

use super::Peer;
use super::shared_stream::SharedStream;
use crate::backlog::{Admission, Backlog, QueueSlot};
use crate::limit::Limit;
use crate::metrics::Metrics;

/// Refuses requests while a limit is full; while the process is behind, requests wait in the admission queue first.
#[derive(Clone)]
pub struct Gate {
    backlog: Backlog,
    limit: Limit,
    policy: GatePolicy,
    exception: Option<Arc<FullLimitException>>,
    refused: Counter,
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

impl Gate {
    /// A gate before the work that `limit` bounds. It only reads the limit; the code that does the work acquires it.
    #[must_use]
    pub fn new(backlog: &Backlog, limit: &Limit, policy: GatePolicy, metrics: &Metrics) -> Self {
        let refused = Counter::default();
        let counted = refused.clone();
        metrics.register(|registry| {
            registry.register(policy.metric, "Requests refused before they were routed", counted);
        });
        Self { backlog: backlog.clone(), limit: limit.clone(), policy, exception: None, refused }
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

    fn refusal(&self) -> Response {
        self.refused.inc();
        (self.policy.refusal)()
    }

    /// Whether requests are queued now.
    pub(super) fn is_queueing(&self) -> bool {
        self.backlog.is_behind()
    }

    /// Whether only a few new connections are accepted now.
    pub(super) fn is_overloaded(&self) -> bool {
        self.backlog.is_overloaded()
    }

    /// Returns when another connection may be accepted.
    pub(super) async fn connection_permit(&self) {
        self.backlog.connection_permit().await;
    }
}

/// Routes behind a gate, for one connection.
#[derive(Clone)]
pub(super) struct GatedRoutes {
    pub(super) gate: Option<Gate>,
    pub(super) routes: TowerToHyperService<Router>,
    /// The other end of the connection.
    pub(super) peer: SocketAddr,
    /// Shows whether the client still waits; `None` for HTTP/2, which reports that itself.
    pub(super) stream: Option<SharedStream>,
}

#[derive(Debug, thiserror::Error)]
#[error("the client has closed its side of the connection")]
pub(super) struct ClientClosed;

type Routed = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

/// The response to one request, as a future.
pub(super) enum GatedResponse {
    Refused(Ready<Result<Response, ClientClosed>>),
    Queued(Box<QueuedRequest>),
    Routed(Pin<Box<Routed>>),
}

/// A request in the admission queue. Its body is not read meanwhile.
pub(super) struct QueuedRequest {
    slot: QueueSlot,
    /// `None` once it has left the queue.
    request: Option<Request<Incoming>>,
    routes: GatedRoutes,
}

impl QueuedRequest {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<GatedResponse> {
        let admission = ready!(Pin::new(&mut self.slot).poll(context));
        let Some(request) = self.request.take() else { return Poll::Pending };
        if self.routes.stream.as_ref().is_some_and(SharedStream::is_read_closed) {
            return Poll::Ready(GatedResponse::Refused(future::ready(Err(ClientClosed))));
        }
        Poll::Ready(match (&self.routes.gate, admission) {
            (Some(gate), Admission::Refused) => GatedResponse::refused(gate),
            _ => self.routes.route(request),
        })
    }
}

impl GatedResponse {
    fn refused(gate: &Gate) -> Self {
        Self::Refused(future::ready(Ok(gate.refusal())))
    }
}

impl Future for GatedResponse {
    type Output = Result<Response, ClientClosed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::Queued(queued) = &mut *self {
            *self = ready!(queued.poll(context));
        }
        match &mut *self {
            Self::Refused(refused) => Pin::new(refused).poll(context),
            Self::Routed(routed) => routed.as_mut().poll(context).map_err(|never| match never {}),
            // Replaced above by what became of it.
            Self::Queued(_) => Poll::Pending,
        }
    }
}

impl GatedRoutes {
    /// Routes an admitted request, unless the limit is full.
    fn route(&self, mut request: Request<Incoming>) -> GatedResponse {
        match &self.gate {
            Some(gate) if !gate.is_exempt(&request) && gate.is_closed(&request) => {
                GatedResponse::refused(gate)
            }
            _ => {
                request.extensions_mut().insert(Peer(self.peer));
                GatedResponse::Routed(Box::pin(self.routes.call(request)))
            }
        }
    }
}

impl Service<Request<Incoming>> for GatedRoutes {
    type Response = Response;
    type Error = ClientClosed;
    type Future = GatedResponse;

    fn call(&self, request: Request<Incoming>) -> GatedResponse {
        let gate = self.gate.as_ref().filter(|gate| gate.is_queueing() && !gate.is_exempt(&request));
        match gate.and_then(|gate| gate.backlog.enter_queue()) {
            Some(slot) => {
                let (request, routes) = (Some(request), self.clone());
                GatedResponse::Queued(Box::new(QueuedRequest { slot, request, routes }))
            }
            None => self.route(request),
        }
    }
}
