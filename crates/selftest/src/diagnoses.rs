//! Diagnoses of services whose limit is known, beside experiments.

use conduct::screen;
use evidence::TerminalText;
use serde_json::{Value, json};
use simulation::{DiagnosisKind, DiagnosisTally, Experiments, NamedCounts, diagnosis_kinds};

/// What became of the services of a kind.
pub(crate) struct Row {
    kind: DiagnosisKind,
    tally: DiagnosisTally,
}

/// Services of every kind.
pub(crate) fn run(services: Experiments) -> Vec<Row> {
    screen::note("diagnoses of services whose limit is known");
    let row = |kind: DiagnosisKind| Row { kind, tally: kind.run(services.count, services.seed) };
    diagnosis_kinds().map(row).into()
}

/// Whether every promise is kept.
pub(crate) fn are_kept(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.kind.is_kept(&row.tally))
}

/// Each kind with its rules.
pub(crate) fn add_text(text: &mut TerminalText, rows: &[Row], services: Experiments) {
    text.line("").line(format_args!(
        "Simulated services whose limit is known, {} of each kind from seed {}: named rightly, wrongly, UNDETERMINED",
        services.count, services.seed
    ));
    text.line("");
    for Row { kind, tally } in rows {
        let mark = if kind.is_kept(tally) { "" } else { "  BROKEN" };
        text.line(format_args!("{} (wrong ≤ {:.0} %){mark}", kind.name, kind.wrong_at_most * 100.0));
        let rules = [
            ("ledger", tally.ledger),
            ("highest use", tally.highest_use),
            ("use of 90 % or more", tally.high_use),
        ];
        for (rule, counts) in rules {
            let share = |count: u64| counts.share(count).0 * 100.0;
            let [right, wrong, none] = [counts.right, counts.wrong, counts.none].map(share);
            let upper = counts.share(counts.wrong).2 * 100.0;
            text.line(format_args!(
                "  {rule:<20} {right:5.1} %  {wrong:5.1} % (at most {upper:.1} %)  {none:5.1} %"
            ));
        }
    }
    let broken = rows.iter().filter(|row| !row.kind.is_kept(&row.tally)).count();
    text.line("").line(match broken {
        0 => format!("PASS: none of {} kinds of services breaks a promise.", rows.len()),
        _ => format!("FAIL: {broken} of {} kinds of services break a promise.", rows.len()),
    });
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let counts = |of: NamedCounts| json!({ "right": of.right, "wrong": of.wrong, "undetermined": of.none });
    let row = |Row { kind, tally }: &Row| {
        json!({
            "simulated": kind.name,
            "services": tally.ledger.all(),
            "ledger": counts(tally.ledger),
            "highest_use": counts(tally.highest_use),
            "use_of_90_percent": counts(tally.high_use),
            "meets_target": kind.is_kept(tally),
        })
    };
    rows.iter().map(row).collect()
}
