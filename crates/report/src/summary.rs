//! Everything the renderers need of a run, computed once.
//!
//! Phases are never pooled: tables of response times are per phase, because an average over a ramp and a steady phase
//! describes neither. Histograms are merged; percentiles are never averaged. Numbers that were not measured are `None`,
//! never zero.

mod beside_k6;
mod binned;
mod bins;
mod captured;
mod claims;
mod comparison;
mod cost;
mod counts;
mod distribution;
mod endpoint_tally;
mod failures;
mod header;
mod headline;
mod in_window;
pub(crate) mod labels;
mod marks;
mod measured;
mod observed;
mod phases;
mod results;
mod rows;
mod script_metrics;
mod streams;
mod tally;
mod timeline;
mod virtual_users;
mod workers;

use std::collections::BTreeSet;

use evidence::diagnosis::Diagnosis;
use evidence::run::ReadError;
use evidence::{Exemplar, ExemplarKind, Histogram, Judgement, Run};
use serde::Serialize;
use workload::Workload;

use crate::percentiles::Percentiles;

pub use beside_k6::{BesideK6, NeverBegun, ScriptCpu, TimesBeside};
pub use binned::BinnedSeries;
pub use captured::CapturedProfile;
pub use claims::{ClaimSummary, Quantity};
pub use comparison::{
    Comparison, Difference, EndpointTable, LETTERS, LargestDifference, MAX_SIDES, Measure, ObjectiveOfSide,
    ObjectiveSides, PhaseTable, ProfilePair, SeriesPair, Side, SideSummary, SideValue, TargetSeries,
};
pub use cost::SecondRanges;
pub use counts::{Check, Outcomes};
pub use distribution::{DistributionCurve, PhaseDistribution};
use failures::FailedRequests;
pub use failures::{FailedEndpoint, FailureExample, FailureKind};
pub use figures::{Arrivals, ReasonCount, StatusCount};
pub use header::{Header, PhaseCoverage, RunEndState};
pub use headline::Headline;
pub use in_window::PhaseRequests;
pub use marks::MarkedEvent;
pub use observed::{CpuUse, SeriesStatistics, SeriesSummary};
pub use phases::RequestPhase;
pub(crate) use results::in_words as statuses_in_words;
pub use rows::{Row, ScenarioTotal, TimeAtPercentile, UrlPattern};
pub use script_metrics::{MetricNumbers, PhaseNumbers, ScriptMetric};
pub use streams::Streams;
pub use timeline::{ArrivalRates, EndpointTimeline, TimeBound, Timeline};
pub use virtual_users::VirtualUsers;
pub use workers::WorkerSummary;
pub(crate) use workers::spread as spread_of_workers;

/// A quantile with fewer samples than this above it is marked as rough.
pub const TAIL_SAMPLES: f64 = 20.0;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The evidence could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Everything the renderers need of one run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The run's name, times, identities and how it ended.
    pub header: Header,
    /// The judgement of the run.
    pub judgement: Judgement,
    /// The judgement's claims, with what is needed to format them.
    pub claims: Vec<ClaimSummary>,
    /// The numbers that a reader looks for first; none where no request ended.
    pub headline: Option<Headline>,
    /// Requests by the status of their response, the most frequent first; empty where that was not counted.
    pub statuses: Vec<StatusCount>,
    /// Why requests failed, the most frequent kind first.
    pub failures: Vec<FailureKind>,
    /// The phases, ascending.
    pub phases: Vec<PhaseCoverage>,
    /// Outcomes of the whole run.
    pub outcomes: Outcomes,
    /// Arrivals of the whole run; none where none were counted.
    pub arrivals: Option<Arrivals>,
    /// One row for each phase and endpoint, in the plan's order.
    pub rows: Vec<Row>,
    /// All requests of each phase that has several endpoints, in the plan's order.
    pub totals: Vec<Row>,
    /// Many URLs that differ in one part, each as one row of tables.
    pub patterns: Vec<UrlPattern>,
    /// One for each scenario, in the plan's order.
    pub scenarios: Vec<ScenarioTotal>,
    /// Every named check, by endpoint.
    pub checks: Vec<Check>,
    /// Connections that were opened, by target.
    pub connections: Vec<Connections>,
    /// Numbers of the generator itself.
    pub generator: Generator,
    /// The processes that offered the load, where those were others.
    pub workers: Vec<WorkerSummary>,
    /// The metrics that a script made.
    pub metrics: Vec<ScriptMetric>,
    /// What the metrics of k6 do not show, of the run of a script.
    pub beside_k6: Option<BesideK6>,
    /// CPU of the generator and of each target.
    pub cpu: Vec<CpuUse>,
    /// Every observed series, over the whole run and in each phase.
    pub series: Vec<SeriesSummary>,
    /// Events that a user marked, in order of time.
    pub marks: Vec<MarkedEvent>,
    /// Captured profiles, in the order in which their windows ended.
    pub profiles: Vec<CapturedProfile>,
    /// The recorded exchanges that failed.
    pub failed: Vec<Exemplar>,
    /// The slowest exchanges, the slowest first.
    pub slowest: Vec<Exemplar>,
    /// The run over time, for plots.
    pub timeline: Timeline,
    /// Response times by phase, for plots.
    pub distributions: Vec<PhaseDistribution>,
    /// The names of the phases that the plan measures: neither the setup, the teardown nor a warm-up.
    pub measured: Vec<String>,
    /// The percentiles that tables of endpoints show.
    pub percentiles: Percentiles,
    /// What limits its target; none where its load has too few levels. See [`Summary::with_diagnosis`].
    pub diagnosis: Option<Diagnosis>,
    /// Files of the run, as (kind, path); see [`Summary::with_files`].
    pub files: Vec<(String, String)>,
}

