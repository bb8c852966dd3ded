//! The tables of the endpoints: of each phase, of the parts of their requests, and of their streams.

use std::ops::Range;

use crate::document::{Block, Cell, Column, Forms, Mark, ParagraphKind, Row, Section, Table};
use crate::number;
use crate::percentiles::Percentiles;
use crate::summary::{
    self, PhaseCoverage, RequestPhase, RunEndState, Streams, Summary, TimeAtPercentile, quantile_text,
};

/// The columns of a phase's table before its times: group, head and rank.
const COUNTS: [(&str, &str, u8); 6] = [
    ("Arrivals", "due", 13),
    ("Arrivals", "dropped", 5),
    ("Requests", "requests", 0),
    ("Requests", "throughput", 3),
    ("Requests", "failures", 6),
    ("Requests", "failed", 0),
];
/// The column of dropped arrivals.
const DROPPED: usize = 1;
/// The group of the times.
const TIMES: &str = "Response time of successes";
/// The group of what was transferred.
const BYTES: &str = "Bytes";
/// The columns after the times.
const REST: [(&str, &str, u8); 4] = [
    (BYTES, "received", 12),
    (BYTES, "sent", 14),
    ("Service time", "service p50", 11),
    ("Service time", "service p95", 10),
];

/// The names of the phases of requests, and the heads and ranks of their columns.
const REQUEST_PHASES: [(&str, &str, u8); 7] = [
    ("blocked", "blocked", 1),
    ("resolving", "resolving", 6),
    ("connecting", "connecting", 3),
    ("tls_handshaking", "TLS", 4),
    ("sending", "sending", 5),
    ("waiting", "waiting", 0),
    ("receiving", "receiving", 2),
];

/// A smaller share of a request's time matters less.
const SMALL_SHARE: f64 = 0.01;

/// The ranks of the columns, in the order of [`Streams::COLUMNS`].
const STREAM_RANKS: [u8; 6] = [0, 0, 1, 2, 4, 3];

/// The phases that the run measures.
pub(super) fn section(summary: &Summary) -> Section {
    let (phases, _) = phases(summary);
    let mut blocks = tables(summary, &phases);
    match blocks.is_empty() {
        true => blocks.push(Block::text(ParagraphKind::Hint, "No request was made.")),
        false => blocks.extend(legend(summary)),
    }
    blocks.extend(url_patterns(summary));
    blocks.push(Block::Table(request_phases(summary, &phases)));
    blocks.extend(delayed_acknowledgements(summary, &phases));
    blocks.push(Block::Table(streams(summary)));
    Section::unheaded("endpoints", "Endpoints", blocks)
}

/// The others: setup, warm-up and teardown.
pub(super) fn other_phases(summary: &Summary) -> Option<Section> {
    let (_, phases) = phases(summary);
    let mut blocks = tables(summary, &phases);
    blocks.push(Block::Table(request_phases(summary, &phases)));
    let heading = match phases.as_slice() {
        [] => return None,
        [phase] => format!("Phase {phase}"),
        _ => format!("Phases {}", phases.join(", ")),
    };
    let section = Section { is_unheaded: true, ..Section::new("other-phases", heading, blocks) };
    Some(section.only(Forms::InFull).folded())
}

/// The phases with requests that the run measures, or all where it measures none of them, and the others. Of a run under way the
/// current one comes first, whatever it is.
fn phases(summary: &Summary) -> (Vec<&str>, Vec<&str>) {
    let all = summary.phases_with_rows();
    let is_under_way = summary.header.end == RunEndState::UnderWay;
    let current = all.iter().rposition(|name| summary.rows_of(name).any(has_ended)).filter(|_| is_under_way);
    let current = current.map(|at| all[at]);
    let is_measured = |name: &&str| summary.measured.iter().any(|measured| measured == name);
    let is_shown = |name: &&str| is_measured(name) || current == Some(*name);
    let (mut shown, others): (Vec<&str>, Vec<&str>) = all.iter().copied().partition(is_shown);
    if shown.is_empty() {
        return (all, Vec::new());
    }
    shown.sort_by_key(|name| current != Some(*name));
    (shown, others)
}

fn has_ended(row: &summary::Row) -> bool {
    row.outcomes.completed() > 0
}

/// The tables of these phases.
fn tables(summary: &Summary, phases: &[&str]) -> Vec<Block> {
    let dropped = summary.rows.iter().filter_map(|row| row.arrivals).map(|arrivals| arrivals.dropped());
    let has_dropped = dropped.sum::<u64>() > 0;
    phases.iter().flat_map(|name| phase(summary, name, has_dropped)).collect()
}

