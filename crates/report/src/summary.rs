//! Everything the renderers need of a run, worked out once.
//!
//! Phases are never pooled: latency tables are per phase, because an average over a ramp and a steady
//! window describes neither. Histograms are merged, percentiles never averaged. Numbers that were not
//! taken are `None`, never zero.

mod claims;
mod comparison;
mod distribution;
mod header;
mod observed;
mod phases;
mod profiled;
mod rows;
mod streams;
mod sweep;
mod timeline;
mod users;

use evidence::run::ReadError;
use evidence::{Exemplar, ExemplarKind, Histogram, Judgement, Run};
use serde::Serialize;
use workload::Workload;

pub use claims::{Asked, Quantity};
pub use comparison::{
    Comparison, Difference, EndpointTable, LETTERS, MAX_SIDES, Measure, PhaseTable, ProfilePair, SeriesPair,
    Side, SideSummary, TargetSeries, Value,
};
pub use distribution::{Curve, PhaseDistribution};
pub use header::{End, Header, PhaseSpan};
pub use observed::{CpuUse, Level, SeriesSummary};
pub use phases::RequestPhase;
pub use profiled::Profiled;
pub use rows::{Arrivals, Check, Outcomes, Row, ScenarioTotal};
pub use streams::Streams;
pub use timeline::{EndpointLine, Line, Timeline};
pub use users::VirtualUsers;

/// A quantile with fewer answers than this beyond it is marked as rough wherever it is shown.
pub const TAIL_SAMPLES: f64 = 20.0;

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The evidence could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Everything the renderers need of one run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// What the run was and how it ended.
    pub header: Header,
    /// What the judge said of it.
    pub judgement: Judgement,
    /// The judgement's claims, with what is needed to read their figures.
    pub claims: Vec<Asked>,
    /// The phases, ascending.
    pub phases: Vec<PhaseSpan>,
    /// The books of the whole run.
    pub books: Outcomes,
    /// Arrivals of the whole run; none where none were counted.
    pub arrivals: Option<Arrivals>,
    /// One row for each phase and endpoint, in the plan's order.
    pub rows: Vec<Row>,
    /// One for each scenario, in the plan's order.
    pub scenarios: Vec<ScenarioTotal>,
    /// Every named check, by endpoint.
    pub checks: Vec<Check>,
    /// Connections that were opened, by target.
    pub connections: Vec<Connections>,
    /// How the generator itself did.
    pub generator: Generator,
    /// CPU of the generator and of each target.
    pub cpu: Vec<CpuUse>,
    /// Every observed series, over the whole run and in each phase.
    pub series: Vec<SeriesSummary>,
    /// Profiles that were captured, in the order of their windows' ends.
    pub profiles: Vec<Profiled>,
    /// Exchanges that failed, as kept.
    pub failed: Vec<Exemplar>,
    /// The slowest exchanges, slowest first.
    pub slowest: Vec<Exemplar>,
    /// The run over time, for plots.
    pub timeline: Timeline,
    /// Response times by phase, for plots.
    pub distributions: Vec<PhaseDistribution>,
    /// Files that belong to the run, as (what it is, path); see [`Summary::with_files`].
    pub files: Vec<(String, String)>,
}

/// How the generator itself did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Generator {
    /// Actual start − due instant of arrivals.
    pub start_lag: Times,
    /// How long turns of the loop kept it from the clock.
    pub loop_stall: Times,
    /// Bytes received; none where they were not counted.
    pub bytes_in: Option<u64>,
    /// Bytes sent; none where they were not counted.
    pub bytes_out: Option<u64>,
    /// Ticks that were folded because the recorder lagged; none for a run that was not sealed.
    pub folded_ticks: Option<u64>,
    /// Endpoint names that were folded into one; none for a run that was not sealed.
    pub folded_endpoints: Option<u64>,
}

/// Connections that were opened to a target, and how long that took.
#[derive(Debug, Clone, Serialize)]
pub struct Connections {
    /// The target's name.
    pub target: String,
    /// Until each was established.
    pub connecting: Times,
    /// From there to the end of its TLS handshake; nothing in cleartext.
    pub tls_handshaking: Times,
}

/// What a histogram says, in milliseconds. All `None` when nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    /// How many values.
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
    /// The highest value.
    pub max_ms: Option<f64>,
}

impl Times {
    /// Of a histogram of microseconds.
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

    /// Whether the `q`-quantile of these has fewer than [`TAIL_SAMPLES`] answers beyond it.
    pub fn is_rough(&self, q: f64) -> bool {
        self.count > 0 && self.count as f64 * (1.0 - q) < TAIL_SAMPLES - 1e-9
    }
}

/// A quantile as text, marked with `~` where too few answers lie beyond it.
pub(crate) fn quantile_text(times: &Times, q: f64, ms: Option<f64>) -> String {
    let text = crate::number::time_or_none(ms);
    if ms.is_some() && times.is_rough(q) { format!("~{text}") } else { text }
}

/// Microseconds as milliseconds.
pub(crate) fn ms(us: f64) -> f64 {
    us / 1_000.0
}

impl Summary {
    /// Work out everything the renderers need of `run`, which offered `workload` and was judged so.
    ///
    /// # Errors
    /// [`ReportError::Read`] when the evidence cannot be read.
    pub fn of(run: &dyn Run, workload: &Workload, judgement: &Judgement) -> Result<Summary, ReportError> {
        let header = header::of(run, workload);
        let phases = header::phases(workload, run.seconds());
        let sweep = sweep::of(run)?;
        let rows = rows::of(&sweep, workload, &phases);
        let mut exemplars = run.exemplars()?;
        exemplars.sort_by_key(|e| std::cmp::Reverse(e.response_time_ns));
        let (mut failed, slowest): (Vec<_>, Vec<_>) =
            exemplars.into_iter().partition(|e| e.kind == ExemplarKind::Failed);
        failed.sort_by(|a, b| (&a.endpoint, a.outcome, a.due).cmp(&(&b.endpoint, b.outcome, b.due)));
        let books = sweep.outcomes();
        Ok(Summary {
            claims: claims::of(judgement, workload),
            judgement: judgement.clone(),
            scenarios: rows::scenarios(&sweep, workload, users::of(run, workload, &sweep)?),
            checks: sweep.checks(),
            connections: sweep.connections(),
            generator: sweep.generator(run.end()),
            cpu: observed::cpu(run, workload, books.answered())?,
            series: observed::series(run, &phases)?,
            profiles: profiled::of(run)?,
            timeline: timeline::of(run, &sweep)?,
            distributions: distribution::of(&sweep, workload, &phases),
            arrivals: sweep.arrivals(),
            header,
            phases,
            books,
            rows,
            failed,
            slowest,
            files: Vec::new(),
        })
    }

    /// Name the files that belong to the run, as (what it is, path), so that reports can point at them.
    #[must_use]
    pub fn with_files(mut self, files: &[(&str, &str)]) -> Summary {
        self.files = files.iter().map(|(what, path)| ((*what).to_owned(), (*path).to_owned())).collect();
        self
    }

    /// The rows of one phase.
    pub fn rows_of<'a>(&'a self, phase: &'a str) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.phase == phase)
    }

    /// The virtual users of each open scenario, with its name.
    pub fn virtual_users(&self) -> impl Iterator<Item = (&str, &VirtualUsers)> {
        self.scenarios.iter().filter_map(|s| Some((s.name.as_str(), s.virtual_users.as_ref()?)))
    }

    /// The names of the phases that have rows, in order; those the plan does not name come last.
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