/// Numbers of the generator itself.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Generator {
    /// Actual start − due instant of arrivals.
    pub start_lag: Times,
    /// How long one pass of the loop took, during which it did not read the clock.
    pub loop_stall: Times,
    /// Bytes received; none where they were not counted.
    pub bytes_in: Option<u64>,
    /// Bytes sent; none where they were not counted.
    pub bytes_out: Option<u64>,
    /// Requests that were under way during a stall of the generator, or until what it had in flight was back at its number
    /// before; none where they were not counted.
    pub perturbed_requests: Option<u64>,
    /// Ticks that were merged because the recorder lagged; none for a run that was not sealed.
    pub folded_ticks: Option<u64>,
    /// Endpoint names that were counted under one name; none for a run that was not sealed.
    pub folded_endpoints: Option<u64>,
}

/// How long opening the connections to a target took.
#[derive(Debug, Clone, Serialize)]
pub struct Connections {
    pub target: String,
    /// The time until a connection was established.
    pub connecting: Times,
    /// From there to the end of its TLS handshake; empty without TLS.
    pub tls_handshaking: Times,
}

/// Statistics of a histogram, in milliseconds. All `None` when it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    pub count: u64,
    /// Arithmetic mean.
    pub avg_ms: Option<f64>,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
}

impl Times {
    /// The statistics of a histogram of microseconds.
    pub fn of(histogram: &Histogram) -> Times {
        let quantile = |q| histogram.quantile(q).finite_us().map(ms);
        Times {
            count: histogram.count(),
            avg_ms: histogram.mean_us().map(ms),
            p50_ms: quantile(0.50),
            p90_ms: quantile(0.90),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: histogram.max_us().map(|us| ms(us as f64)),
        }
    }

    /// Whether the `q`-quantile has fewer than [`TAIL_SAMPLES`] samples above it.
    pub fn is_rough(&self, q: f64) -> bool {
        self.count > 0 && self.count as f64 * (1.0 - q) < TAIL_SAMPLES - 1e-9
    }
}

/// A quantile as text, marked with `~` where it is rough.
pub(crate) fn quantile_text(times: &Times, q: f64, ms: Option<f64>) -> String {
    let text = crate::number::time_or_none(ms);
    if ms.is_some() && times.is_rough(q) { format!("~{text}") } else { text }
}

/// The cells of a table's columns avg, p50, p90, p95, p99 and max.
pub(crate) fn time_cells(times: &Times) -> [String; 6] {
    [
        crate::number::time_or_none(times.avg_ms),
        crate::number::time_or_none(times.p50_ms),
        quantile_text(times, 0.90, times.p90_ms),
        quantile_text(times, 0.95, times.p95_ms),
        quantile_text(times, 0.99, times.p99_ms),
        crate::number::time_or_none(times.max_ms),
    ]
}

/// Microseconds as milliseconds.
pub(crate) fn ms(us: f64) -> f64 {
    us / 1_000.0
}

