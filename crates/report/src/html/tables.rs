//! The tables of the page, as text.

use crate::number;
use crate::summary::{
    Arrivals, Check, CpuUse, FailureKind, MetricNumbers, Outcomes, PhaseCoverage, RequestPhase, Row,
    ScenarioTotal, ScriptMetric, SeriesSummary, StatusCount, Summary, quantile_text, time_cells,
};
use crate::text::visible;

/// The most rows a table has.
const MAX_ROWS: usize = 300;
/// The most phases that have a column in the table of series.
const MAX_SERIES_PHASES: usize = 6;

/// The table of one phase.
#[derive(Debug)]
pub(super) struct PhaseTable {
    pub(super) name: String,
    pub(super) when: String,
    pub(super) rows: Vec<EndpointRow>,
    /// A sentence on the rows that are left out; empty if there are none.
    pub(super) left_out: String,
    /// What became of its requests; empty where that was not counted.
    pub(super) requests: String,
}

/// One endpoint in one phase.
#[derive(Debug)]
pub(super) struct EndpointRow {
    pub(super) name: String,
    pub(super) scenario: String,
    pub(super) dropped_class: &'static str,
    pub(super) failed_class: &'static str,
    pub(super) scheduled: String,
    pub(super) dropped: String,
    pub(super) requests: String,
    pub(super) rate: String,
    pub(super) failed: String,
    pub(super) failed_count: String,
    pub(super) times: Vec<String>,
    pub(super) service: Vec<String>,
}

pub(super) fn phase_tables(summary: &Summary) -> Vec<PhaseTable> {
    let table = |name: &str| {
        let rows: Vec<&Row> = summary.rows_of(name).collect();
        let planned = summary.phases.iter().find(|p| p.name == name);
        let missing = rows.len().saturating_sub(MAX_ROWS);
        PhaseTable {
            name: if name.is_empty() { "(no phase)".to_owned() } else { visible(name) },
            when: planned.map(PhaseCoverage::when).unwrap_or_default(),
            rows: rows.into_iter().take(MAX_ROWS).map(endpoint_row).collect(),
            requests: planned
                .and_then(|p| Some(format!("{}: {}", visible(name), p.requests?.in_words())))
                .unwrap_or_default(),
            left_out: if missing == 0 {
                String::new()
            } else {
                format!("{missing} more endpoints are in the archive.")
            },
        }
    };
    summary.phases_with_rows().into_iter().map(table).collect()
}

fn endpoint_row(row: &Row) -> EndpointRow {
    let outcomes = &row.outcomes;
    let dropped = row.arrivals.map(|a| a.dropped());
    let mark = |n: u64| if n > 0 { "bad" } else { "" };
    let service = &row.service_time;
    EndpointRow {
        name: visible(&row.label),
        scenario: visible(&row.scenario),
        dropped_class: mark(dropped.unwrap_or(0)),
        failed_class: mark(outcomes.known_failures()),
        scheduled: number::count_or_none(row.arrivals.map(|a| a.scheduled)),
        dropped: number::count_or_none(dropped),
        requests: number::count_or_none(outcomes.requests),
        rate: number::or_not_measured(row.throughput_per_s, number::rate),
        failed: outcomes.failed_share(),
        failed_count: outcomes.count_text(outcomes.failed()),
        times: time_cells(row.times()).into(),
        service: vec![number::time_or_none(service.p50_ms), quantile_text(service, 0.95, service.p95_ms)],
    }
}

/// The names of the phases of requests, and the heads of their columns.
const REQUEST_PHASES: [(&str, &str); 7] = [
    ("blocked", "Blocked"),
    ("resolving", "Resolving"),
    ("connecting", "Connecting"),
    ("tls_handshaking", "TLS handshaking"),
    ("sending", "Sending"),
    ("waiting", "Waiting"),
    ("receiving", "Receiving"),
];

/// The phases that the table of [`request_phases`] has as columns: name and head.
pub(super) fn shown_request_phases(summary: &Summary) -> Vec<(&'static str, &'static str)> {
    REQUEST_PHASES.into_iter().filter(|(name, _)| summary.has_request_phase(name)).collect()
}

/// The phases of each endpoint's requests, by phase of the run.
pub(super) fn request_phases(summary: &Summary) -> Vec<Vec<String>> {
    let shown = shown_request_phases(summary);
    let row = |row: &Row| {
        let label = visible(&format!("{} in {}", row.label, row.phase));
        let cells = shown.iter().map(|(name, _)| RequestPhase::text_of(row.request_phase(name)));
        std::iter::once(label).chain(cells).collect()
    };
    summary.rows.iter().filter(|row| !row.request_phases.is_empty()).take(MAX_ROWS).map(row).collect()
}

/// The gRPC streams of each endpoint, by phase of the run.
pub(super) fn streams(summary: &Summary) -> Vec<Vec<String>> {
    let row = |row: &Row| {
        let label = visible(&format!("{} in {}", row.label, row.phase));
        row.streams.as_ref().map(|streams| std::iter::once(label).chain(streams.in_words()).collect())
    };
    summary.rows.iter().filter_map(row).take(MAX_ROWS).collect()
}

