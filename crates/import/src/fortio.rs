//! fortio: the figures of `fortio load -json FILE`, with times in seconds.

use std::io::BufRead;

use evidence::manifest::RequestSummary;
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
    let buckets = document.pointer("/DurationHistogram/Data").and_then(Value::as_array);
    let counted = buckets.map(|buckets| {
        buckets.iter().filter_map(|bucket| bucket.get("Count")?.as_u64()).fold(0, u64::saturating_add)
    });
    for total in totals(&figures, counted) {
        receiver.receive(Event::Total(total))?;
    }
    receiver.receive(Event::Summary(summary(&figures)))?;
    Ok(Reading { records, ..Reading::default() })
}

/// Requests by their code, and those that succeeded: an HTTP status below 400, or `SERVING` of gRPC.
fn codes(figures: &StatedFigures) -> (u64, u64) {
    let codes =
        figures.of(ALL).filter_map(|(name, count)| Some((name.strip_prefix("status ")?, count as u64)));
    codes.fold((0, 0), |(all, ok), (code, count)| {
        let is_ok = matches!(code.as_bytes(), [b'2' | b'3', _, _]) || code == "SERVING";
        (all + count, ok + if is_ok { count } else { 0 })
    })
}

/// What it states of the number of requests besides the histogram's own count.
fn totals(figures: &StatedFigures, buckets: Option<u64>) -> Vec<StatedTotal> {
    let (all, ok) = codes(figures);
    let total = |what: &str, requests, failed| StatedTotal {
        what: what.to_owned(),
        requests: Some(requests),
        failed,
        ..StatedTotal::default()
    };
    let buckets = buckets.map(|requests| total("The sum of the histogram's intervals", requests, None));
    [total("`RetCodes`", all, Some(all - ok))].into_iter().chain(buckets).collect()
}

fn summary(figures: &StatedFigures) -> RequestSummary {
    let requests = figures.count(ALL, "count");
    let (all, ok) = codes(figures);
    let failed = requests.filter(|requests| *requests == all).map(|_| all - ok);
    let times = requests.and_then(|requests| figures.times(ALL, requests, failed));
    RequestSummary {
        requests,
        failed,
        per_s: figures.get(ALL, "rate"),
        times: times.into_iter().collect(),
        ..RequestSummary::default()
    }
}
