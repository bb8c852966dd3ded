//! The figures of `vegeta report -type=json`.

use std::io::BufRead;

use evidence::manifest::{RequestSummary, TimesSummary};
use serde_json::Value;

use crate::ImportError;
use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::lines::Reading;
use crate::parse::{document, first_characters};
use crate::totals::StatedTotal;

/// The longest report that is read.
const MAX_REPORT_BYTES: u64 = 16 << 20;
/// What its figures are of.
const ALL: &str = "all hits";
/// By how much an estimated quantile may be wrong, as a share of it.
const DIGEST_ERROR: f64 = 0.02;

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
    let length_ns = ["/duration", "/wait"].map(|at| document.pointer(at).and_then(Value::as_f64));
    let length_s = length_ns[0].zip(length_ns[1]).map(|(duration, wait)| (duration + wait) / 1e9);
    let total_ms = document.pointer("/latencies/total").and_then(Value::as_f64).map(|ns| ns / 1e6);
    for total in totals(&figures, length_s, total_ms) {
        receiver.receive(Event::Total(total))?;
    }
    receiver.receive(Event::Summary(summary(&figures)))?;
    Ok(Reading { records, ..Reading::default() })
}

/// What the report states of its hits besides their number: statuses, shares, rates and sums.
fn totals(figures: &StatedFigures, length_s: Option<f64>, total_ms: Option<f64>) -> Vec<StatedTotal> {
    let Statuses { all, ok } = Statuses::of(figures);
    let Some(requests) = figures.count(ALL, "count") else { return Vec::new() };
    let total = |what: &str, requests: Option<u64>, failed: Option<u64>| StatedTotal {
        what: what.to_owned(),
        requests,
        failed,
        ..StatedTotal::default()
    };
    let failed = |ok: f64| Some(requests.saturating_sub(ok.round() as u64));
    let statuses = total("`status_codes`", Some(all), Some(all - ok));
    let success = figures.get(ALL, "success").map(|share| failed(share * requests as f64));
    let throughput = figures.get(ALL, "throughput").zip(length_s).map(|(rate, s)| failed(rate * s));
    let mean = figures.get(ALL, "avg").filter(|mean| *mean > 0.0).zip(total_ms);
    // The mean is rounded to nanoseconds.
    let by_mean = mean.map(|(mean, all)| all / mean).filter(|n| (n - requests as f64).abs() > 0.5 + n * 1e-3);
    let by_mean = by_mean.map(|n| total("`latencies.total` by the mean", Some(n.round() as u64), None));
    [statuses]
        .into_iter()
        .chain(success.map(|failed| total("`success`", None, failed)))
        .chain(throughput.map(|failed| total("`throughput`", None, failed)))
        .chain(by_mean)
        .collect()
}

/// The hits of a report by their status.
struct Statuses {
    all: u64,
    ok: u64,
}

impl Statuses {
    fn of(figures: &StatedFigures) -> Statuses {
        let sum = |prefixes: &[&str]| {
            let of_status = |(name, _): &(&str, f64)| prefixes.iter().any(|prefix| name.starts_with(prefix));
            figures.about(ALL).filter(of_status).map(|(_, count)| count as u64).sum()
        };
        Statuses { all: sum(&["status "]), ok: sum(&["status 2", "status 3"]) }
    }
}

/// Its times are of all hits. vegeta estimates quantiles from a digest.
fn summary(figures: &StatedFigures) -> RequestSummary {
    let requests = figures.count(ALL, "count");
    let Statuses { all, ok } = Statuses::of(figures);
    let failed = requests.filter(|requests| *requests == all).map(|requests| requests - ok);
    let times = requests.and_then(|requests| figures.times(ALL, requests, failed));
    let times = times.map(|times| TimesSummary { rounding: DIGEST_ERROR, ..times });
    let per_s = figures.get(ALL, "rate");
    RequestSummary {
        requests,
        failed,
        per_s,
        times: times.into_iter().collect(),
        ..RequestSummary::default()
    }
}