/// The endpoints of one phase, and what became of its requests.
fn phase(summary: &Summary, name: &str, has_dropped: bool) -> Vec<Block> {
    let planned = summary.phases.iter().find(|p| p.name == name);
    let when = planned.map(|phase| when(summary, phase)).unwrap_or_default();
    let caption = format!("Phase {}", if name.is_empty() { "(no phase)" } else { name });
    let listed = summary.listed_rows().filter(|row| row.phase == name);
    let rows = listed.chain(summary.total_of(name));
    let columns = columns(&summary.percentiles, has_dropped);
    let rows = rows.map(|row| endpoint(row, &summary.percentiles));
    let table = Table::of_columns("endpoint", columns, rows).without_empty_columns().captioned(caption, when);
    let mut blocks = vec![Block::Table(table)];
    if let Some(requests) = planned.and_then(|phase| phase.requests) {
        // That it adds up is a detail; that it does not is a result.
        let kind = if requests.adds_up() { ParagraphKind::Detail } else { ParagraphKind::Basis };
        blocks.push(Block::text(kind, requests.in_words()));
        blocks.extend(requests.beside_table().map(|text| Block::text(ParagraphKind::Detail, text)));
    }
    blocks
}

/// From when to when the load of a phase was offered, and whether its end came early.
fn when(summary: &Summary, phase: &PhaseCoverage) -> String {
    let when = phase.when();
    match &summary.header.end {
        RunEndState::UnderWay if phase.is_cut() => format!("{when}, under way"),
        // A run whose iterations are done is complete however long it took.
        RunEndState::Completed => when,
        _ if phase.is_cut() => format!("{when}, cut short of {} s", number::plain(phase.end_s)),
        _ => when,
    }
}

