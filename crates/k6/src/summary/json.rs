//! The summary as JSON: what `handleSummary` is given, and what `--summary-export` writes.

use serde_json::{Map, Value, json};

use evidence::metric::MetricKind;

use super::data::{Check, Group, SummaryData, SummaryMetric, id_of};
use super::number::TimeUnit;

/// The `data` that `handleSummary(data)` is given, in every mode.
#[must_use]
pub fn handle_summary(data: &SummaryData) -> Value {
    let stats = &data.options.trend_stats;
    let metrics = data.total.metrics.iter().map(|(name, metric)| (name.clone(), metric_value(metric, stats)));
    let mut value = json!({
        "root_group": group_value(&data.root),
        "options": {
            "summaryTrendStats": stats,
            "summaryTimeUnit": data.options.time_unit.map_or("", TimeUnit::name),
            "noColor": data.options.no_color,
        },
        "state": {
            "isStdOutTTY": data.state.stdout_is_terminal,
            "isStdErrTTY": data.state.stderr_is_terminal,
            "testRunDurationMs": number(data.state.duration_ms),
        },
        "metrics": metrics.collect::<Map<_, _>>(),
    });
    add_setup(&mut value, data);
    value
}

fn add_setup(value: &mut Value, data: &SummaryData) {
    if let Some(setup) = &data.setup_data {
        value["setup_data"] = setup.clone();
    }
}

/// What `--summary-export` writes. Of a threshold it has whether it was violated.
#[must_use]
pub fn summary_export(data: &SummaryData) -> Value {
    let stats = &data.options.trend_stats;
    let metrics =
        data.total.metrics.iter().map(|(name, metric)| (name.clone(), exported_metric(metric, stats)));
    let mut value =
        json!({ "root_group": exported_group(&data.root), "metrics": metrics.collect::<Map<_, _>>() });
    add_setup(&mut value, data);
    value
}

fn metric_value(metric: &SummaryMetric, stats: &[String]) -> Value {
    let mut value = json!({
        "type": metric.kind.to_string(),
        "contains": metric.contains.name(),
        "values": values(metric, stats),
    });
    if !metric.thresholds.is_empty() {
        let thresholds = metric.thresholds.iter().map(|one| (one.source.clone(), json!({ "ok": one.ok })));
        value["thresholds"] = thresholds.collect::<Map<_, _>>().into();
    }
    value
}

fn exported_metric(metric: &SummaryMetric, stats: &[String]) -> Value {
    let mut exported = values(metric, stats);
    if metric.kind == MetricKind::Rate
        && let Some(rate) = exported.remove("rate")
    {
        exported.insert("value".to_owned(), rate);
    }
    if !metric.thresholds.is_empty() {
        let thresholds = metric.thresholds.iter().map(|one| (one.source.clone(), (!one.ok).into()));
        exported.insert("thresholds".to_owned(), thresholds.collect::<Map<_, _>>().into());
    }
    exported.into()
}

/// The values that were asked for, and not those that only thresholds need.
fn values(metric: &SummaryMetric, stats: &[String]) -> Map<String, Value> {
    let is_asked = |name: &String| metric.kind != MetricKind::Trend || stats.contains(name);
    let asked = metric.values.iter().filter(|(name, _)| is_asked(name));
    asked.map(|(name, value)| (name.clone(), number(*value))).collect()
}

fn group_value(group: &Group) -> Value {
    json!({
        "name": group.name,
        "path": group.path,
        "id": id_of(&group.path),
        "groups": group.groups.iter().map(group_value).collect::<Vec<_>>(),
        "checks": group.checks.iter().map(|check| check_value(check, group)).collect::<Vec<_>>(),
    })
}

fn exported_group(group: &Group) -> Value {
    let groups = group.groups.iter().map(|inner| (inner.name.clone(), exported_group(inner)));
    let checks = group.checks.iter().map(|check| (check.name.clone(), check_value(check, group)));
    json!({
        "name": group.name,
        "path": group.path,
        "id": id_of(&group.path),
        "groups": groups.collect::<Map<_, _>>(),
        "checks": checks.collect::<Map<_, _>>(),
    })
}

fn check_value(check: &Check, group: &Group) -> Value {
    let path = format!("{}::{}", group.path, check.name);
    json!({ "name": check.name, "id": id_of(&path), "path": path, "passes": check.passes, "fails": check.fails })
}

/// A whole number without a point, as JavaScript has it.
fn number(value: f64) -> Value {
    let whole = value as i64;
    if value.abs() < 9e15 && whole as f64 == value { whole.into() } else { value.into() }
}
