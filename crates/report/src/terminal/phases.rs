//! The table of where the time of answered requests goes.

use super::line::Tone;
use super::table::{Cell, Column, Table};
use crate::summary::{RequestPhase, Row, Summary};

const COLUMNS: [Column; 6] = [
    Column { head: "blocked", rank: 1 },
    Column { head: "connecting", rank: 3 },
    Column { head: "TLS", rank: 4 },
    Column { head: "sending", rank: 5 },
    Column { head: "waiting", rank: 0 },
    Column { head: "receiving", rank: 2 },
];

/// The phases of each endpoint's requests; none when none were measured.
pub(super) fn table(summary: &Summary) -> Option<Table> {
    let several = summary.phases_with_rows().len() > 1;
    let rows: Vec<_> = summary
        .rows
        .iter()
        .filter(|row| !row.request_phases.is_empty())
        .map(|row| (label(row, several), row.request_phases.iter().map(cell).collect()))
        .collect();
    (!rows.is_empty()).then(|| Table { label: "endpoint", columns: COLUMNS.to_vec(), rows })
}

pub(super) fn label(row: &Row, several_phases: bool) -> String {
    if several_phases { format!("{} in {}", row.label(), row.phase) } else { row.label().to_owned() }
}

fn cell(phase: &RequestPhase) -> Cell {
    let tone = if phase.share < 0.01 { Tone::Dim } else { Tone::Normal };
    Cell { text: phase.in_words(), tone }
}
