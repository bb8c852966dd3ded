//! How often experiments are decided wrongly: simulated, as bisections, as searches for capacity, and drawn from live pairs of the
//! challenge service against itself. The tool counts; this makes the pairs and the tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::options::number;
use super::table::Table;
use super::{USAGE, machine, print_command, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/error-rates.md";
/// What the live pairs are of.
const EXPERIMENT: &str = "examples/experiments/same.toml";
const DEFAULT_EXPERIMENTS: u64 = 100_000;
const MOST_EXPERIMENTS: u64 = 1_000_000;
const DEFAULT_SEARCHES: u64 = 2_000;
/// An experiment has up to 16 pairs.
const FEWEST_PAIRS: u64 = 16;
const MOST_PAIRS: u64 = 200;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    experiments: u64,
    searches: u64,
    live: Live,
    is_written: bool,
}

/// Where live pairs come from.
#[derive(Debug, PartialEq, Eq)]
enum Live {
    None,
    /// So many are made.
    Made(u64),
    /// They were made before.
    Folder(PathBuf),
}

/// Makes the pairs, counts, prints the figures, and writes them where asked.
///
/// # Errors
/// When the tool cannot be built or run, or a promise is broken.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "challenge", "--bins"]);
    build.args(workspace.profile());
    steps::run(build).context("cannot build the tool and the service")?;
    let notes = machine::describe(workspace, "experiments", arguments).notes;
    let folder = workspace.scratch("bench-experiments")?;
    let live = match &options.live {
        Live::None => None,
        Live::Made(pairs) => {
            let live = folder.join("live.ab");
            let mut command = Command::new(workspace.binary("plimsoll"));
            command.arg("ab").arg(workspace.root().join(EXPERIMENT));
            command.args(["--looks", &pairs.to_string(), "--quiet", "-o"]).arg(&live);
            print_command(&command);
            // Whatever the verdict is, the pairs are there.
            command.status().context("cannot run the experiment")?;
            Some(live)
        }
        Live::Folder(folder) => Some(folder.clone()),
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
    tables.iter().for_each(|(_, text)| println!("\n{text}"));
    if options.is_written {
        write_into(workspace, DOCUMENT, &BTreeMap::from(tables))?;
    }
    Ok(())
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        experiments: DEFAULT_EXPERIMENTS,
        searches: DEFAULT_SEARCHES,
        live: Live::None,
        is_written: false,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--experiments" => {
                let value = rest.next().context("--experiments needs a number")?;
                options.experiments = number(value, "experiments", 1..=MOST_EXPERIMENTS)?;
            }
            "--searches" => {
                let value = rest.next().context("--searches needs a number")?;
                options.searches = number(value, "searches", 1..=MOST_EXPERIMENTS)?;
            }
            "--pairs" => {
                ensure!(options.live == Live::None, "--pairs makes pairs, and --live names some: give one");
                let value = rest.next().context("--pairs needs a number")?;
                options.live = Live::Made(number(value, "pairs", FEWEST_PAIRS..=MOST_PAIRS)?);
            }
            "--live" => {
                ensure!(options.live == Live::None, "--pairs makes pairs, and --live names some: give one");
                options.live = Live::Folder(rest.next().context("--live needs a folder")?.into());
            }
            "--write" => options.is_written = true,
            other => bail!("`{other}` is not an option; usage: cargo xtask bench {USAGE}"),
        }
    }
    Ok(options)
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
    fn pairs_are_made_or_named() {
        assert_eq!(options(&["--searches", "9"].map(str::to_owned)).unwrap().searches, 9);
        let read = |words: &str| options(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let made = read("--pairs 60 --write").unwrap();
        assert_eq!((made.live, made.is_written, made.experiments), (Live::Made(60), true, 100_000));
        assert_eq!(read("--live same.ab").unwrap().live, Live::Folder("same.ab".into()));
        for wrong in ["--pairs 60 --live x", "--pairs 4", "--live", "--fast"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

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
