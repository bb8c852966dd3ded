//! vegeta: the hits that `vegeta encode` writes, and the figures of `vegeta report -type=json`.

use std::borrow::Cow;
use std::io::BufRead;

use evidence::manifest::{RequestSummary, TimesSummary};
use evidence::{Metric, Outcome};
use serde::Deserialize;
use serde_json::Value;

use crate::ImportError;
use crate::event::{EndpointRef, Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::limits::{MAX_DURATION_NS, MAX_RECORD_BYTES};
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::{document, first_characters, rfc3339};

/// The longest report that is read.
const MAX_REPORT_BYTES: u64 = 16 << 20;
/// What its figures are of.
const ALL: &str = "all hits";
/// By how much an estimated quantile may be wrong, as a share of it.
const DIGEST_ERROR: f64 = 0.02;

#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(borrow, default)]
    attack: Cow<'a, str>,
    code: u16,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    latency: u64,
    #[serde(default)]
    bytes_out: u64,
    #[serde(default)]
    bytes_in: u64,
    #[serde(borrow, default)]
    error: Cow<'a, str>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
}

impl Hit<'_> {
    /// vegeta counts statuses from 200 to 399 as successes.
    fn outcome(&self) -> Outcome {
        match self.code {
            200..=399 => Outcome::Ok,
            0 => self.transport(),
            code => Outcome::of_http_status(code),
        }
    }

    /// The outcome of a hit without a status, by the text of Go's error.
    fn transport(&self) -> Outcome {
        let has_any = |words: &[&str]| words.iter().any(|word| self.error.contains(word));
        if has_any(&["Timeout exceeded", "deadline exceeded", "i/o timeout"]) {
            Outcome::Timeout
        } else if has_any(&["no such host", "lookup "]) {
            Outcome::Dns
        } else if has_any(&["connection refused"]) {
            Outcome::Refused
        } else if has_any(&["x509:", "tls:"]) {
            Outcome::Tls
        } else if has_any(&["connection reset", "broken pipe", "EOF"]) {
            Outcome::Reset
        } else {
            Outcome::Protocol
        }
    }
}

pub(crate) fn results(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    for_each_line(input, |line| {
        let hit: Hit<'_> =
            serde_json::from_slice(line).map_err(|error| LineError::Malformed(error.to_string()))?;
        let latency = i64::try_from(hit.latency).ok().filter(|_| hit.latency <= MAX_DURATION_NS);
        let latency =
            latency.ok_or_else(|| LineError::Malformed(format!("{} ns is not a duration", hit.latency)))?;
        if let Some(bytes) = [hit.bytes_in, hit.bytes_out].into_iter().find(|n| *n > MAX_RECORD_BYTES) {
            return Err(LineError::Malformed(format!("{bytes} is not a number of bytes")));
        }
        let end = rfc3339(&hit.timestamp)?.saturating_add(latency);
        let endpoint = match (&*hit.method, &*hit.url) {
            ("", "") => Cow::Borrowed("hit"),
            ("", url) => Cow::Borrowed(url),
            (method, url) => Cow::Owned(format!("{method} {url}")),
        };
        let subject = EndpointRef { scenario: &hit.attack, endpoint: &endpoint };
        let (metric, outcome) = (Metric::ResponseTime, Some(hit.outcome()));
        receiver.receive(Event::Times { metric, subject, outcome, end, nanos: hit.latency })?;
        for (metric, value) in
            [(Metric::Requests, 1), (Metric::BytesIn, hit.bytes_in), (Metric::BytesOut, hit.bytes_out)]
        {
            receiver.receive(Event::Count { metric, subject, check: None, at: end, value })?;
        }
        Ok(())
    })
}

pub(crate) fn report(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let document = document(input, MAX_REPORT_BYTES)?;
    let mut records = 0;
    let mut figures = StatedFigures::default();
    let mut put = |name: &str, quantity, value: Option<&Value>| -> Result<(), ImportError> {
        let Some(value) = value else { return Ok(()) };
        records += 1;
        // Times are in nanoseconds.
        let scale = if quantity == Quantity::Time { 1e-6 } else { 1.0 };
        let value = value.as_f64().map(|value| value * scale);
        Ok(figures.put(StatedFigure { of: ALL, name, quantity, value }, receiver)?)
    };
    let number = |at: &str| document.pointer(at);
    for (at, name) in [
        ("mean", "avg"),
        ("min", "min"),
        ("50th", "p50"),
        ("90th", "p90"),
        ("95th", "p95"),
        ("99th", "p99"),
        ("max", "max"),
    ] {
        put(name, Quantity::Time, number(&format!("/latencies/{at}")))?;
    }
    for (at, name, quantity) in [
        ("/requests", "count", Quantity::Count),
        ("/rate", "rate", Quantity::Rate),
        ("/throughput", "throughput", Quantity::Rate),
        ("/success", "success", Quantity::Share),
        ("/bytes_in/total", "bytes in", Quantity::Bytes),
        ("/bytes_out/total", "bytes out", Quantity::Bytes),
    ] {
        put(name, quantity, number(at))?;
    }
    for (status, count) in
        document.get("status_codes").and_then(Value::as_object).into_iter().flatten().take(100)
    {
        put(&format!("status {status}"), Quantity::Count, Some(count))?;
    }
    for (name, at) in [("earliest", "/earliest"), ("end", "/end")] {
        if let Some(text) = document.pointer(at).and_then(Value::as_str) {
            receiver.receive(Event::Fact(name, first_characters(text, 60)))?;
        }
    }
    if records == 0 {
        return Err(ImportError::Refused("has no figures, unlike a report of vegeta".to_owned()));
    }
    receiver.receive(Event::Summary(summary(&figures)))?;
    Ok(Reading { records, ..Reading::default() })
}

/// Its times are of all hits. vegeta estimates quantiles from a digest.
fn summary(figures: &StatedFigures) -> RequestSummary {
    let requests = figures.count(ALL, "count");
    let of_success = |name: &str| name.starts_with("status 2") || name.starts_with("status 3");
    let ok: f64 = figures.of(ALL).filter(|(name, _)| of_success(name)).map(|(_, count)| count).sum();
    let all: f64 = figures.of(ALL).filter(|(name, _)| name.starts_with("status ")).map(|(_, n)| n).sum();
    let failed = requests.filter(|requests| *requests == all as u64).map(|requests| requests - ok as u64);
    let times = requests.and_then(|requests| figures.times(ALL, requests, failed));
    let times = times.map(|times| TimesSummary { rounding: DIGEST_ERROR, ..times });
    RequestSummary { requests, failed, times: times.into_iter().collect(), ..RequestSummary::default() }
}
