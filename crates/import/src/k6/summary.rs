//! k6's end-of-test summary: `--summary-export FILE`, or the argument of `handleSummary` as JSON.

use std::io::BufRead;

use evidence::SourceFigure;
use serde_json::{Map, Value};

use crate::ImportError;
use crate::event::{Event, Receive};
use crate::lines::Reading;
use crate::parse::document;

/// The longest summary that is read.
const MAX_BYTES: u64 = 64 << 20;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let document = document(input, MAX_BYTES)?;
    let Some(metrics) = document.get("metrics").and_then(Value::as_object) else {
        return Err(ImportError::Refused("has no `metrics`, unlike a summary of k6".to_owned()));
    };
    if let Some(ms) = document.pointer("/state/testRunDurationMs").and_then(Value::as_f64) {
        receiver.receive(Event::Fact("duration_ms", ms.to_string()))?;
    }
    for (name, metric) in metrics {
        let Some(metric) = metric.as_object() else { continue };
        self::metric(name, metric, receiver)?;
    }
    Ok(Reading { records: metrics.len() as u64, ..Reading::default() })
}

fn metric(name: &str, metric: &Map<String, Value>, receiver: &mut dyn Receive) -> Result<(), ImportError> {
    let values = metric.get("values").and_then(Value::as_object).unwrap_or(metric);
    let contains = metric.get("contains").and_then(Value::as_str);
    let is_trend = values.contains_key("avg") || values.keys().any(|key| key.starts_with("p("));
    let is_time = contains.map_or(is_trend && is_known_time(name), |contains| contains == "time");
    let is_counter = values.contains_key("count");
    for (key, value) in values {
        let Some(number) = value.as_f64().filter(|number| number.is_finite()) else { continue };
        let unit = match key.as_str() {
            "passes" | "fails" => "1",
            "count" if contains == Some("data") || name.starts_with("data_") => "bytes",
            "rate" if is_counter => "1/s",
            _ if is_time => "ms",
            _ => "1",
        };
        let figure = SourceFigure {
            of: name.to_owned(),
            name: figure_name(key),
            value: number,
            unit: unit.to_owned(),
        };
        receiver.receive(Event::Figure(figure))?;
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

/// Whether the values of a metric are milliseconds, for summaries that do not include units.
fn is_known_time(name: &str) -> bool {
    let metric = name.split('{').next().unwrap_or(name);
    metric.ends_with("_duration") || metric.starts_with("http_req_")
}

/// k6's name as other tools write it: `p(95)` is `p95`.
fn figure_name(key: &str) -> String {
    match key {
        "med" => "p50".to_owned(),
        key => match key.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')')) {
            Some(percent) => format!("p{percent}"),
            None => key.to_owned(),
        },
    }
}
