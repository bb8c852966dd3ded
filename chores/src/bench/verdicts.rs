//! How often verdicts are wrong, by the tool's own simulation.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::options::number;
use super::table::Table;
use super::{USAGE, machine, print_command, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/error-rates.md";
const DEFAULT_RUNS: u64 = 200;
const MOST_RUNS: u64 = 100_000;

/// Simulates, prints the figures, and writes them where asked.
///
/// # Errors
/// When the tool cannot be built or run, or a figure exceeds its limit.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Options { runs, is_written } = options(arguments)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--bins"]).args(workspace.profile());
    steps::run(build).context("cannot build the tool")?;
    let json = workspace.scratch("bench-verdicts")?.join("verdicts.json");
    let mut command = std::process::Command::new(workspace.binary("plimsoll"));
    command.args(["selftest", "verdicts", "--runs", &runs.to_string(), "--json"]).arg(&json);
    print_command(&command);
    steps::run(command).context("a figure exceeds its limit, or the simulation failed")?;
    let found = serde_json::from_str(&fs::read_to_string(&json)?).context("cannot read the figures")?;
    let notes = machine::describe(workspace, "verdicts", arguments).notes;
    let text = table(&found, notes)?.render();
    println!("\n{text}");
    if is_written {
        write_into(workspace, DOCUMENT, &BTreeMap::from([("verdicts", text)]))?;
    }
    Ok(())
}

struct Options {
    runs: u64,
    is_written: bool,
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options { runs: DEFAULT_RUNS, is_written: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--runs" => {
                let value = rest.next().context("--runs needs a number")?;
                options.runs = number(value, "runs", 1..=MOST_RUNS)?;
            }
            "--write" => options.is_written = true,
            other => bail!("`{other}` is not an option; usage: cargo xtask bench {USAGE}"),
        }
    }
    Ok(options)
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
