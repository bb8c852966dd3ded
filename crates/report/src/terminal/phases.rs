//! The table of the phases of requests: where their time goes.

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
    let label = labels(summary);
    let rows: Vec<_> = summary
        .rows
        .iter()
        .filter(|row| !row.request_phases.is_empty())
        .map(|row| (label(row), row.request_phases.iter().map(cell).collect()))
        .collect();
    (!rows.is_empty()).then(|| Table { label: "endpoint", columns: COLUMNS.to_vec(), rows })
}

/// The label of a row; with its phase if the run has several.
pub(super) fn labels(summary: &Summary) -> impl Fn(&Row) -> String + use<> {
    let has_several_phases = summary.phases_with_rows().len() > 1;
    move |row| match has_several_phases {
        true => format!("{} in {}", row.label, row.phase),
        false => row.label.clone(),
    }
}

fn cell(phase: &RequestPhase) -> Cell {
    let tone = if phase.share < 0.01 { Tone::Dim } else { Tone::Normal };
    Cell { text: phase.in_words(), tone }
}
