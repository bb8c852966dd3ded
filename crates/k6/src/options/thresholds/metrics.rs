//! The metrics of every run.

use evidence::metric::MetricKind;
use workload::nearest::nearest;

use MetricKind::{Counter, Gauge, Rate, Trend};

/// The metrics that k6 has of itself, by name. Times are in milliseconds.
pub const BUILT_IN_METRICS: [(&str, MetricKind); 25] = [
    ("checks", Rate),
    ("data_received", Counter),
    ("data_sent", Counter),
    ("dropped_iterations", Counter),
    ("group_duration", Trend),
    ("grpc_req_duration", Trend),
    ("http_req_blocked", Trend),
    ("http_req_connecting", Trend),
    ("http_req_duration", Trend),
    ("http_req_failed", Rate),
    ("http_req_receiving", Trend),
    ("http_req_sending", Trend),
    ("http_req_tls_handshaking", Trend),
    ("http_req_waiting", Trend),
    ("http_reqs", Counter),
    ("iteration_duration", Trend),
    ("iterations", Counter),
    ("vus", Gauge),
    ("vus_max", Gauge),
    ("ws_connecting", Trend),
    ("ws_msgs_received", Counter),
    ("ws_msgs_sent", Counter),
    ("ws_ping", Trend),
    ("ws_session_duration", Trend),
    ("ws_sessions", Counter),
];

/// The built-in metric whose name is like this, as the end of a message.
pub(super) fn similar(name: &str) -> String {
    let near = nearest(name, BUILT_IN_METRICS.iter().map(|(built_in, _)| *built_in));
    near.filter(|_| !name.is_empty()).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default()
}

/// What a built-in metric counts; none if there is none of this name.
pub fn built_in_kind(name: &str) -> Option<MetricKind> {
    BUILT_IN_METRICS.iter().find(|(built_in, _)| *built_in == name).map(|(_, kind)| *kind)
}
