//! How often experiments are decided wrongly: simulated, as bisections, as searches for capacity, and drawn from live pairs of the
//! challenge service against itself. The tool counts; this makes the pairs and the tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::table::Table;
use super::{build, machine, print_command, publish};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/error-rates.md";
/// What the live pairs are of.
const EXPERIMENT: &str = "examples/experiments/same.toml";
const MOST_EXPERIMENTS: u64 = 1_000_000;
/// An experiment has up to 16 pairs.
const FEWEST_PAIRS: u64 = 16;
const MOST_PAIRS: u64 = 200;

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many simulated experiments of each kind
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=MOST_EXPERIMENTS))]
    experiments: u64,
    /// How many simulated searches for capacity of each kind
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=MOST_EXPERIMENTS))]
    searches: u64,
    /// Make so many live pairs of the challenge service against itself, and draw experiments from them
    #[arg(long, value_name = "N", conflicts_with = "live",
        value_parser = clap::value_parser!(u64).range(FEWEST_PAIRS..=MOST_PAIRS))]
    pairs: Option<u64>,
    /// The folder of live pairs that were made before
    #[arg(long, value_name = "DIR")]
    live: Option<PathBuf>,
    /// Put the tables into docs/error-rates.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Makes the pairs, counts, prints the figures, and writes them where asked.
///
/// # Errors
/// When the tool cannot be built or run, or a promise is broken.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    build(workspace, &["plimsoll", "challenge"])?;
    let notes = machine::describe(workspace).notes;
    let folder = workspace.scratch("bench-experiments")?;
    let live = match options.pairs {
        None => options.live.clone(),
        Some(pairs) => {
            let live = folder.join("live.ab");
            let mut command = Command::new(workspace.binary("plimsoll"));
            command.arg("ab").arg(workspace.root().join(EXPERIMENT));
            command.args(["--looks", &pairs.to_string(), "--quiet", "-o"]).arg(&live);
            print_command(&command);
            // Whatever the verdict is, the pairs are there.
            command.status().context("cannot run the experiment")?;
            Some(live)
        }
    };
    let json = folder.join("experiments.json");
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.args(["selftest", "experiments", "--experiments", &options.experiments.to_string()]);
    command.args(["--searches", &options.searches.to_string(), "--json"]).arg(&json);
    if let Some(live) = live {
        command.arg("--live").arg(live);
    }
    print_command(&command);
    steps::run(command).context("a promise is broken, or the simulation failed")?;
    let found = serde_json::from_str(&fs::read_to_string(&json)?).context("cannot read the figures")?;
    let tables = [
        ("experiments", table(&found, notes.clone())?.render()),
        ("capacity", searches(&found, notes)?.render()),
    ];
    publish(workspace, options.is_written.then_some(DOCUMENT), &BTreeMap::from(tables))
}

fn percent(value: &Value) -> String {
    format!("{:.2} %", value.as_f64().unwrap_or_default() * 100.0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("–").to_owned()
}

fn table(found: &Value, notes: Vec<String>) -> Result<Table> {
    let row = |figure: &Value| {
        vec![
            text(&figure["simulated"]),
            text(&figure["description"]),
            figure["experiments"].to_string(),
            text(&figure["counted"]),
            percent(&figure["share"]),
            format!("{} to {}", percent(&figure["lower"]).trim_end_matches(" %"), percent(&figure["upper"])),
            text(&figure["limit"]),
            format!("{:.1}", figure["mean_pairs"].as_f64().unwrap_or_default()),
        ]
    };
    let figures = found["figures"].as_array().context("the self-test wrote no figures")?;
    let head = &["truth", "", "number", "counted", "share", "95 % limits", "promised", "mean pairs"];
    Ok(Table { head, rows: figures.iter().map(row).collect(), notes, ..Table::default() })
}

/// Searches for capacity.
fn searches(found: &Value, notes: Vec<String>) -> Result<Table> {
    let row = |kind: &Value| {
        let searches = kind["searches"].as_f64().unwrap_or_default().max(1.0);
        let of = |count: &str| kind[count].as_f64().unwrap_or_default();
        let share = |count: &str| format!("{:.2} %", of(count) / searches * 100.0);
        vec![
            text(&kind["simulated"]),
            text(&kind["description"]),
            kind["searches"].to_string(),
            share("answered"),
            share("covered"),
            share("overstated"),
            percent(&kind["mean_width"]),
            format!("{:.0}", of("probes") / searches),
        ]
    };
    let kinds = found["capacity"].as_array().context("the self-test wrote no searches")?;
    let head =
        &["target", "", "searches", "both ends", "covered", "holds too high", "mean width", "mean probes"];
    Ok(Table { head, rows: kinds.iter().map(row).collect(), notes, ..Table::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_row() {
        let found = serde_json::json!({ "figures": [{
            "simulated": "A against A", "description": "live", "experiments": 1000, "counted": "false alarms",
            "share": 0.004, "lower": 0.001, "upper": 0.0091, "limit": null, "mean_pairs": 8.04,
        }] });
        let rows = table(&found, Vec::new()).unwrap().rows;
        let cells = ["A against A", "live", "1000", "false alarms", "0.40 %", "0.10 to 0.91 %", "–", "8.0"];
        assert_eq!(rows, [cells.map(String::from)]);
        assert!(table(&serde_json::json!({}), Vec::new()).is_err());
        let found = serde_json::json!({ "capacity": [{
            "simulated": "a knee", "description": "10 %", "searches": 200, "answered": 198, "covered": 199,
            "overstated": 1, "mean_width": 0.1181, "probes": 7000,
        }] });
        let rows = searches(&found, Vec::new()).unwrap().rows;
        let cells = ["a knee", "10 %", "200", "99.00 %", "99.50 %", "0.50 %", "11.81 %", "35"];
        assert_eq!(rows, [cells.map(String::from)]);
    }
}
