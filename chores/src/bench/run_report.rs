//! The figures of a run, read from Plimsoll's JSON report: the only file of the benchmarks that knows its shape.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The JSON report of one run.
pub(in crate::bench) struct RunReport {
    report: Value,
}

/// Quantiles in milliseconds; what was not measured is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::bench) struct TimeQuantiles {
    pub(in crate::bench) p50_ms: Option<f64>,
    pub(in crate::bench) p95_ms: Option<f64>,
    pub(in crate::bench) p99_ms: Option<f64>,
}

impl Claim {
    /// Whether it is about a time.
    pub(in crate::bench) fn is_on_latency(&self) -> bool {
        self.unit == "ms"
    }
}

/// One row of the report's endpoints.
#[derive(Clone, Copy)]
pub(in crate::bench) struct EndpointRow<'a>(&'a Value);

/// An objective and what was observed of it.
#[derive(Debug, PartialEq)]
pub(in crate::bench) struct Claim {
    pub(in crate::bench) name: String,
    pub(in crate::bench) text: String,
    pub(in crate::bench) observed: Option<f64>,
    pub(in crate::bench) unit: String,
    pub(in crate::bench) bound: Option<f64>,
    pub(in crate::bench) verdict: String,
    /// How many arrivals it counts, and how many of them were under way while the generator stalled; 0 where it is not
    /// about a share of arrivals.
    pub(in crate::bench) arrivals: u64,
    pub(in crate::bench) perturbed: u64,
}

impl RunReport {
    /// Takes a report of a completed run whose counts add up.
    ///
    /// # Errors
    /// When it is no such report.
    pub(in crate::bench) fn new(report: Value) -> Result<Self> {
        ensure!(report["schema"] == "plimsoll.report/2", "the report is of another version");
        let how = report["run"]["end"]["how"].as_str().unwrap_or("unknown");
        ensure!(how == "completed", "the run did not complete, it was {how}");
        let findings = report["findings"].as_array().context("the report has no findings")?;
        let unbalanced = findings.iter().find(|one| one["rule"] == "L6" && one["severity"] == "invalid");
        ensure!(unbalanced.is_none(), "the run's counts do not add up");
        Ok(Self { report })
    }

    /// The verdict on the whole run.
    pub(in crate::bench) fn verdict(&self) -> &str {
        self.report["verdict"].as_str().unwrap_or("")
    }

    /// Failed requests and arrivals that were never started.
    pub(in crate::bench) fn errors(&self) -> u64 {
        self.report["accounting"]["failed"].as_u64().unwrap_or(0) + self.dropped()
    }

    /// Arrivals that were never started: at the VU limit, or because the generator was late.
    pub(in crate::bench) fn dropped(&self) -> u64 {
        let arrivals = &self.report["accounting"]["arrivals"];
        ["dropped_cap", "dropped_late"].iter().filter_map(|kind| arrivals[kind].as_u64()).sum()
    }

    /// Seconds with evidence.
    pub(in crate::bench) fn seconds(&self) -> f64 {
        self.report["run"]["seconds"].as_f64().unwrap_or(0.0)
    }

    /// Every endpoint in every phase, whole iterations left out.
    pub(in crate::bench) fn endpoints(&self) -> impl Iterator<Item = EndpointRow<'_>> {
        let rows = self.report["endpoints"].as_array().into_iter().flatten();
        rows.map(EndpointRow).filter(|row| !row.name().is_empty())
    }

    /// Completed requests a second of all endpoints: meaningful for plans with one phase.
    pub(in crate::bench) fn throughput_per_s(&self) -> f64 {
        self.endpoints().map(|row| row.throughput_per_s()).sum()
    }

    /// Mean cores that a target, or `generator`, was busy on.
    pub(in crate::bench) fn cores(&self, target: &str) -> Option<f64> {
        let rows = self.report["cpu"].as_array()?;
        rows.iter().find(|row| row["target"] == target)?["mean_cores"].as_f64()
    }

    /// The highest value of a target's series, such as `rss` in bytes.
    pub(in crate::bench) fn series_max(&self, target: &str, series: &str) -> Option<f64> {
        let rows = self.report["series"].as_array()?.iter();
        rows.filter(|row| row["target"] == target && row["name"] == series)
            .filter_map(|row| row["max"].as_f64())
            .reduce(f64::max)
    }

    /// The plan's objectives.
    pub(in crate::bench) fn claims(&self) -> Vec<Claim> {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let claim = |row: &Value| Claim {
            name: text(&row["name"]),
            text: text(&row["text"]),
            observed: row["observed"]["value"].as_f64(),
            unit: text(&row["observed"]["unit"]),
            bound: row["bound"]["value"].as_f64(),
            verdict: text(&row["verdict"]),
            arrivals: row["share"]["arrivals"].as_u64().unwrap_or(0),
            perturbed: row["share"]["perturbed"].as_u64().unwrap_or(0),
        };
        self.report["claims"].as_array().into_iter().flatten().map(claim).collect()
    }
}