pub(super) fn scenarios(summary: &Summary) -> Vec<Vec<String>> {
    let row = |s: &ScenarioTotal| {
        let arrivals = |part: fn(&Arrivals) -> u64| number::count_or_none(s.arrivals.as_ref().map(part));
        vec![
            visible(&s.name),
            arrivals(|a| a.scheduled),
            arrivals(|a| a.started),
            arrivals(|a| a.dropped_cap),
            arrivals(|a| a.dropped_late),
            number::count_or_none(s.iterations_done),
            number::count_or_none(s.iterations_cancelled),
            number::or_not_measured(s.virtual_users.as_ref(), |users| users.in_words()),
            s.outcomes.completed_text(),
            failed(&s.outcomes),
        ]
    };
    summary.scenarios.iter().take(MAX_ROWS).map(row).collect()
}

/// Failures and their share: `12 (0.40 %)`.
fn failed(outcomes: &Outcomes) -> String {
    match outcomes.failed() {
        Some(failed) => format!("{} ({})", number::count(failed), outcomes.failed_share()),
        None => outcomes.count_text(None),
    }
}

/// One outcome of one endpoint in one phase.
#[derive(Debug)]
pub(super) struct FailureRow {
    pub(super) cells: [String; 3],
    pub(super) count: String,
    pub(super) share: String,
    /// What was wrong with one of them.
    pub(super) example: String,
    /// The reasons with their numbers, where there are several.
    pub(super) reasons: Vec<String>,
}

pub(super) fn failures(summary: &Summary) -> Vec<FailureRow> {
    let of = |row: &Row| -> Vec<FailureRow> {
        let completed = row.outcomes.completed();
        let line = |kind: &FailureKind| FailureRow {
            cells: [visible(&row.phase), visible(&row.label), kind.ended.name()],
            count: number::count(kind.ended.count),
            share: number::share(kind.ended.count, completed),
            example: visible(&kind.reason_in_words()),
            reasons: kind
                .several_reasons()
                .map(|(n, reason)| format!("{} × {}", number::count(n), visible(reason)))
                .collect(),
        };
        row.failures.iter().map(line).collect()
    };
    summary.rows.iter().flat_map(of).take(MAX_ROWS).collect()
}

/// Requests by the status of their response: status, outcome, number, share.
pub(super) fn statuses(summary: &Summary) -> Vec<Vec<String>> {
    let all: u64 = summary.statuses.iter().map(|of| of.count).sum();
    let row = |of: &StatusCount| {
        let (count, share) = (number::count(of.count), number::share(of.count, all));
        vec![visible(of.status_text()), of.outcome.to_string(), count, share]
    };
    summary.statuses.iter().take(MAX_ROWS).map(row).collect()
}

pub(super) fn checks(summary: &Summary) -> Vec<Vec<String>> {
    let row = |c: &Check| {
        vec![
            visible(&c.label),
            visible(&c.name),
            number::count(c.passed),
            number::count(c.failed),
            number::share(c.passed, c.passed + c.failed),
        ]
    };
    summary.checks.iter().take(MAX_ROWS).map(row).collect()
}

/// Times as k6 counts them, and from the due instant.
pub(super) fn beside_k6(summary: &Summary) -> Vec<Vec<String>> {
    let row = |(label, cells): (String, [String; 6])| std::iter::once(label).chain(cells).collect();
    summary.beside_k6.iter().flat_map(|beside| beside.rows()).map(row).collect()
}

/// The metrics that a script made.
pub(super) fn metrics(summary: &Summary) -> Vec<Vec<String>> {
    let rows = |metric: &ScriptMetric| {
        let kind = metric.kind;
        let row = |(label, numbers): (String, &MetricNumbers)| {
            vec![visible(&label), kind.to_string(), number::count(numbers.count), numbers.in_words()]
        };
        metric.rows().into_iter().map(row).collect::<Vec<_>>()
    };
    summary.metrics.iter().flat_map(rows).take(MAX_ROWS).collect()
}

pub(super) fn cpu(summary: &Summary) -> Vec<Vec<String>> {
    let number3 = |value: Option<f64>| number::or_not_measured(value, |v| number::significant(v, 3));
    let row = |c: &CpuUse| {
        vec![
            visible(&c.target),
            number3(c.cpu_seconds),
            number3(c.mean_cores),
            number::or_not_measured(c.per_1000_requests_s, number::cpu),
            number::or_not_measured(c.per_1000_requests_s, |_| c.part_of_run()),
            c.note.clone(),
        ]
    };
    summary.cpu.iter().map(row).collect()
}

/// The phases that have a column in the table of series; a single phase has none, because it would repeat the mean.
pub(super) fn series_phases(summary: &Summary) -> Vec<String> {
    let phases = if summary.phases.len() > 1 { summary.phases.as_slice() } else { &[] };
    phases.iter().take(MAX_SERIES_PHASES).map(|phase| visible(&phase.name)).collect()
}

pub(super) fn series(summary: &Summary) -> Vec<Vec<String>> {
    let phases = series_phases(summary).len();
    let row = |s: &SeriesSummary| {
        let value = |v: f64| visible(&number::with_unit(Some(v), &s.unit));
        let name = if s.part.is_empty() { s.name.clone() } else { format!("{} ({})", s.name, s.part) };
        let statistics = &s.statistics;
        let mut row = vec![
            visible(&s.target),
            visible(&name),
            value(statistics.mean),
            value(statistics.min),
            value(statistics.max),
            value(statistics.last),
            number::count(statistics.samples),
        ];
        row.extend(s.phases.iter().take(phases).map(|of_phase| {
            number::or_not_measured(of_phase.as_ref(), |of_phase| {
                format!("{} (max {})", value(of_phase.mean), value(of_phase.max))
            })
        }));
        row
    };
    summary.series.iter().take(MAX_ROWS).map(row).collect()
}
