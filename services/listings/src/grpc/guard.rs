//! Around every rpc, from the outside in: its time, who calls, how often they may, how many at once, and what is
//! counted of it. A service under the older name is the same service: only the path differs.

use super::Before;
use super::methods::{METHODS, Method};
use super::status::{OURS, denied, refused};
use crate::limiter::Verdict;
use crate::proto::NAMES;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::Uri;
use kit::grpc::{outcome, requested_timeout};
use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::{Code, Status};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    status: &'static str,
}

/// What is counted of calls.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    calls: Family<CallLabels, Counter>,
    timeouts: Family<MethodLabel, Counter>,
    near_timeouts: Family<MethodLabel, Counter>,
}

/// An rpc and its counters, looked up once.
struct Known {
    method: Method,
    uri: Uri,
    ok: Counter,
    seconds: Histogram,
}

pub(super) struct Guard {
    before: Before,
    known: HashMap<&'static str, Known>,
    counted: Counted,
}

impl Guard {
    pub(super) fn new(before: Before, metrics: &Metrics) -> Self {
        let counted = Counted::default();
        let seconds: Family<MethodLabel, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(seconds_histogram);
        let all = counted.clone();
        metrics.register(|registry| {
            registry.register("grpc_requests", "Calls answered, by method and status", all.calls);
            let help = "Time of a call";
            registry.register("grpc_request_duration_seconds", help, seconds.clone());
            registry.register("timeouts", "Calls that were ended by their deadline", all.timeouts);
            let help = "Calls that took more than four fifths of their time";
            registry.register("near_timeouts", help, all.near_timeouts);
        });
        let known = |method: &Method| {
            let labels = CallLabels { method: method.name, status: "ok" };
            let known = Known {
                method: *method,
                uri: Uri::from_static(method.path),
                ok: counted.calls.get_or_create_owned(&labels),
                seconds: seconds.get_or_create_owned(&MethodLabel { method: method.name }),
            };
            (method.name, known)
        };
        Self { before, known: METHODS.iter().map(known).collect(), counted }
    }

    fn find(&self, path: &str) -> Option<&Known> {
        self.known.get(path.rsplit_once('/')?.1)
    }

    /// What a call meets before it is made.
    async fn admit(&self, method: &Method, request: &mut Inner) -> Result<kit::limit::Permit, Status> {
        let caller = self.before.identity.of_headers(request.headers()).await.map_err(denied)?;
        let from = self.before.limiter.identify(method, &caller, request);
        request.extensions_mut().insert(caller);
        match self.before.limiter.take(method, &from).await {
            Verdict::Admitted => {}
            Verdict::Refused(again_in) => {
                return Err(super::status::too_often("called too often; try again later", again_in));
            }
            Verdict::Unknown => {
                return Err(refused(Code::Unavailable, "how often you have called cannot be known now"));
            }
        }
        let no_room = || refused(Code::ResourceExhausted, "too many requests at once; try again");
        self.before.limit.enter().ok_or_else(no_room)
    }

    fn count(&self, known: &Known, (response, took): (&Response, Duration)) {
        known.seconds.observe(took.as_secs_f64());
        match outcome(response) {
            "ok" => drop(known.ok.inc()),
            status => {
                let labels = CallLabels { method: known.method.name, status };
                self.counted.calls.get_or_create(&labels).inc();
            }
        }
        if took > known.method.within.mul_f64(0.8) {
            self.counted.near_timeouts.get_or_create(&MethodLabel { method: known.method.name }).inc();
        }
    }

    fn late(&self, method: &Method) -> Response {
        self.counted.timeouts.get_or_create(&MethodLabel { method: method.name }).inc();
        let message = "the deadline has passed; what was asked may have been done";
        refused(Code::DeadlineExceeded, message).into_http::<Body>()
    }
}

/// The framing below the rpcs reports messages that it cannot read as internal errors, and larger ones as out of
/// range. Both are the caller's mistake. Refusals of ours are marked and left alone.
fn readable(response: Response) -> Response {
    let headers = response.headers();
    if headers.contains_key(OURS) {
        return response;
    }
    let invalid = |message| refused(Code::InvalidArgument, message).into_http::<Body>();
    match headers.get(Status::GRPC_STATUS).map(|value| value.as_bytes()) {
        Some(b"11") => invalid("the message is too large"),
        Some(b"13") => invalid("the message cannot be read"),
        _ => response,
    }
}

/// Under which name a service is called.
pub(super) trait Name: Send + Sync + 'static {
    const NAME: &'static str;
}

pub(super) struct Current;
pub(super) struct Older;

impl Name for Current {
    const NAME: &'static str = NAMES[0];
}

impl Name for Older {
    const NAME: &'static str = NAMES[1];
}

/// A service behind the guard.
pub(super) struct Guarded<S, N> {
    inner: S,
    guard: Arc<Guard>,
    name: PhantomData<fn() -> N>,
}

impl<S, N> Guarded<S, N> {
    pub(super) fn new(inner: S, guard: Arc<Guard>) -> Self {
        Self { inner, guard, name: PhantomData }
    }
}

impl<S: Clone, N> Clone for Guarded<S, N> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.guard))
    }
}

impl<S, N: Name> NamedService for Guarded<S, N> {
    const NAME: &'static str = N::NAME;
}

type Inner = http::Request<tonic::body::Body>;

impl<S, N> Service<Inner> for Guarded<S, N>
where
    S: Service<Inner, Response = http::Response<tonic::body::Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    N: Name,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Inner) -> Self::Future {
        let (mut inner, guard) = (self.inner.clone(), Arc::clone(&self.guard));
        Box::pin(async move {
            let started = Instant::now();
            let mut request = request;
            let Some(known) = guard.find(request.uri().path()) else {
                return inner.call(request).await.map(IntoResponse::into_response);
            };
            let method = &known.method;
            let within =
                requested_timeout(request.headers()).map_or(method.within, |asked| asked.min(method.within));
            let call = async {
                let _place = match guard.admit(method, &mut request).await {
                    Ok(place) => place,
                    Err(status) => return status.into_http::<Body>(),
                };
                #[cfg(feature = "faults")]
                let _held = kit::faults::inject().await;
                *request.uri_mut() = known.uri.clone();
                match inner.call(request).await {
                    Ok(response) => readable(response.into_response()),
                    Err(never) => match never {},
                }
            };
            let response = tokio::time::timeout(within, call).await;
            let response = response.unwrap_or_else(|_elapsed| guard.late(method));
            guard.count(known, (&response, started.elapsed()));
            Ok(response)
        })
    }
}
