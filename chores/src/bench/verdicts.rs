//! How often verdicts are wrong, by the tool's own simulation.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::table::Table;
use super::{build, machine, print_command, publish};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/error-rates.md";

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many runs of each kind
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    runs: u64,
    /// Put the tables into docs/error-rates.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Simulates, prints the figures, and writes them where asked.
///
/// # Errors
/// When the tool cannot be built or run, or a figure exceeds its limit.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let Options { runs, is_written } = *options;
    build(workspace, &["plimsoll"])?;
    let json = workspace.scratch("bench-verdicts")?.join("verdicts.json");
    let mut command = std::process::Command::new(workspace.binary("plimsoll"));
    command.args(["selftest", "verdicts", "--runs", &runs.to_string(), "--json"]).arg(&json);
    print_command(&command);
    steps::run(command).context("a figure exceeds its limit, or the simulation failed")?;
    let found = serde_json::from_str(&fs::read_to_string(&json)?).context("cannot read the figures")?;
    let notes = machine::describe(workspace).notes;
    let text = table(&found, notes)?.render();
    publish(workspace, is_written.then_some(DOCUMENT), &BTreeMap::from([("verdicts", text)]))
}

fn table(found: &Value, notes: Vec<String>) -> Result<Table> {
    let percent =
        |value: &Value| value.as_f64().map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |figure: &Value| {
        let mut cells =
            vec![text(&figure["simulated"]), text(&figure["question"]), figure["runs"].to_string()];
        let shares = ["wrong_pass", "wrong_fail", "undecided", "limit", "pass_at_least"];
        cells.extend(shares.map(|name| percent(&figure[name])));
        cells
    };
    let figures = found["figures"].as_array().context("the self-test wrote no figures")?;
    let head =
        &["simulated", "question", "runs", "wrong PASS", "wrong FAIL", "undecided", "limit", "PASS at least"];
    Ok(Table { head, rows: figures.iter().map(row).collect(), notes, ..Table::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_row() {
        let found = serde_json::json!({ "figures": [{
            "simulated": "one worker", "question": "p95", "runs": 200, "wrong_pass": null, "wrong_fail": 0.005,
            "undecided": 0.25, "limit": 0.05, "pass_at_least": null, "is_within_limits": true,
        }] });
        let rows = table(&found, Vec::new()).unwrap().rows;
        assert_eq!(
            rows,
            [["one worker", "p95", "200", "–", "0.5 %", "25.0 %", "5.0 %", "–"].map(String::from)]
        );
        assert!(table(&serde_json::json!({}), Vec::new()).is_err());
    }
}
