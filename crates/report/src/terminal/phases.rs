//! The table of the phases of requests: where their time goes.

use super::line::Tone;
use super::table::{Cell, Column, Table};
use crate::summary::{RequestPhase, Row, Summary};

/// The names of the phases, and their columns.
const COLUMNS: [(&str, Column); 7] = [
    ("blocked", Column { head: "blocked", rank: 1 }),
    ("resolving", Column { head: "resolving", rank: 6 }),
    ("connecting", Column { head: "connecting", rank: 3 }),
    ("tls_handshaking", Column { head: "TLS", rank: 4 }),
    ("sending", Column { head: "sending", rank: 5 }),
    ("waiting", Column { head: "waiting", rank: 0 }),
    ("receiving", Column { head: "receiving", rank: 2 }),
];

/// The phases of each endpoint's requests; none when none were measured.
pub(super) fn table(summary: &Summary) -> Option<Table<'_>> {
    let label = labels(summary);
    let shown = || COLUMNS.iter().filter(|(name, _)| summary.has_request_phase(name));
    let cells = |row: &Row| shown().map(|(name, _)| cell(row.request_phase(name))).collect();
    let with_phases = summary.rows.iter().filter(|row| !row.request_phases.is_empty());
    let rows: Vec<_> = with_phases.map(|row| (label(row), cells(row))).collect();
    let columns = shown().map(|(_, column)| *column).collect();
    (!rows.is_empty()).then_some(Table { label: "endpoint", columns, rows })
}

/// The label of a row; with its phase if the run has several.
pub(super) fn labels(summary: &Summary) -> impl Fn(&Row) -> String + use<> {
    let has_several_phases = summary.phases_with_rows().len() > 1;
    move |row| match has_several_phases {
        true => format!("{} in {}", row.label, row.phase),
        false => row.label.clone(),
    }
}

fn cell(phase: Option<&RequestPhase>) -> Cell {
    let tone = if phase.is_none_or(|phase| phase.share < 0.01) { Tone::Dim } else { Tone::Normal };
    Cell { text: RequestPhase::text_of(phase), tone }
}
