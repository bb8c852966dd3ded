//! The table of the endpoints of one phase.

use super::line::Tone;
use super::table::{Cell, Column, Table};
use crate::number;
use crate::summary::{Row, quantile_text, time_cells};

const COLUMNS: [Column; 12] = [
    Column { head: "dropped", rank: 5 },
    Column { head: "requests", rank: 0 },
    Column { head: "throughput", rank: 3 },
    Column { head: "failed", rank: 0 },
    Column { head: "avg", rank: 9 },
    Column { head: "p50", rank: 2 },
    Column { head: "p90", rank: 8 },
    Column { head: "p95", rank: 0 },
    Column { head: "p99", rank: 1 },
    Column { head: "max", rank: 4 },
    Column { head: "svc p50", rank: 11 },
    Column { head: "svc p95", rank: 10 },
];

/// The table of `rows`.
pub(super) fn table<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Table<'static> {
    let mut columns = COLUMNS.to_vec();
    if rows.clone().any(|row| row.arrivals.is_some_and(|arrivals| arrivals.dropped() > 0)) {
        // What was dropped is never left out.
        columns[0].rank = 0;
    }
    let cells = |row: &Row| (row.label.clone(), cells(row));
    Table { label: "endpoint", columns, rows: rows.map(cells).collect() }
}

fn cells(row: &Row) -> Vec<Cell> {
    let outcomes = &row.outcomes;
    let warn = |text: String, n: u64| Cell { text, tone: if n > 0 { Tone::Bad } else { Tone::Normal } };
    let dropped = row.arrivals.map(|a| a.dropped());
    let mut cells = vec![
        warn(number::count_or_none(dropped), dropped.unwrap_or(0)),
        Cell::plain(number::count_or_none(outcomes.requests)),
        Cell::plain(number::or_not_measured(row.throughput_per_s, number::rate)),
        warn(outcomes.failed_share(), outcomes.known_failures()),
    ];
    cells.extend(time_cells(row.times()).map(Cell::plain));
    let service = &row.service_time;
    cells.push(Cell::plain(number::time_or_none(service.p50_ms)));
    cells.push(Cell::plain(quantile_text(service, 0.95, service.p95_ms)));
    cells
}
