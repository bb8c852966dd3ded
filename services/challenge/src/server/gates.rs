//! The admission gate of each port: its metric, the paths it does not apply to, and its refusal.

use axum::body::Body;
use axum::response::Response;
use kit::grpc::gate_policy;
use kit::serve::GatePolicy;
use tonic::Status;

use crate::http;
use crate::operations::OVERLOADED_MESSAGE;
use crate::refusal::Code;

pub(super) const HTTP: GatePolicy = GatePolicy {
    metric: "http_refused_early",
    is_exempt: |path| {
        ["/healthz", "/openapi.json", "/apidocs", "/apidocs/"].iter().any(|end| path.ends_with(end))
    },
    refusal: http::overloaded,
};

pub(super) const GRPC: GatePolicy = gate_policy("grpc_refused_early", refusal);

pub(super) const EVENTS: GatePolicy = gate_policy("events_refused_early", refusal);

fn refusal() -> Response {
    let status: Status = Status::new(Code::Overloaded.grpc().into(), OVERLOADED_MESSAGE);
    status.into_http::<Body>()
}
