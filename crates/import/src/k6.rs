//! k6: each point of a metric becomes an event, whichever output it comes from.
//!
//! k6 measures a request from its first byte sent to its last byte received. How long an iteration waited before it
//! started is in none of its metrics.

pub(crate) mod csv;
pub(crate) mod ndjson;
mod points;
pub(crate) mod summary;

use std::borrow::Cow;

use evidence::{GrpcCode, Metric, Outcome};
use serde::Deserialize;

use crate::event::{EndpointRef, Event, Receive};
use crate::limits::{MAX_DURATION_MS, MAX_RECORD_BYTES, MAX_RECORD_COUNT};
use crate::lines::LineError;
use points::RequestPoints;

/// One value of one metric.
#[derive(Debug, Default)]
pub(crate) struct MetricPoint<'a> {
    pub(crate) metric: &'a str,
    /// Nanoseconds since the Unix epoch.
    pub(crate) at: i64,
    pub(crate) value: f64,
    pub(crate) tags: Tags<'a>,
}

/// The tags that are used; empty where k6 wrote none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tags<'a> {
    #[serde(borrow)]
    pub(crate) scenario: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) url: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) method: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) status: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) error_code: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) expected_response: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) check: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) group: Cow<'a, str>,
}

impl Tags<'_> {
    /// The endpoint: the name that the script gave, otherwise method and URL.
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

    /// The outcome of a request without a status, by k6's error code.
    fn transport(&self) -> Outcome {
        match self.error_code.parse::<u16>().unwrap_or(0) {
            1050 | 1211 => Outcome::Timeout,
            1100..=1199 => Outcome::Dns,
            1212 => Outcome::Refused,
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

/// The kind of event that a point becomes.
enum PointKind {
    Request,
    Call,
    Iteration,
    /// A phase of a request, in milliseconds.
    Phase(Metric),
    Count(Metric),
    Bytes(Metric),
    /// Counted once per request.
    Requests,
    Check,
    Users,
    /// Whether a request failed, which its time says too.
    Failed,
    /// Contained in other metrics, or not used.
    Ignored,
    Unknown,
}

fn point_kind(metric: &str) -> PointKind {
    match metric {
        "http_req_duration" => PointKind::Request,
        "grpc_req_duration" => PointKind::Call,
        "iteration_duration" => PointKind::Iteration,
        "http_reqs" => PointKind::Requests,
        "http_req_blocked" => PointKind::Phase(Metric::BlockedNs),
        "http_req_connecting" => PointKind::Phase(Metric::ConnectingNs),
        "http_req_tls_handshaking" => PointKind::Phase(Metric::TlsHandshakingNs),
        "http_req_sending" => PointKind::Phase(Metric::SendingNs),
        "http_req_waiting" => PointKind::Phase(Metric::WaitingNs),
        "http_req_receiving" => PointKind::Phase(Metric::ReceivingNs),
        "iterations" => PointKind::Count(Metric::IterationsDone),
        "dropped_iterations" => PointKind::Count(Metric::Dropped),
        "data_received" => PointKind::Bytes(Metric::BytesIn),
        "data_sent" => PointKind::Bytes(Metric::BytesOut),
        "checks" => PointKind::Check,
        "vus" => PointKind::Users,
        "http_req_failed" => PointKind::Failed,
        "vus_max" => PointKind::Ignored,
        _ => PointKind::Unknown,
    }
}

/// Pass a point to `receiver` as an event, and count it among those of its request.
pub(crate) fn receive(
    point: &MetricPoint<'_>,
    points: &mut RequestPoints,
    receiver: &mut dyn Receive,
) -> Result<(), LineError> {
    let endpoint = point.tags.endpoint();
    pass_on(point, &endpoint, receiver)?;
    points.add(point, &endpoint);
    Ok(())
}

fn pass_on(point: &MetricPoint<'_>, endpoint: &str, receiver: &mut dyn Receive) -> Result<(), LineError> {
    let tags = &point.tags;
    let whole = EndpointRef { scenario: &tags.scenario, endpoint: "" };
    let request = EndpointRef { endpoint, ..whole };
    let times = |metric, subject, outcome| {
        Ok::<_, LineError>(Event::Times {
            metric,
            subject,
            outcome,
            end: point.at,
            nanos: nanos(point.value)?,
        })
    };
    let count = |metric, subject, value| Event::Count { metric, subject, check: None, at: point.at, value };
    let event = match point_kind(point.metric) {
        PointKind::Request => times(Metric::ResponseTime, request, Some(tags.http_outcome()))?,
        PointKind::Call => times(Metric::ResponseTime, request, Some(tags.grpc_outcome()))?,
        PointKind::Iteration => times(Metric::IterationTime, whole, None)?,
        PointKind::Phase(_) if !tags.http_outcome().is_answer() => return Ok(()),
        PointKind::Phase(metric) => count(metric, request, nanos(point.value)?),
        PointKind::Requests => count(Metric::Requests, request, whole_number(point.value, MAX_RECORD_COUNT)?),
        PointKind::Count(metric) => count(metric, whole, whole_number(point.value, MAX_RECORD_COUNT)?),
        PointKind::Bytes(metric) => count(metric, whole, whole_number(point.value, MAX_RECORD_BYTES)?),
        PointKind::Check if !(0.0..=1.0).contains(&point.value) => {
            return Err(LineError::Malformed(format!("{} is not the result of a check", point.value)));
        }
        PointKind::Check => {
            let group = tags.group.trim_start_matches("::");
            let subject =
                EndpointRef { endpoint: if group.is_empty() { "(checks)" } else { group }, ..whole };
            let metric = if point.value > 0.0 { Metric::CheckPassed } else { Metric::CheckFailed };
            Event::Count { metric, subject, check: Some(&tags.check), at: point.at, value: 1 }
        }
        PointKind::Users => {
            whole_number(point.value, MAX_RECORD_COUNT)?;
            Event::Level { name: "virtual_users", at: point.at, value: point.value }
        }
        PointKind::Failed | PointKind::Ignored => return Ok(()),
        PointKind::Unknown => Event::Unknown(point.metric),
    };
    Ok(receiver.receive(event)?)
}

fn nanos(ms: f64) -> Result<u64, LineError> {
    match ms {
        ms if (0.0..=MAX_DURATION_MS).contains(&ms) => Ok((ms * 1e6).round() as u64),
        _ => Err(LineError::Malformed(format!("{ms} ms is not a duration"))),
    }
}

fn whole_number(value: f64, highest: u64) -> Result<u64, LineError> {
    match value {
        value if (0.0..=highest as f64).contains(&value) => Ok(value.round() as u64),
        _ => Err(LineError::Malformed(format!("{value} is not a count"))),
    }
}
