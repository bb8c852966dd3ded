//! The machine-readable summary of k6 1.5 and later (`--new-machine-readable-summary`), in the form of the older summaries.

use serde_json::{Map, Value, json};

const MS_PER_S: f64 = 1e3;

/// The older form of a machine-readable summary; none if `document` is not one.
pub(super) fn older_form(document: &Value) -> Option<Value> {
    let metrics = document.pointer("/results/metrics")?.as_array()?;
    let duration_s = document.pointer("/config/duration").and_then(Value::as_f64);
    let renamed =
        |metric: &Value| Some((metric.get("name")?.as_str()?.to_owned(), older_metric(metric, duration_s)));
    let mut metrics: Map<String, Value> = metrics.iter().filter_map(renamed).collect();
    metrics.extend(checks(document).map(|checks| ("checks".to_owned(), checks)));
    let duration_ms = duration_s.map(|s| s * MS_PER_S);
    let state = json!({"testRunDurationMs": duration_ms});
    Some(json!({"metrics": metrics, "state": state, "metadata": document["metadata"]}))
}

/// A metric with the values that the older summaries have.
fn older_metric(metric: &Value, duration_s: Option<f64>) -> Value {
    let values = &metric["values"];
    let values = match metric["type"].as_str() {
        // The older summaries state the rate, which k6 computes in the same way.
        Some("counter") => {
            let rate =
                values["count"].as_f64().zip(duration_s.filter(|s| *s > 0.0)).map(|(count, s)| count / s);
            match rate {
                Some(rate) => json!({"count": values["count"], "rate": rate}),
                None => values.clone(),
            }
        }
        Some("rate") => {
            let fails =
                values["total"].as_f64().zip(values["matches"].as_f64()).map(|(all, passes)| all - passes);
            json!({"rate": values["rate"], "passes": values["matches"], "fails": fails})
        }
        _ => values.clone(),
    };
    json!({"type": metric["type"], "contains": metric["contains"], "values": values})
}

/// The older metric `checks`, from the counts of those that succeeded and of those that failed.
fn checks(document: &Value) -> Option<Value> {
    let metrics = document.pointer("/results/checks/metrics")?.as_array()?;
    let values = |name: &str| Some(&metrics.iter().find(|metric| metric["name"] == name)?["values"]);
    let (succeeded, failed) = (values("checks_succeeded")?, values("checks_failed")?);
    let values =
        json!({"rate": succeeded["rate"], "passes": succeeded["matches"], "fails": failed["matches"]});
    Some(json!({"type": "rate", "contains": "default", "values": values}))
}
