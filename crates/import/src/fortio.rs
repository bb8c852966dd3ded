//! fortio: the figures of `fortio load -json FILE`, with times in seconds.

use std::io::BufRead;

use evidence::manifest::{RequestSummary, StatedQuantile, TimesSummary};
use serde_json::Value;

use crate::ImportError;
use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::lines::Reading;
use crate::parse::{document, first_characters};
use crate::totals::StatedTotal;

/// The longest report that is read.
const MAX_BYTES: u64 = 16 << 20;
/// What its figures are of: its histogram has failed requests, too.
const ALL: &str = "all requests";
const MS_PER_S: f64 = 1e3;
/// The most codes and percentiles that are read.
const MAX_KINDS: usize = 200;
const MAX_KIND: usize = 60;
/// The most intervals that are read.
const MAX_INTERVALS: usize = 10_000;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let document = document(input, MAX_BYTES)?;
    let mut figures = StatedFigures::default();
    let mut records = 0;
    let mut put = |name: &str, quantity: Quantity, value: Option<&Value>| -> Result<(), ImportError> {
        let Some(value) = value else { return Ok(()) };
        records += 1;
        let scale = if quantity == Quantity::Time { MS_PER_S } else { 1.0 };
        let value = value.as_f64().map(|value| value * scale);
        Ok(figures.put(StatedFigure { of: ALL, name, quantity, value }, receiver)?)
    };
    for (at, name, quantity) in [
        ("/DurationHistogram/Count", "count", Quantity::Count),
        ("/DurationHistogram/Avg", "avg", Quantity::Time),
        ("/DurationHistogram/Min", "min", Quantity::Time),
        ("/DurationHistogram/Max", "max", Quantity::Time),
        ("/ActualQPS", "rate", Quantity::Rate),
    ] {
        put(name, quantity, document.pointer(at))?;
    }
    let percentiles = document.pointer("/DurationHistogram/Percentiles").and_then(Value::as_array);
    for entry in percentiles.into_iter().flatten().take(MAX_KINDS) {
        if let Some(percentile) = entry.get("Percentile").and_then(Value::as_f64) {
            put(&format!("p{percentile}"), Quantity::Time, entry.get("Value"))?;
        }
    }
    let codes = document.get("RetCodes").and_then(Value::as_object).into_iter().flatten().take(MAX_KINDS);
    for (code, count) in codes {
        put(&format!("status {}", first_characters(code, MAX_KIND)), Quantity::Count, Some(count))?;
    }
    if records == 0 {
        return Err(ImportError::Refused("has no figures, unlike JSON of fortio".to_owned()));
    }
    if let Some(text) = document.get("StartTime").and_then(Value::as_str) {
        receiver.receive(Event::Fact("started", first_characters(text, MAX_KIND)))?;
    }
    let intervals = intervals(&document);
    let errors = document.pointer("/ErrorsDurationHistogram/Count").and_then(Value::as_u64);
    for total in totals(&figures, &intervals, errors) {
        receiver.receive(Event::Total(total))?;
    }
    receiver.receive(Event::Summary(summary(&figures, &intervals)))?;
    Ok(Reading { records, ..Reading::default() })
}

/// An interval of the histogram.
struct Interval {
    /// Its upper end.
    end_ms: f64,
    count: u64,
}

/// The intervals in the order of their times.
fn intervals(document: &Value) -> Vec<Interval> {
    let listed = document.pointer("/DurationHistogram/Data").and_then(Value::as_array);
    let interval = |interval: &Value| {
        let end_ms = interval.get("End")?.as_f64()? * MS_PER_S;
        // `9.000000000000002` is written for 9.
        Some(Interval { end_ms: (end_ms * 1e6).round() / 1e6, count: interval.get("Count")?.as_u64()? })
    };
    let mut intervals: Vec<Interval> =
        listed.into_iter().flatten().take(MAX_INTERVALS).filter_map(interval).collect();
    intervals.sort_by(|a, b| a.end_ms.total_cmp(&b.end_ms));
    intervals
}

/// Requests by their code, and those that succeeded: an HTTP status below 400, or `SERVING` of gRPC.
fn codes(figures: &StatedFigures) -> (u64, u64) {
    let codes =
        figures.about(ALL).filter_map(|(name, count)| Some((name.strip_prefix("status ")?, count as u64)));
    codes.fold((0, 0), |(all, ok), (code, count)| {
        let is_ok = matches!(code.as_bytes(), [b'2' | b'3', _, _]) || code == "SERVING";
        (all + count, ok + if is_ok { count } else { 0 })
    })
}

/// What it states of the number of requests besides the histogram's own count.
fn totals(figures: &StatedFigures, intervals: &[Interval], errors: Option<u64>) -> Vec<StatedTotal> {
    let (all, ok) = codes(figures);
    let total = |what: &str, requests, failed| StatedTotal {
        what: what.to_owned(),
        requests,
        failed,
        ..StatedTotal::default()
    };
    let counted = intervals.iter().map(|interval| interval.count).fold(0, u64::saturating_add);
    let counted =
        (!intervals.is_empty()).then(|| total("The sum of the histogram's intervals", Some(counted), None));
    let errors = errors.map(|failed| total("`ErrorsDurationHistogram`", None, Some(failed)));
    [total("`RetCodes`", Some(all), Some(all - ok))].into_iter().chain(counted).chain(errors).collect()
}

/// How many requests took at most so long, by the upper ends of the intervals. fortio interpolates its percentiles within an
/// interval, so that no request need have taken the time of one.
fn quantiles(figures: &StatedFigures, intervals: &[Interval], requests: u64) -> Vec<StatedQuantile> {
    let mut below: u64 = 0;
    let of_interval = |interval: &Interval| {
        below = below.saturating_add(interval.count);
        (below <= requests).then(|| StatedQuantile { q: below as f64 / requests as f64, ms: interval.end_ms })
    };
    let least = figures.get(ALL, "min").map(|ms| StatedQuantile { q: 0.0, ms });
    let most = figures.get(ALL, "max").map(|ms| StatedQuantile { q: 1.0, ms });
    least.into_iter().chain(intervals.iter().filter_map(of_interval)).chain(most).collect()
}

fn summary(figures: &StatedFigures, intervals: &[Interval]) -> RequestSummary {
    let requests = figures.count(ALL, "count");
    let (all, ok) = codes(figures);
    let failed = requests.filter(|requests| *requests == all).map(|_| all - ok);
    let times = requests.filter(|requests| *requests > 0).map(|count| TimesSummary {
        count,
        failed,
        rounding: 0.0,
        quantiles: quantiles(figures, intervals, count),
    });
    RequestSummary {
        requests,
        failed,
        per_s: figures.get(ALL, "rate"),
        times: times.into_iter().collect(),
        ..RequestSummary::default()
    }
}
