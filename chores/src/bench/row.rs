//! One row of the main table: the result of a measurement, work per CPU-second first.

use super::run_report::{EndpointRow, RunReport, TimeQuantiles};
use crate::bench::table::{count, figure};

/// The columns of [`Row::cells`].
pub(in crate::bench) const HEAD: &[&str] = &[
    "measurement",
    "done a second",
    "per CPU-second of the service",
    "required",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "errors",
    "service cores",
    "database cores",
    "generator cores",
    "resident MB",
];

/// The figures of one row; what was not measured is absent.
#[derive(Default)]
pub(in crate::bench) struct Row {
    what: String,
    done_per_s: f64,
    /// How many operations one CPU-second of the service is required to do.
    required_per_cpu_s: Option<f64>,
    times: TimeQuantiles,
    errors: Option<u64>,
    service_cores: Option<f64>,
    database_cores: Option<f64>,
    generator_cores: Option<f64>,
    resident_mb: Option<f64>,
}

impl Row {
    /// The whole of a run with one phase whose service is the plan's `target`.
    pub(in crate::bench) fn of_run(what: impl Into<String>, report: &RunReport, target: &str) -> Self {
        let mut endpoints = report.endpoints();
        let times = match (endpoints.next(), endpoints.next()) {
            (Some(only), None) => only.response_time(),
            _ => TimeQuantiles::default(),
        };
        Self {
            what: what.into(),
            done_per_s: report.throughput_per_s(),
            required_per_cpu_s: None,
            times,
            errors: Some(report.errors()),
            service_cores: report.cores(target),
            database_cores: report.database_cores(),
            generator_cores: report.cores("generator"),
            resident_mb: report.series_max(target, "rss").map(|bytes| bytes / 1e6),
        }
    }

    /// One endpoint of a run whose whole has a row of its own.
    pub(in crate::bench) fn of_endpoint(what: impl Into<String>, endpoint: EndpointRow<'_>) -> Self {
        let failed = endpoint.ended() - endpoint.outcome("ok");
        Self {
            what: what.into(),
            done_per_s: endpoint.throughput_per_s(),
            times: endpoint.response_time(),
            errors: Some(failed),
            ..Self::default()
        }
    }

    /// With what one CPU-second of the service is required to do.
    pub(in crate::bench) fn with_required(self, per_cpu_s: Option<f64>) -> Self {
        Self { required_per_cpu_s: per_cpu_s, ..self }
    }

    /// Work for each CPU-second of the service.
    pub(in crate::bench) fn per_cpu_s(&self) -> Option<f64> {
        self.service_cores.filter(|cores| *cores > 0.0).map(|cores| self.done_per_s / cores)
    }

    /// As a row below [`HEAD`].
    pub(in crate::bench) fn cells(&self) -> Vec<String> {
        let dash = || "–".to_owned();
        vec![
            self.what.clone(),
            count(self.done_per_s),
            self.per_cpu_s().map_or_else(dash, count),
            self.required_per_cpu_s.map_or_else(dash, |required| format!("≥ {}", count(required))),
            figure(self.times.p50_ms, 2),
            figure(self.times.p95_ms, 2),
            figure(self.times.p99_ms, 2),
            self.errors.map_or_else(dash, |errors| count(errors as f64)),
            figure(self.service_cores, 2),
            figure(self.database_cores, 2),
            figure(self.generator_cores, 2),
            figure(self.resident_mb, 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_report::tests::report;
    use super::*;

    #[test]
    fn work_is_divided_by_the_cores_that_did_it() {
        let report = RunReport::new(report(), Some(2.0)).expect("a sound report");
        let row = Row::of_run("list", &report, "challenge").with_required(Some(7300.0));
        assert_eq!(row.per_cpu_s(), Some(4000.0));
        assert_eq!(row.cells().len(), HEAD.len());
        assert_eq!(
            row.cells().join(" | "),
            "list | 1,000 | 4,000 | ≥ 7,300 | 1.00 | 2.50 | – | 11 | 0.25 | 0.40 | – | 25"
        );
    }

    #[test]
    fn a_target_that_was_not_observed_has_no_cost() {
        let report = RunReport::new(report(), None).expect("a sound report");
        assert_eq!(Row::of_run("list", &report, "events").per_cpu_s(), None);
    }

    #[test]
    fn an_endpoint_counts_its_own_failures() {
        let report = RunReport::new(report(), None).expect("a sound report");
        let list = report.endpoint("steady", "list").expect("it is there");
        let cells = Row::of_endpoint("mix: list", list).cells();
        assert_eq!(cells.join(" | "), "mix: list | 1,000 | – | – | 1.00 | 2.50 | – | 10 | – | – | – | –");
    }
}
