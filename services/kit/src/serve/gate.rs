//! The first thing that a request meets: when it would be refused anyway, that costs as little as can be.

use super::Peer;
use crate::backlog::Backlog;
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
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Refuses while the process is behind, or while a limit has no place.
#[derive(Clone)]
pub struct Gate {
    backlog: Backlog,
    limit: Limit,
    words: Words,
    exception: Option<Arc<Exception>>,
    refused: Counter,
}

/// Which requests, told by their headers, are let in although the limit is full.
type Exception = dyn Fn(&HeaderMap) -> bool + Send + Sync;

/// A service's own words.
#[derive(Clone, Copy)]
pub struct Words {
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
    pub fn new(backlog: &Backlog, limit: &Limit, words: Words, metrics: &Metrics) -> Self {
        let refused = Counter::default();
        let counted = refused.clone();
        metrics.register(|registry| {
            registry.register(words.metric, "Requests refused before they were routed", counted);
        });
        Self { backlog: backlog.clone(), limit: limit.clone(), words, exception: None, refused }
    }

    /// The same, through which requests pass for whose headers `exception` holds although the limit is full.
    #[must_use]
    pub fn unless(mut self, exception: impl Fn(&HeaderMap) -> bool + Send + Sync + 'static) -> Self {
        self.exception = Some(Arc::new(exception));
        self
    }

    fn refusal(&self, request: &Request<Incoming>) -> Option<Response> {
        if (self.words.is_exempt)(request.uri().path()) {
            return None;
        }
        let may_pass = || self.exception.as_ref().is_some_and(|exception| exception(request.headers()));
        if (!self.limit.is_full() || may_pass()) && self.backlog.admits() {
            return None;
        }
        self.refused.inc();
        Some((self.words.refusal)())
    }
}

/// Routes behind a gate.
#[derive(Clone)]
pub(super) struct Gated {
    pub(super) gate: Option<Gate>,
    pub(super) routes: TowerToHyperService<Router>,
    /// The other end of the connection.
    pub(super) peer: SocketAddr,
}

type Routed = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

/// An answer, now or later.
pub(super) enum Answer {
    Refused(Ready<Result<Response, Infallible>>),
    Routed(Pin<Box<Routed>>),
}

impl Future for Answer {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Refused(refused) => Pin::new(refused).poll(context),
            Self::Routed(routed) => routed.as_mut().poll(context),
        }
    }
}

impl Service<Request<Incoming>> for Gated {
    type Response = Response;
    type Error = Infallible;
    type Future = Answer;

    fn call(&self, mut request: Request<Incoming>) -> Answer {
        match self.gate.as_ref().and_then(|gate| gate.refusal(&request)) {
            Some(refusal) => Answer::Refused(ready(Ok(refusal))),
            None => {
                request.extensions_mut().insert(Peer(self.peer));
                Answer::Routed(Box::pin(self.routes.call(request)))
            }
        }
    }
}
