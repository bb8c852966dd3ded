//! Metrics of a gRPC port under the names that the libraries of other languages give them, which dashboards expect:
//! `grpc_server_started_total`, `grpc_server_handled_total`, `grpc_server_handling_seconds`,
//! `grpc_server_msg_received_total` and `grpc_server_msg_sent_total`. Only methods that the port has are counted: any
//! other name would be a label that callers choose.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Status;

use crate::metrics::Metrics;
use crate::serve::Respond;

/// The bounds that Prometheus's own libraries use, in seconds.
const BOUNDS_S: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    grpc_type: &'static str,
    grpc_service: Arc<str>,
    grpc_method: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandledLabels {
    grpc_type: &'static str,
    grpc_service: Arc<str>,
    grpc_method: Arc<str>,
    grpc_code: &'static str,
}

/// The counters of a process's gRPC ports. Clones share them.
#[derive(Clone)]
pub struct GrpcMetrics {
    started: Family<MethodLabels, Counter>,
    handled: Family<HandledLabels, Counter>,
    received: Family<MethodLabels, Counter>,
    sent: Family<MethodLabels, Counter>,
    seconds: Family<MethodLabels, Histogram, fn() -> Histogram>,
}

impl GrpcMetrics {
    /// Adds them to a service's metrics; called once for all of its ports.
    #[must_use]
    pub fn register(metrics: &Metrics) -> Self {
        let new = Self {
            started: Family::default(),
            handled: Family::default(),
            received: Family::default(),
            sent: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(BOUNDS_S)),
        };
        let all = new.clone();
        metrics.register_customary(|registry| {
            let help = "Total number of RPCs started on the server";
            registry.register("grpc_server_started", help, all.started);
            let help = "Total number of RPCs completed on the server, regardless of success or failure";
            registry.register("grpc_server_handled", help, all.handled);
            let help = "Total number of messages of unary RPCs received on the server";
            registry.register("grpc_server_msg_received", help, all.received);
            let help = "Total number of messages of unary RPCs sent by the server";
            registry.register("grpc_server_msg_sent", help, all.sent);
            let help =
                "Response time in seconds of RPCs that had been application-level handled by the server";
            registry.register("grpc_server_handling_seconds", help, all.seconds);
        });
        new
    }

    /// Counts the calls of a port that has the services described by these encoded `FileDescriptorSet`s.
    ///
    /// # Panics
    /// When one is not a descriptor set: they are written by the build.
    pub fn count<R>(&self, inner: R, services: &[&[u8]]) -> Counted<R> {
        let mut methods = HashMap::new();
        for set in services {
            let set = FileDescriptorSet::decode(*set).expect("the build wrote the descriptors");
            for file in set.file {
                for service in &file.service {
                    let name: Arc<str> = match file.package() {
                        "" => service.name().into(),
                        package => format!("{package}.{}", service.name()).into(),
                    };
                    for method in &service.method {
                        let labels = MethodLabels {
                            grpc_type: grpc_type(method.client_streaming(), method.server_streaming()),
                            grpc_service: Arc::clone(&name),
                            grpc_method: method.name().into(),
                        };
                        methods.insert(format!("/{name}/{}", method.name()), self.method(labels));
                    }
                }
            }
        }
        Counted { methods, handled: self.handled.clone(), inner }
    }

    fn method(&self, labels: MethodLabels) -> CountedMethod {
        let MethodLabels { grpc_type, grpc_service, grpc_method } = labels.clone();
        let succeeded = HandledLabels { grpc_type, grpc_service, grpc_method, grpc_code: "OK" };
        CountedMethod {
            started: self.started.get_or_create_owned(&labels),
            received: self.received.get_or_create_owned(&labels),
            sent: self.sent.get_or_create_owned(&labels),
            seconds: self.seconds.get_or_create_owned(&labels),
            succeeded: self.handled.get_or_create_owned(&succeeded),
            labels,
        }
    }
}

fn grpc_type(streams_requests: bool, streams_responses: bool) -> &'static str {
    match (streams_requests, streams_responses) {
        (false, false) => "unary",
        (true, false) => "client_stream",
        (false, true) => "server_stream",
        (true, true) => "bidi_stream",
    }
}

/// A method with its counters, found once.
struct CountedMethod {
    labels: MethodLabels,
    started: Counter,
    received: Counter,
    sent: Counter,
    seconds: Histogram,
    succeeded: Counter,
}

/// A port whose calls are counted.
pub struct Counted<R> {
    methods: HashMap<String, CountedMethod>,
    handled: Family<HandledLabels, Counter>,
    inner: R,
}

impl<R: Respond> Respond for Counted<R> {
    /// A call is handled when its response begins: the code of a refusal is there, that of a success follows the message.
    async fn respond(&self, request: Request) -> Response {
        let Some(method) = self.methods.get(request.uri().path()) else {
            return self.inner.respond(request).await;
        };
        let is_unary = method.labels.grpc_type == "unary";
        let started = Instant::now();
        method.started.inc();
        if is_unary {
            method.received.inc();
        }
        let response = self.inner.respond(request).await;
        method.seconds.observe(started.elapsed().as_secs_f64());
        match code(&response) {
            "OK" => {
                method.succeeded.inc();
                if is_unary {
                    method.sent.inc();
                }
            }
            grpc_code => {
                let MethodLabels { grpc_type, grpc_service, grpc_method } = method.labels.clone();
                let labels = HandledLabels { grpc_type, grpc_service, grpc_method, grpc_code };
                self.handled.get_or_create(&labels).inc();
            }
        }
        response
    }
}

/// The names of the codes in Go.
fn code(response: &Response) -> &'static str {
    const NAMES: [&str; 17] = [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ];
    let Some(code) = response.headers().get(Status::GRPC_STATUS) else { return NAMES[0] };
    let number = code.to_str().ok().and_then(|code| code.parse::<usize>().ok());
    number.and_then(|number| NAMES.get(number).copied()).unwrap_or(NAMES[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: Option<&str>) -> Response {
        let mut response = Response::default();
        if let Some(code) = code {
            response.headers_mut().insert(Status::GRPC_STATUS, code.parse().unwrap());
        }
        response
    }

    #[test]
    fn codes_have_the_names_that_dashboards_expect() {
        for (number, name) in [
            (None, "OK"),
            (Some("0"), "OK"),
            (Some("5"), "NotFound"),
            (Some("16"), "Unauthenticated"),
            (Some("17"), "Unknown"),
            (Some("x"), "Unknown"),
        ] {
            assert_eq!(code(&response(number)), name, "{number:?}");
        }
        let types = [(false, false), (true, false), (false, true), (true, true)];
        assert_eq!(
            types.map(|(requests, responses)| grpc_type(requests, responses)),
            ["unary", "client_stream", "server_stream", "bidi_stream"]
        );
    }
}
