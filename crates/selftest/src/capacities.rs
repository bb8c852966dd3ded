//! Capacity searches whose truth is known, beside experiments.

use conduct::screen;
use evidence::TerminalText;
use serde_json::{Value, json};
use simulation::{CapacityKind, CapacityTally, Experiments, capacity_kinds};

/// What became of the searches of a kind.
pub(crate) struct Row {
    kind: CapacityKind,
    tally: CapacityTally,
}

/// Searches of every kind.
pub(crate) fn run(searches: Experiments) -> Vec<Row> {
    let kinds = capacity_kinds();
    let mut rows = Vec::new();
    for (number, kind) in (1..).zip(&kinds) {
        screen::note(format_args!("capacity {number} of {}: {}", kinds.len(), kind.name));
        rows.push(Row { kind: *kind, tally: kind.run(searches.count, searches.seed) });
    }
    rows
}

/// Whether every promise is kept.
pub(crate) fn are_kept(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.tally.keeps(&row.kind))
}

/// Each kind in two lines.
pub(crate) fn add_text(text: &mut TerminalText, rows: &[Row], searches: Experiments) {
    text.line("").line(format_args!(
        "Simulated capacity searches whose truth is known, {} of each kind from seed {}",
        searches.count, searches.seed
    ));
    text.line("");
    for Row { kind, tally } in rows {
        let share = |count: u64| count as f64 / tally.searches.max(1) as f64 * 100.0;
        let mark = if tally.keeps(kind) { "" } else { "  BROKEN" };
        let width = kind.width.map(|most| format!(" (≤ {:.0} %)", most * 100.0)).unwrap_or_default();
        text.line(format_args!("{}: {}", kind.name, kind.description()));
        match kind.is_answered {
            true => text.line(format_args!(
                "  covered {:.1} % (≥ 95 %), too high {:.2} % (≤ 1 %), both ends {:.1} % (≥ 95 %), mean width {:.1} %{width}, \
                 nine of ten named {:.1} %, wrongly {:.2} % (≤ 5 %), {:.0} probes in the mean{mark}",
                share(tally.covered),
                share(tally.overstated),
                share(tally.answered),
                tally.mean_width() * 100.0,
                share(tally.promised),
                share(tally.promised - tally.kept),
                tally.probes as f64 / tally.searches.max(1) as f64
            )),
            false => text.line(format_args!("  answered {:.1} % (≤ 5 %){mark}", share(tally.answered))),
        };
    }
    let broken = rows.iter().filter(|row| !row.tally.keeps(&row.kind)).count();
    text.line("").line(match broken {
        0 => format!("PASS: none of {} kinds of capacity searches breaks a promise.", rows.len()),
        _ => format!("FAIL: {broken} of {} kinds of capacity searches break a promise.", rows.len()),
    });
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let row = |Row { kind, tally }: &Row| {
        json!({
            "simulated": kind.name,
            "description": kind.description(),
            "searches": tally.searches,
            "answered": tally.answered,
            "covered": tally.covered,
            "overstated": tally.overstated,
            "nine_of_ten_named": tally.promised,
            "nine_of_ten_kept": tally.kept,
            "mean_width": tally.mean_width(),
            "probes": tally.probes,
            "meets_target": tally.keeps(kind),
        })
    };
    rows.iter().map(row).collect()
}
