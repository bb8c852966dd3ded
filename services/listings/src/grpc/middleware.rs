//! Wraps every rpc. From the outside in: its time limit, the caller, the rate limit and the limit of calls in progress;
//! and counts the call. The older name is served by the same service under another path.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::Uri;
use kit::grpc::{outcome, requested_timeout};
use kit::limit::Permit;
use kit::metrics::{Metrics, seconds_histogram};
use kit::serve::Respond;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use tonic::{Code, Status};

use super::status::{SERVICE_REFUSAL_KEY, refused};
use crate::admission::{Admission, Admitted};
use crate::limiter::Origin;
use crate::methods::{METHODS, Method, TIMED_OUT};
use crate::proto::SERVICE_NAMES;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, Default)]
struct CallCounters {
    calls: Family<CallLabels, Counter>,
    timeouts: Family<MethodLabel, Counter>,
    near_timeouts: Family<MethodLabel, Counter>,
}

/// An rpc with its metrics, resolved once at start.
struct InstrumentedMethod {
    method: Method,
    uri: Uri,
    succeeded: Counter,
    seconds: Histogram,
}

pub(super) struct Middleware {
    admission: Arc<Admission>,
    /// By the paths of both names.
    methods: HashMap<String, Arc<InstrumentedMethod>>,
    counters: CallCounters,
    inner: Router,
}

impl Middleware {
    pub(super) fn new(inner: Router, admission: Arc<Admission>, metrics: &Metrics) -> Self {
        let counters = CallCounters::default();
        let seconds: Family<MethodLabel, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(seconds_histogram);
        let registered = counters.clone();
        metrics.register(|registry| {
            registry.register("grpc_requests", "Calls answered, by method and status", registered.calls);
            let help = "Duration of calls, by method";
            registry.register("grpc_request_duration_seconds", help, seconds.clone());
            registry.register("timeouts", "Calls ended by their deadline", registered.timeouts);
            let help = "Calls that took more than 80 % of their time limit";
            registry.register("near_timeouts", help, registered.near_timeouts);
        });
        let instrument = |method: &Method| {
            let labels = CallLabels { method: method.name, status: "ok" };
            let instrumented = Arc::new(InstrumentedMethod {
                method: *method,
                uri: Uri::from_static(method.path),
                succeeded: counters.calls.get_or_create_owned(&labels),
                seconds: seconds.get_or_create_owned(&MethodLabel { method: method.name }),
            });
            SERVICE_NAMES.map(|service| (format!("/{service}/{}", method.name), Arc::clone(&instrumented)))
        };
        Self { admission, methods: METHODS.iter().flat_map(instrument).collect(), counters, inner }
    }

    /// Carries out an admitted call, or refuses it.
    async fn call(&self, instrumented: &InstrumentedMethod, mut request: Request) -> Response {
        let _permit = match self.admit(&instrumented.method, &mut request).await {
            Ok(permit) => permit,
            Err(status) => return status.into_http::<Body>(),
        };
        #[cfg(feature = "faults")]
        let _injected = kit::faults::inject().await;
        *request.uri_mut() = instrumented.uri.clone();
        with_decoding_errors_as_invalid(self.inner.respond(request).await)
    }

    /// Identifies the caller and admits or refuses the call.
    async fn admit(&self, method: &Method, request: &mut Request) -> Result<Permit, Status> {
        let Admitted { caller, permit } = self.admission.admit(method, Origin::from_request(request)).await?;
        request.extensions_mut().insert(caller);
        Ok(permit)
    }

    fn count(&self, instrumented: &InstrumentedMethod, response: &Response, duration: Duration) {
        let method = &instrumented.method;
        instrumented.seconds.observe(duration.as_secs_f64());
        match outcome(response) {
            "ok" => drop(instrumented.succeeded.inc()),
            status => {
                let labels = CallLabels { method: method.name, status };
                self.counters.calls.get_or_create(&labels).inc();
            }
        }
        if duration > method.timeout.mul_f64(0.8) {
            self.counters.near_timeouts.get_or_create(&MethodLabel { method: method.name }).inc();
        }
    }

    fn timed_out(&self, method: &Method) -> Response {
        self.counters.timeouts.get_or_create(&MethodLabel { method: method.name }).inc();
        refused(Code::DeadlineExceeded, TIMED_OUT).into_http::<Body>()
    }
}

impl Respond for Middleware {
    async fn respond(&self, request: Request) -> Response {
        let started = Instant::now();
        let Some(instrumented) = self.methods.get(request.uri().path()) else {
            return self.inner.respond(request).await;
        };
        let method = &instrumented.method;
        let requested = requested_timeout(request.headers());
        let timeout = requested.map_or(method.timeout, |requested| requested.min(method.timeout));
        let response = tokio::time::timeout(timeout, self.call(instrumented, request)).await;
        let response = response.unwrap_or_else(|_elapsed| self.timed_out(method));
        self.count(instrumented, &response, started.elapsed());
        response
    }
}

/// Tonic reports a message that it cannot decode as an internal error, and one that is too large as out of range. Both
/// are errors of the caller and become `INVALID_ARGUMENT`. Refusals of this service are marked and stay as they are.
fn with_decoding_errors_as_invalid(response: Response) -> Response {
    let headers = response.headers();
    if headers.contains_key(SERVICE_REFUSAL_KEY) {
        return response;
    }
    let invalid = |message| refused(Code::InvalidArgument, message).into_http::<Body>();
    match headers.get(Status::GRPC_STATUS).map(|value| value.as_bytes()) {
        Some(b"11") => invalid("the message is too large"),
        Some(b"13") => invalid("the message cannot be decoded"),
        _ => response,
    }
}