/// The columns of a phase's table. Percentiles that were chosen are never left out; what was dropped is left out last.
fn columns(percentiles: &Percentiles, has_dropped: bool) -> Vec<Column> {
    let of = |(group, head, rank): (&'static str, &str, u8)| Column { group, ..Column::new(head, rank) };
    let mut columns: Vec<Column> = COUNTS.map(of).into();
    if has_dropped {
        columns[DROPPED].rank = 1;
    }
    let rank = |percent: f64| match percent {
        _ if *percentiles != Percentiles::default() => 0,
        50.0 => 2,
        90.0 => 8,
        99.0 => 1,
        _ => 0,
    };
    columns.push(of((TIMES, "avg", 9)).in_markdown());
    let percent = |percent: &f64| of((TIMES, &Percentiles::head(*percent), rank(*percent)));
    columns.extend(percentiles.values().iter().map(percent));
    columns.push(of((TIMES, "max", 4)));
    columns.extend(REST.map(of).map(|column| match column.group {
        BYTES => column.in_markdown(),
        _ => column,
    }));
    columns
}

fn endpoint(row: &summary::Row, percentiles: &Percentiles) -> Row {
    let outcomes = &row.outcomes;
    let dropped = row.arrivals.map(|a| a.dropped());
    let has_failures = outcomes.known_failures() > 0;
    let mut cells = vec![
        Cell::new(number::count_or_none(row.arrivals.map(|a| a.scheduled))),
        Cell::bad_if(number::count_or_none(dropped), dropped.unwrap_or(0) > 0),
        Cell::new(number::count_or_none(outcomes.requests)),
        Cell::new(number::or_not_measured(row.throughput_per_s, number::rate)),
        Cell::bad_if(outcomes.count_text(outcomes.failed()), has_failures),
        Cell::bad_if(outcomes.failed_share(), has_failures),
    ];
    let times = row.times();
    cells.push(Cell::new(number::time_or_none(times.avg_ms)));
    let at = |at: TimeAtPercentile| match at.percentile {
        ..=50.0 => Cell::new(number::time_or_none(at.time_ms)),
        percentile => Cell::new(quantile_text(times, percentile / 100.0, at.time_ms)),
    };
    cells.extend(row.at(percentiles).map(at));
    cells.push(Cell::new(number::time_or_none(times.max_ms)));
    let bytes = |bytes: Option<u64>| number::or_not_measured(bytes.map(|n| n as f64), number::bytes);
    cells.extend([row.bytes_in, row.bytes_out].map(|n| Cell::new(bytes(n))));
    let service = &row.service_time;
    let service = [number::time_or_none(service.p50_ms), quantile_text(service, 0.95, service.p95_ms)];
    cells.extend(service.map(|time| Cell::marked(time, Mark::Dim)));
    Row { note: row.scenario.clone(), ..Row::of_cells(&row.label, cells) }
}

/// How URLs that are one thing get one name, where tables had to fold many.
fn url_patterns(summary: &Summary) -> Option<Block> {
    let first = summary.patterns.first()?;
    let text = format!(
        "{} stands for URLs that differ in one part. Give such requests one name, with the tag `name` or the \
         template `http.url`: they are then one endpoint everywhere, also in thresholds.",
        first.row.label
    );
    Some(Block::text(ParagraphKind::Basis, text))
}

fn legend(summary: &Summary) -> [Block; 2] {
    let of = if summary.outcomes.unknown.is_some() { "responses, failed or not" } else { "successes" };
    let mut text = match &summary.header.source {
        None => format!("Response times of {of}, from the instant a request was due to its last byte."),
        Some(source) => {
            format!("Response times of {of} as {} measured them, from when a request was sent.", source.tool)
        }
    };
    if summary.has_iterations() {
        text.push_str(" Of whole iterations the times of all, successful or not.");
    }
    let in_tail = || summary.percentiles.values().iter().filter(|percent| **percent > 50.0);
    let is_rough = |row: &summary::Row| in_tail().any(|percent| row.response_time.is_rough(percent / 100.0));
    if summary.rows.iter().any(is_rough) {
        text.push_str(" ~ marks a quantile with fewer than 20 samples above it.");
    }
    [Block::text(ParagraphKind::Basis, text), Block::text(ParagraphKind::Hint, "“–”: not measured.")]
}

/// The label of a row; with its phase if the run has several.
fn label(summary: &Summary, row: &summary::Row) -> String {
    match summary.phases_with_rows().len() {
        0 | 1 => row.label.clone(),
        _ => format!("{} in {}", row.label, row.phase),
    }
}

/// Where the time of requests goes.
fn request_phases(summary: &Summary, phases: &[&str]) -> Table {
    let shown: Vec<_> =
        REQUEST_PHASES.into_iter().filter(|(name, ..)| summary.has_request_phase(name)).collect();
    let cell = |phase: Option<&RequestPhase>| {
        let is_small = phase.is_none_or(|phase| phase.share < SMALL_SHARE);
        Cell::marked(RequestPhase::text_of(phase), if is_small { Mark::Dim } else { Mark::None })
    };
    let row = |row: &summary::Row| {
        let cells = shown.iter().map(|(name, ..)| cell(row.request_phase(name)));
        Row::of_cells(label(summary, row), cells)
    };
    let of_phases = summary.listed_rows().filter(|row| phases.contains(&row.phase.as_str()));
    let rows = of_phases.filter(|row| !row.request_phases.is_empty()).map(row);
    let table = Table::new("endpoint", shown.iter().map(|(_, head, rank)| (*head, *rank)), rows);
    table.captioned("Parts of a request", "mean time, share of the whole")
}

/// Around the 40 ms after which Linux acknowledges a segment at the latest that it could not acknowledge with data of its own
/// (`TCP_DELACK_MIN` in its include/net/tcp.h). The first segments of a connection are acknowledged at once, so the mean is less.
const ACKNOWLEDGEMENT_MS: Range<f64> = 30.0..46.0;

/// That responses seem to wait for an acknowledgement in their midst.
fn delayed_acknowledgements(summary: &Summary, phases: &[&str]) -> Option<Block> {
    let waits = |row: &&summary::Row| {
        row.request_phase("receiving")
            .is_some_and(|part| ACKNOWLEDGEMENT_MS.contains(&part.avg_ms) && part.share > 0.3)
    };
    let row = summary.listed_rows().filter(|row| phases.contains(&row.phase.as_str())).find(waits)?;
    let text = format!(
        "{}: receiving takes about 40 ms, as where a target sends head and body in two segments, and the second waits for the \
         acknowledgement of the first (Nagle's algorithm and delayed acknowledgements). TCP_NODELAY at the target, or one write of \
         both, ends it.",
        row.label
    );
    Some(Block::text(ParagraphKind::Basis, text))
}

/// gRPC streams.
fn streams(summary: &Summary) -> Table {
    let row = |row: &summary::Row| Some(Row::new(label(summary, row), row.streams.as_ref()?.in_words()));
    let heads = Streams::COLUMNS.into_iter().zip(STREAM_RANKS);
    let table = Table::new("endpoint", heads, summary.rows.iter().filter_map(row));
    table.captioned("Streams", "messages, and the time until the first one")
}
