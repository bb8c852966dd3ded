//! k6's end-of-test summary: `--summary-export FILE`, or the argument of `handleSummary` as JSON.

mod machine_readable;
mod requests;

use std::borrow::Cow;
use std::io::BufRead;

use serde_json::{Map, Value};

use crate::ImportError;
use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::limits::MAX_DURATION_MS;
use crate::lines::Reading;
use crate::parse::{document, first_characters};

/// The longest summary that is read.
const MAX_BYTES: u64 = 64 << 20;
/// The longest text of a fact, in characters.
const MAX_FACT: usize = 60;
/// Metrics of k6 itself that count requests, iterations, messages or virtual users. What a script's own metrics count is
/// unknown.
const COUNTED: [&str; 11] = [
    "http_reqs",
    "iterations",
    "dropped_iterations",
    "vus",
    "vus_max",
    "ws_sessions",
    "ws_msgs_sent",
    "ws_msgs_received",
    "grpc_streams",
    "grpc_streams_msgs_sent",
    "grpc_streams_msgs_received",
];

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let document = document(input, MAX_BYTES)?;
    let document = machine_readable::older_form(&document).unwrap_or(document);
    let Some(metrics) = document.get("metrics").and_then(Value::as_object) else {
        return Err(ImportError::Refused("has no `metrics`, unlike a summary of k6".to_owned()));
    };
    if let Some(ms) = document.pointer("/state/testRunDurationMs").and_then(Value::as_f64) {
        receiver.receive(match (0.0..=MAX_DURATION_MS).contains(&ms) {
            true => Event::Fact("duration_ms", ms.to_string()),
            false => Event::LeftOut(format!("testRunDurationMs is left out: {ms} ms is not a duration")),
        })?;
    }
    for (fact, at) in [("version", "/metadata/k6Version"), ("end", "/metadata/generatedAt")] {
        if let Some(text) = document.pointer(at).and_then(Value::as_str) {
            receiver.receive(Event::Fact(fact, first_characters(text, MAX_FACT)))?;
        }
    }
    let mut figures = StatedFigures::default();
    for (name, metric) in metrics {
        let Some(metric) = metric.as_object() else { continue };
        self::metric(&mut figures, name, metric, receiver)?;
    }
    for summary in requests::summaries(&figures) {
        receiver.receive(Event::Summary(summary))?;
    }
    for total in requests::totals(&figures) {
        receiver.receive(Event::Total(total))?;
    }
    if let Some(contradiction) = requests::checks(&figures) {
        receiver.receive(Event::Contradiction(contradiction))?;
    }
    Ok(Reading { records: metrics.len() as u64, ..Reading::default() })
}

fn metric(
    figures: &mut StatedFigures,
    name: &str,
    metric: &Map<String, Value>,
    receiver: &mut dyn Receive,
) -> Result<(), ImportError> {
    let values = metric.get("values").and_then(Value::as_object).unwrap_or(metric);
    let summarised = SummarisedMetric::of(name, metric, values);
    for (key, value) in values {
        // The exported summary has thresholds among the values, the other form type and unit if it has no values.
        if value.is_object() || matches!(key.as_str(), "type" | "contains") {
            continue;
        }
        let figure = StatedFigure {
            of: name,
            name: &figure_name(key),
            quantity: summarised.quantity(key),
            value: value.as_f64(),
        };
        figures.put(figure, receiver)?;
    }
    for (threshold, outcome) in metric.get("thresholds").and_then(Value::as_object).into_iter().flatten() {
        // The exported summary has whether it was crossed, the other form whether it was met.
        let is_met = match outcome {
            Value::Bool(is_crossed) => !is_crossed,
            outcome => outcome.get("ok").and_then(Value::as_bool).unwrap_or(false),
        };
        let how = if is_met { "met" } else { "crossed" };
        receiver.receive(Event::Remark(format!(
            "k6 reports that its threshold `{threshold}` of `{name}` was {how}"
        )))?;
    }
    Ok(())
}

/// What is known about a metric besides its values.
struct SummarisedMetric {
    kind: MetricKind,
    /// What its values are; of a counter, what it counts.
    values: Quantity,
}

/// k6's kinds of metrics, as far as their values differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Trend,
    Counter,
    /// A share of values that are not zero.
    Rate,
    Gauge,
}

impl SummarisedMetric {
    fn of(name: &str, metric: &Map<String, Value>, values: &Map<String, Value>) -> SummarisedMetric {
        let has = |key: &str| values.contains_key(key);
        // Trends have a count too if the script asks for it, so they are recognised first.
        let kind = if has("avg") || has("med") || values.keys().any(|key| key.starts_with("p(")) {
            MetricKind::Trend
        } else if has("passes") || has("fails") {
            MetricKind::Rate
        } else if has("count") {
            MetricKind::Counter
        } else {
            MetricKind::Gauge
        };
        let base = name.split('{').next().unwrap_or(name);
        let values = match metric.get("contains").and_then(Value::as_str) {
            Some("time") => Quantity::Time,
            Some("data") => Quantity::Bytes,
            None if kind == MetricKind::Trend && is_known_time(base) => Quantity::Time,
            None if matches!(base, "data_received" | "data_sent") => Quantity::Bytes,
            _ if COUNTED.contains(&base) => Quantity::Count,
            _ => Quantity::Custom,
        };
        SummarisedMetric { kind, values }
    }

    /// What the value with this key is.
    fn quantity(&self, key: &str) -> Quantity {
        match (self.kind, key) {
            (MetricKind::Rate, "passes" | "fails") => Quantity::Count,
            // The exported summary calls the share a value.
            (MetricKind::Rate, "rate" | "value") => Quantity::Share,
            (MetricKind::Trend, "count") => Quantity::Count,
            (MetricKind::Counter, "rate") => match self.values {
                Quantity::Count => Quantity::Rate,
                Quantity::Bytes => Quantity::ByteRate,
                _ => Quantity::CustomRate,
            },
            _ => self.values,
        }
    }
}

/// Whether the values of a trend are milliseconds, for summaries that do not include units.
fn is_known_time(metric: &str) -> bool {
    metric.ends_with("_duration") || metric.starts_with("http_req_")
}

/// k6's name as other tools write it: `p(95)` is `p95`.
fn figure_name(key: &str) -> Cow<'_, str> {
    match key {
        "med" => Cow::Borrowed("p50"),
        key => match key.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')')) {
            Some(percent) => Cow::Owned(format!("p{percent}")),
            None => Cow::Borrowed(key),
        },
    }
}
