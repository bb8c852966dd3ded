//! k6: each point of a metric as an event, whichever of its outputs it stands in.
//!
//! k6 measures a request from its first byte sent to its last byte received; what an iteration waited before it began
//! is in none of its metrics.

pub(crate) mod csv;
pub(crate) mod ndjson;
pub(crate) mod summary;

use std::borrow::Cow;

use evidence::{GrpcCode, Metric, Outcome};

use crate::event::{Event, Place, Receive};
use crate::lines::Fault;

/// More than this in one point is no count.
const MAX_COUNT: f64 = (1u64 << 40) as f64;
/// More milliseconds than this, a month, is no duration.
const MAX_MS: f64 = 31.0 * 86_400_000.0;

/// One value of one metric.
#[derive(Debug, Default)]
pub(crate) struct Point<'a> {
    pub(crate) metric: &'a str,
    /// Nanoseconds since the Unix epoch.
    pub(crate) at: i64,
    pub(crate) value: f64,
    pub(crate) tags: Tags<'a>,
}

/// The tags that matter; empty where k6 sent none.
#[derive(Debug, Default)]
pub(crate) struct Tags<'a> {
    pub(crate) scenario: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) url: Cow<'a, str>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) status: Cow<'a, str>,
    pub(crate) error_code: Cow<'a, str>,
    pub(crate) expected_response: Cow<'a, str>,
    pub(crate) check: Cow<'a, str>,
    pub(crate) group: Cow<'a, str>,
}

impl Tags<'_> {
    /// The endpoint: the name that the script gave, else method and URL.
    fn endpoint(&self) -> Cow<'_, str> {
        match &*self.name {
            "" => Cow::Borrowed(&self.url),
            name if name.contains("://") && !self.method.is_empty() => {
                Cow::Owned(format!("{} {name}", self.method))
            }
            name => Cow::Borrowed(name),
        }
    }

    fn http_outcome(&self) -> Outcome {
        let status = self.status.parse::<u16>().unwrap_or(0);
        match (&*self.expected_response, status) {
            ("true", _) => Outcome::Ok,
            ("", 1..=399) => Outcome::Ok,
            (_, 0) => self.transport(),
            (_, status) => Outcome::of_http_status(status),
        }
    }

    /// How a request without a status ended, by k6's error codes.
    fn transport(&self) -> Outcome {
        match self.error_code.parse::<u16>().unwrap_or(0) {
            1050 | 1211 => Outcome::Timeout,
            // A name that nobody has is a peer that cannot be had.
            1100..=1199 | 1212 => Outcome::Refused,
            1200..=1299 => Outcome::Reset,
            1300..=1399 => Outcome::Tls,
            _ => Outcome::Protocol,
        }
    }

    fn grpc_outcome(&self) -> Outcome {
        match self.status.parse::<u32>() {
            Ok(0) => Outcome::Ok,
            Ok(code) => Outcome::Grpc(GrpcCode::from_number(code)),
            Err(_) => Outcome::Protocol,
        }
    }
}

/// What a point is as an event.
enum Kind {
    Request,
    Call,
    Iteration,
    /// A phase of a request, in ms.
    Phase(Metric),
    Count(Metric),
    /// Counted for each request.
    Requests,
    Check,
    Users,
    /// Told by others, or of no use.
    Passed,
    Unknown,
}

fn kind(metric: &str) -> Kind {
    match metric {
        "http_req_duration" => Kind::Request,
        "grpc_req_duration" => Kind::Call,
        "iteration_duration" => Kind::Iteration,
        "http_reqs" => Kind::Requests,
        "http_req_blocked" => Kind::Phase(Metric::BlockedNs),
        "http_req_connecting" => Kind::Phase(Metric::ConnectingNs),
        "http_req_tls_handshaking" => Kind::Phase(Metric::TlsHandshakingNs),
        "http_req_sending" => Kind::Phase(Metric::SendingNs),
        "http_req_waiting" => Kind::Phase(Metric::WaitingNs),
        "http_req_receiving" => Kind::Phase(Metric::ReceivingNs),
        "iterations" => Kind::Count(Metric::IterationsDone),
        "dropped_iterations" => Kind::Count(Metric::Dropped),
        "data_received" => Kind::Count(Metric::BytesIn),
        "data_sent" => Kind::Count(Metric::BytesOut),
        "checks" => Kind::Check,
        "vus" => Kind::Users,
        "http_req_failed" | "vus_max" => Kind::Passed,
        _ => Kind::Unknown,
    }
}

/// Hand a point on.
pub(crate) fn receive(point: &Point<'_>, receiver: &mut dyn Receive) -> Result<(), Fault> {
    let tags = &point.tags;
    let endpoint = tags.endpoint();
    let whole = Place { scenario: &tags.scenario, endpoint: "" };
    let request = Place { endpoint: &endpoint, ..whole };
    let times = |metric, place, outcome| {
        Ok::<_, Fault>(Event::Times { metric, place, outcome, end: point.at, nanos: nanos(point.value)? })
    };
    let count = |metric, place, value| Event::Count { metric, place, check: None, at: point.at, value };
    let event = match kind(point.metric) {
        Kind::Request => times(Metric::ResponseTime, request, Some(tags.http_outcome()))?,
        Kind::Call => times(Metric::ResponseTime, request, Some(tags.grpc_outcome()))?,
        Kind::Iteration => times(Metric::IterationTime, whole, None)?,
        Kind::Phase(_) if !tags.http_outcome().is_answer() => return Ok(()),
        Kind::Phase(metric) => count(metric, request, nanos(point.value)?),
        Kind::Requests => count(Metric::Requests, request, whole_number(point.value)?),
        Kind::Count(metric) => count(metric, whole, whole_number(point.value)?),
        Kind::Check => {
            let group = tags.group.trim_start_matches("::");
            let place = Place { endpoint: if group.is_empty() { "(checks)" } else { group }, ..whole };
            let metric = if point.value > 0.0 { Metric::CheckPassed } else { Metric::CheckFailed };
            Event::Count { metric, place, check: Some(&tags.check), at: point.at, value: 1 }
        }
        Kind::Users if point.value.is_finite() => {
            Event::Level { name: "virtual_users", at: point.at, value: point.value }
        }
        Kind::Users | Kind::Passed => return Ok(()),
        Kind::Unknown => Event::Unknown(point.metric),
    };
    Ok(receiver.receive(event)?)
}

fn nanos(ms: f64) -> Result<u64, Fault> {
    match ms {
        ms if (0.0..=MAX_MS).contains(&ms) => Ok((ms * 1e6).round() as u64),
        _ => Err(Fault::Malformed(format!("{ms} ms is no duration"))),
    }
}

fn whole_number(value: f64) -> Result<u64, Fault> {
    match value {
        value if (0.0..=MAX_COUNT).contains(&value) => Ok(value.round() as u64),
        _ => Err(Fault::Malformed(format!("{value} is no count"))),
    }
}