impl EndpointRow<'_> {
    pub(in crate::bench) fn name(&self) -> &str {
        self.0["endpoint"].as_str().unwrap_or("")
    }

    pub(in crate::bench) fn throughput_per_s(&self) -> f64 {
        self.0["throughput_per_s"].as_f64().unwrap_or(0.0)
    }

    /// From the instant a request was due, of successes.
    pub(in crate::bench) fn response_time(&self) -> TimeQuantiles {
        times(&self.0["response_time"])
    }
}

fn times(set: &Value) -> TimeQuantiles {
    let figure = |name: &str| set[name].as_f64();
    TimeQuantiles { p50_ms: figure("p50_ms"), p95_ms: figure("p95_ms"), p99_ms: figure("p99_ms") }
}

#[cfg(test)]
pub(in crate::bench) mod tests {
    use super::*;
    use serde_json::json;

    /// A report as Plimsoll writes it, with what the benchmarks read of it.
    pub(in super::super) fn report() -> Value {
        json!({
            "schema": "plimsoll.report/2",
            "run": { "seconds": 5.0, "end": { "how": "completed" } },
            "phases": [{ "name": "steady", "start_s": 0.0, "end_s": 5.0 }],
            "findings": [],
            "accounting": { "ok": 4990, "failed": 10, "by_outcome": { "ok": 4990, "http_503": 10 },
                "arrivals": { "dropped_cap": 1, "dropped_late": 0 } },
            "claims": [{ "name": "fast", "text": "p95(list) < 5ms", "verdict": "PASS",
                "observed": { "name": "observed", "value": 2.5, "unit": "ms" } }],
            "endpoints": [
                { "phase": "steady", "endpoint": "list", "throughput_per_s": 1000.0,
                  "by_outcome": { "ok": 4990, "http_503": 10 },
                  "response_time": { "p50_ms": 1.0, "p95_ms": 2.5, "p99_ms": null } },
                { "phase": "steady", "endpoint": "", "throughput_per_s": 0.0, "by_outcome": {} },
            ],
            "cpu": [{ "target": "challenge", "mean_cores": 0.25 }, { "target": "generator", "mean_cores": null }],
            "series": [{ "target": "challenge", "name": "rss", "max": 24e6 },
                { "target": "challenge", "name": "rss", "max": 25e6 }],
        })
    }

    #[test]
    fn figures_are_read_from_the_report() {
        let report = RunReport::new(report()).expect("a sound report");
        assert_eq!(report.errors(), 11);
        assert_eq!(report.cores("challenge"), Some(0.25));
        assert_eq!((report.cores("generator"), report.cores("events")), (None, None));
        assert_eq!(report.series_max("challenge", "rss"), Some(25e6));
        assert_eq!(report.claims()[0].observed, Some(2.5));
        let list = report.endpoints().next().expect("it is there");
        assert_eq!(
            list.response_time(),
            TimeQuantiles { p50_ms: Some(1.0), p95_ms: Some(2.5), p99_ms: None }
        );
        assert_eq!(report.endpoints().count(), 1, "whole iterations are no endpoint");
    }

    #[test]
    fn a_report_of_an_incomplete_or_inconsistent_run_is_refused() {
        let refused = |at: &str, value: Value| {
            let mut report = report();
            *report.pointer_mut(at).expect("it is there") = value;
            RunReport::new(report).map(drop).map_err(|error| error.to_string())
        };
        let version = refused("/schema", json!("plimsoll.report/1"));
        assert_eq!(version, Err("the report is of another version".to_owned()));
        let killed = refused("/run/end/how", json!("killed"));
        assert_eq!(killed, Err("the run did not complete, it was killed".to_owned()));
        let unbalanced = refused("/findings", json!([{ "rule": "L6", "severity": "invalid" }]));
        assert_eq!(unbalanced, Err("the run's counts do not add up".to_owned()));
    }
}
