//! The first thing that a request meets: when it would be refused anyway, that costs as little as can be.

use super::Peer;
use super::wire::Wire;
use crate::backlog::{Backlog, Place, Turn};
use crate::limit::Limit;
use crate::metrics::Metrics;
use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::counter::Counter;
use std::future::{self, Ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Refuses while a limit has no place; while the process is behind, requests stand in line before it.
#[derive(Clone)]
pub struct Gate {
    backlog: Backlog,
    limit: Limit,
    policy: GatePolicy,
    exception: Option<Arc<Exception>>,
    refused: Counter,
}

/// Which requests, told by their headers, are let in although the limit is full.
type Exception = dyn Fn(&HeaderMap) -> bool + Send + Sync;

/// A service's own policy.
#[derive(Clone, Copy)]
pub struct GatePolicy {
    /// What the refusals are called in the metrics.
    pub metric: &'static str,
    /// Paths that are never refused here: who asks after a service's health must learn it.
    pub is_exempt: fn(&str) -> bool,
    /// The refusal.
    pub refusal: fn() -> Response,
}

impl Gate {
    /// A gate before what `limit` bounds. The limit itself is kept by whoever does the work.
    #[must_use]
    pub fn new(backlog: &Backlog, limit: &Limit, policy: GatePolicy, metrics: &Metrics) -> Self {
        let refused = Counter::default();
        let counted = refused.clone();
        metrics.register(|registry| {
            registry.register(policy.metric, "Requests refused before they were routed", counted);
        });
        Self { backlog: backlog.clone(), limit: limit.clone(), policy, exception: None, refused }
    }

    /// The same, through which requests pass for whose headers `exception` holds although the limit is full.
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

    /// Whether nothing can be done for a request now.
    fn is_closed(&self, request: &Request<Incoming>) -> bool {
        let may_pass = || self.exception.as_ref().is_some_and(|exception| exception(request.headers()));
        self.limit.is_full() && !may_pass()
    }

    fn refusal(&self) -> Response {
        self.refused.inc();
        (self.policy.refusal)()
    }

    /// Whether requests stand in line now.
    pub(super) fn has_line(&self) -> bool {
        self.backlog.is_behind()
    }

    /// Whether few new connections are taken in now.
    pub(super) fn is_overloaded(&self) -> bool {
        self.backlog.is_overloaded()
    }

    /// Returns when there is time to take in another connection.
    pub(super) async fn has_time_for_a_connection(&self) {
        self.backlog.has_time_for_a_connection().await;
    }
}

/// Routes behind a gate.
#[derive(Clone)]
pub(super) struct Gated {
    pub(super) gate: Option<Gate>,
    pub(super) routes: TowerToHyperService<Router>,
    /// The other end of the connection.
    pub(super) peer: SocketAddr,
    /// Tells whether it still waits, where the protocol does not.
    pub(super) wire: Option<Wire>,
}

/// Nobody waits for the answer any more.
#[derive(Debug, thiserror::Error)]
#[error("the client has left")]
pub(super) struct HasLeft;

type Routed = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

/// An answer, now or later.
pub(super) enum Answer {
    Refused(Ready<Result<Response, HasLeft>>),
    InLine(Box<InLine>),
    Routed(Pin<Box<Routed>>),
}

/// A request whose turn has not come. Its body is not read meanwhile.
pub(super) struct InLine {
    place: Place,
    /// Taken when its turn has come.
    request: Option<Request<Incoming>>,
    gated: Gated,
}

impl InLine {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        let turn = ready!(Pin::new(&mut self.place).poll(context));
        let Some(request) = self.request.take() else { return Poll::Pending };
        if self.gated.wire.as_ref().is_some_and(Wire::has_left) {
            return Poll::Ready(Answer::Refused(future::ready(Err(HasLeft))));
        }
        Poll::Ready(match (&self.gated.gate, turn) {
            (Some(gate), Turn::Refused) => Answer::refused(gate),
            _ => self.gated.enter(request),
        })
    }
}

impl Answer {
    fn refused(gate: &Gate) -> Self {
        Self::Refused(future::ready(Ok(gate.refusal())))
    }
}

impl Future for Answer {
    type Output = Result<Response, HasLeft>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::InLine(in_line) = &mut *self {
            *self = ready!(in_line.poll(context));
        }
        match &mut *self {
            Self::Refused(refused) => Pin::new(refused).poll(context),
            Self::Routed(routed) => routed.as_mut().poll(context).map_err(|never| match never {}),
            // Whose turn has come stands in line no more.
            Self::InLine(_) => Poll::Pending,
        }
    }
}

impl Gated {
    /// What becomes of a request whose turn it is.
    fn enter(&self, mut request: Request<Incoming>) -> Answer {
        match &self.gate {
            Some(gate) if !gate.is_exempt(&request) && gate.is_closed(&request) => Answer::refused(gate),
            _ => {
                request.extensions_mut().insert(Peer(self.peer));
                Answer::Routed(Box::pin(self.routes.call(request)))
            }
        }
    }
}

impl Service<Request<Incoming>> for Gated {
    type Response = Response;
    type Error = HasLeft;
    type Future = Answer;

    fn call(&self, request: Request<Incoming>) -> Answer {
        let gate = self.gate.as_ref().filter(|gate| gate.has_line() && !gate.is_exempt(&request));
        match gate.and_then(|gate| gate.backlog.join()) {
            Some(place) => {
                let (request, gated) = (Some(request), self.clone());
                Answer::InLine(Box::new(InLine { place, request, gated }))
            }
            None => self.enter(request),
        }
    }
}