impl Summary {
    /// Whether the requests of a row have the phase of this name.
    pub(crate) fn has_request_phase(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.request_phase(name).is_some())
    }

    /// Compute everything the renderers need of `run`, which offered `workload` and has `judgement`.
    ///
    /// # Errors
    /// [`ReportError::Read`] when the evidence cannot be read.
    pub fn of(run: &dyn Run, workload: &Workload, judgement: &Judgement) -> Result<Summary, ReportError> {
        let header = header::of(run, workload)?;
        let tally = tally::of(run, workload)?;
        let phases = header::phases(run, workload, &tally.in_window)?;
        let mut exemplars = run.exemplars()?;
        exemplars.sort_by_key(|e| std::cmp::Reverse(e.response_time_ns));
        let (mut failed, slowest): (Vec<_>, Vec<_>) =
            exemplars.into_iter().partition(|e| e.kind == ExemplarKind::Failed);
        failed.sort_by(|a, b| (&a.endpoint, a.outcome, a.due).cmp(&(&b.endpoint, b.outcome, b.due)));
        let outcomes = tally.outcomes();
        let names: Vec<String> = phases.iter().map(|phase| phase.name.clone()).collect();
        let measured = measured::phases(&names, Some(workload)).into_iter().map(str::to_owned).collect();
        let rows = rows::of(&tally, workload, &failed);
        let results = tally.results();
        let of_failed: Vec<&Exemplar> = failed.iter().collect();
        let requests = FailedRequests { outcomes: &outcomes, results: &results, failed: &of_failed };
        let failures = failures::of_run(&requests, &tally);
        Ok(Summary {
            measured,
            claims: claims::of(&judgement.claims, workload, tally.figures()),
            judgement: judgement.clone(),
            headline: headline::of(&tally),
            statuses: results.statuses(),
            failures,
            scenarios: rows::scenarios(&tally, workload, virtual_users::of(run, workload, &tally)?),
            checks: tally.checks(),
            connections: tally.connections(),
            generator: tally.generator(run.end()),
            workers: workers::of(run, phases.iter().map(|phase| phase.covered_s).sum())?,
            cpu: observed::cpu(run, workload, &tally.answers)?,
            metrics: script_metrics::of(run)?,
            beside_k6: beside_k6::of(run, workload)?,
            series: observed::series(run, &phases)?,
            marks: marks::of(run)?,
            profiles: captured::of(run)?,
            timeline: timeline::of(run, workload, &tally, &phases)?,
            distributions: distribution::of(&tally, workload, &phases),
            arrivals: tally.arrivals(),
            header,
            phases,
            outcomes,
            totals: rows::totals(&tally, &rows),
            patterns: rows::patterns(&tally),
            rows,
            failed,
            slowest,
            percentiles: Percentiles::default(),
            diagnosis: None,
            files: Vec::new(),
        })
    }

    /// Add the files of the run, as (kind, path), for reports to list.
    pub fn with_files(mut self, files: &[(&str, &str)]) -> Summary {
        self.files = files.iter().map(|(kind, path)| ((*kind).to_owned(), (*path).to_owned())).collect();
        self
    }

    /// Add what limits the run's target.
    #[must_use]
    pub fn with_diagnosis(self, diagnosis: Option<Diagnosis>) -> Summary {
        Summary { diagnosis, ..self }
    }

    /// Show these percentiles in the tables of endpoints, in place of the usual ones.
    #[must_use]
    pub fn with_percentiles(mut self, percentiles: Percentiles) -> Summary {
        let patterns = self.patterns.iter_mut().map(|pattern| &mut pattern.row);
        for row in self.rows.iter_mut().chain(&mut self.totals).chain(patterns) {
            row.percentiles = row.at(&percentiles).collect();
        }
        self.percentiles = percentiles;
        self
    }

    /// As the summary of a run that is under way, made from its file so far.
    #[must_use]
    pub fn so_far(mut self) -> Summary {
        self.header.end = RunEndState::UnderWay;
        self.headline = Headline::of_last_phase(&self.rows, &self.totals, &self.phases);
        self
    }

    pub fn rows_of<'a>(&'a self, phase: &'a str) -> impl Iterator<Item = &'a Row> + Clone {
        self.rows.iter().filter(move |row| row.phase == phase)
    }

    /// The rows that tables list: those of which there are many, and that differ in one part of their URL, are one.
    pub fn listed_rows(&self) -> impl Iterator<Item = &Row> + Clone {
        let mut begun: BTreeSet<usize> = BTreeSet::new();
        self.rows.iter().filter_map(move |row| match self.patterns.iter().position(|all| all.has(row)) {
            None => Some(row),
            Some(at) => begun.insert(at).then(|| &self.patterns[at].row),
        })
    }

    /// All requests of one phase; none where they have one row anyway.
    pub fn total_of(&self, phase: &str) -> Option<&Row> {
        self.totals.iter().find(|total| total.phase == phase)
    }

    /// Whether any row shows times of whole iterations.
    pub(crate) fn has_iterations(&self) -> bool {
        self.rows.iter().any(|row| !row.outcomes.are_counted() && row.iteration_time.count > 0)
    }

    /// The virtual users of each open scenario, with its name.
    pub fn virtual_users(&self) -> impl Iterator<Item = (&str, &VirtualUsers)> {
        self.scenarios.iter().filter_map(|s| Some((s.name.as_str(), s.virtual_users.as_ref()?)))
    }

    /// The names of the phases that have rows, in order; phases that are not in the plan come last.
    pub fn phases_with_rows(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.phase.as_str()) {
                names.push(&row.phase);
            }
        }
        names
    }
}
