//! `plimsoll selftest experiments`: how often experiments whose truth is known are decided wrongly, and how many pairs they
//! need.

use evidence::TerminalText;
use serde_json::{Value, json};
use simulation::{ExperimentKind, ExperimentTally, Promise, experiments};

use super::capacities;
use crate::arguments::SelftestExperimentsArguments;
use crate::failure::CommandResult;
use crate::outputs;

/// Where a promise is broken.
const BROKEN: u8 = 1;

/// What became of the experiments of a kind.
struct Row {
    kind: ExperimentKind,
    tally: ExperimentTally,
}

pub(crate) fn run(arguments: &SelftestExperimentsArguments) -> CommandResult<u8> {
    let kinds = experiments();
    let mut rows = Vec::new();
    for (number, kind) in (1..).zip(&kinds) {
        outputs::note(format_args!("{number} of {}: {}", kinds.len(), kind.name));
        let tally = kind.run(arguments.experiments, arguments.seed);
        rows.push(Row { kind: *kind, tally });
    }
    let searches = capacities::run(arguments);
    match &arguments.json {
        Some(path) if path.as_os_str() == "-" => {}
        _ => {
            let mut text = text(&rows, arguments);
            capacities::add_text(&mut text, &searches, arguments);
            outputs::print(&text)?;
        }
    }
    if let Some(path) = &arguments.json {
        outputs::put(path, &json(&rows, &searches, arguments))?;
    }
    let is_kept = rows.iter().all(|row| row.tally.keeps(row.kind.promise)) && capacities::are_kept(&searches);
    Ok(if is_kept { 0 } else { BROKEN })
}

/// What is counted, and its limit.
fn promised(promise: Promise) -> (&'static str, String) {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    match promise {
        Promise::AlarmsAtMost(most) => ("false alarms", format!("≤ {}", percent(most))),
        Promise::FoundAtLeast(least) => ("found", format!("≥ {}", percent(least))),
        Promise::MissedAtMost(most) => ("called none", format!("≤ {}", percent(most))),
        Promise::ClearedAtLeast(least) => ("shown to be none", format!("≥ {}", percent(least))),
    }
}

fn text(rows: &[Row], arguments: &SelftestExperimentsArguments) -> TerminalText {
    let mut text = TerminalText::default();
    let SelftestExperimentsArguments { experiments, seed, .. } = arguments;
    text.line(format_args!(
        "Simulated experiments whose truth is known, {experiments} of each kind from seed {seed}"
    ));
    text.line("");
    for Row { kind, tally } in rows {
        let (what, limit) = promised(kind.promise);
        let pairs = tally.pairs as f64 / tally.experiments.max(1) as f64;
        let mark = if tally.keeps(kind.promise) { "" } else { "  BROKEN" };
        text.line(format_args!("{}: {}", kind.name, kind.description()));
        text.line(format_args!(
            "  {what} {:.2} % ({limit}), {pairs:.1} pairs in the mean{mark}",
            tally.share(kind.promise) * 100.0
        ));
    }
    let broken = rows.iter().filter(|row| !row.tally.keeps(row.kind.promise)).count();
    text.line("").line(match broken {
        0 => format!("PASS: none of {} promises is broken by more than chance explains.", rows.len()),
        _ => format!("FAIL: {broken} of {} promises are broken.", rows.len()),
    });
    text
}

fn json(rows: &[Row], searches: &[capacities::Row], arguments: &SelftestExperimentsArguments) -> String {
    let row = |Row { kind, tally }: &Row| -> Value {
        let (what, limit) = promised(kind.promise);
        json!({
            "simulated": kind.name,
            "description": kind.description(),
            "counted": what,
            "share": tally.share(kind.promise),
            "limit": limit,
            "mean_pairs": tally.pairs as f64 / tally.experiments.max(1) as f64,
            "is_kept": tally.keeps(kind.promise),
        })
    };
    let value = json!({
        "experiments": arguments.experiments,
        "seed": arguments.seed,
        "figures": rows.iter().map(row).collect::<Vec<_>>(),
        "capacity": capacities::json(searches),
    });
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_promise_is_marked() {
        let arguments = SelftestExperimentsArguments { experiments: 1_000, searches: 0, seed: 1, json: None };
        let kind = experiments()[0];
        let tally = |alarms| ExperimentTally {
            experiments: 1_000,
            alarms,
            pairs: 8_000,
            ..ExperimentTally::default()
        };
        let rows = [4, 40].map(|alarms| Row { kind, tally: tally(alarms) });
        let text = text(&rows, &arguments).to_string();
        assert!(text.contains("false alarms 0.40 % (≤ 1.0 %), 8.0 pairs in the mean\n"), "{text}");
        assert!(text.contains("false alarms 4.00 % (≤ 1.0 %), 8.0 pairs in the mean  BROKEN"), "{text}");
        assert!(text.contains("FAIL: 1 of 2 promises are broken."), "{text}");
    }
}
