//! How much later than due requests start: Plimsoll beside a bare timer loop, and beside another build of it.
//!
//! In each round they run one after the other on the same processor, in an order that rotates. Every figure of the table
//! is the median of the rounds; the ratio is that of the rounds' pairs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::engine::ratio::{Spread, median};
use super::engine::target::{Protocol, Target};
use super::options::program;
use super::table::{Table, figure};
use super::{CpuPlacement, build, machine, print_command, publish};
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";
const RATE: u64 = 1_000;

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// The length of each run
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Another build of Plimsoll, which is measured too
    #[arg(long, value_name = "PROGRAM", value_parser = program)]
    baseline: Option<PathBuf>,
    /// Put the tables into docs/benchmarks.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Start lag of one run, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lag {
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

/// What starts something at each due instant, and its lag in every round.
struct Starter {
    name: &'static str,
    program: PathBuf,
    rounds: Vec<Lag>,
}

/// Measures round by round, and prints the table.
///
/// # Errors
/// When a program fails.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    build(workspace, &["plimsoll", "testbed"])?;
    let folder = workspace.scratch("bench-lag")?;
    let target = Target::start(&folder)?;
    let plan = plan(&target.authority(Protocol::Http1), options.seconds);
    std::fs::write(folder.join("lag.toml"), plan).context("cannot write the plan")?;
    let starter = |name, program| Starter { name, program, rounds: Vec::new() };
    let mut starters = vec![
        starter("plimsoll", workspace.binary("plimsoll")),
        starter("timer loop", workspace.binary("timer")),
    ];
    starters.extend(options.baseline.iter().map(|program| starter("baseline", program.clone())));
    for round in 0..options.rounds as usize {
        for step in 0..starters.len() {
            let index = (round + step) % starters.len();
            let starter = &mut starters[index];
            let lag = measure(starter, options, &folder).with_context(|| starter.name.to_owned())?;
            starter.rounds.push(lag);
        }
    }
    let mut table = table(&starters);
    table
        .notes
        .push(format!("{} rounds of {} s each, {RATE} requests a second", options.rounds, options.seconds));
    table.notes.extend(machine::describe(workspace).notes);
    let text = table.render();
    publish(workspace, options.is_written.then_some(DOCUMENT), &BTreeMap::from([("lag", text)]))
}

fn plan(authority: &str, seconds: u64) -> String {
    format!(
        "version = 1\nprecheck = false\n[targets.server]\nurl = \"http://{authority}\"\n[[scenarios]]\nname = \"ask\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"{RATE}/s\"\nduration = \"{seconds}s\"\n\
         [[scenarios.steps]]\nname = \"ask\"\nget = \"${{server.url}}/\"\n"
    )
}

fn measure(starter: &Starter, options: &Options, folder: &Path) -> Result<Lag> {
    let is_timer = starter.name == "timer loop";
    let mut command = CpuPlacement::GENERATOR.command(&starter.program);
    command.current_dir(folder);
    if is_timer {
        command.args(["--rate", &RATE.to_string(), "--seconds", &options.seconds.to_string()]);
    } else {
        command.args(["run", "lag.toml", "--quiet", "--force", "-o", "lag.plimsoll", "--json", "lag.json"]);
    }
    if starter.rounds.is_empty() {
        print_command(&command);
    }
    let output = output(command)?;
    if is_timer {
        return of_timer(&output);
    }
    let report = std::fs::read(folder.join("lag.json")).context("no lag.json was written")?;
    of_report(&serde_json::from_slice(&report).context("lag.json is not JSON")?)
}

fn output(mut command: Command) -> Result<String> {
    let output = command.output().context("cannot be started")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ended with {}: {}", output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The timer loop prints its lag as three numbers.
fn of_timer(output: &str) -> Result<Lag> {
    let numbers: Vec<f64> = output.split_whitespace().flat_map(str::parse).collect();
    let [p50_us, p99_us, max_us] = numbers[..] else {
        bail!("the timer loop printed no three numbers: {output}")
    };
    Ok(Lag { p50_us, p99_us, max_us })
}

fn of_report(report: &Value) -> Result<Lag> {
    let us = |name: &str| {
        let ms = report["generator"]["start_lag"][name].as_f64();
        ms.map(|ms| ms * 1e3).with_context(|| format!("the report has no start lag `{name}`"))
    };
    Ok(Lag { p50_us: us("p50_ms")?, p99_us: us("p99_ms")?, max_us: us("max_ms")? })
}

fn table(starters: &[Starter]) -> Table {
    let row = |one: &Starter| {
        let of = |figure: fn(&Lag) -> f64| median(one.rounds.iter().map(figure).collect());
        let pairs = starters[0].rounds.iter().zip(&one.rounds);
        let ratio = Spread::of(pairs.map(|(ours, theirs)| ours.p99_us / theirs.p99_us).collect());
        let is_ours = std::ptr::eq(one, &raw const starters[0]);
        vec![
            one.name.to_owned(),
            figure(Some(of(|lag| lag.p50_us)), 1),
            figure(Some(of(|lag| lag.p99_us)), 1),
            figure(Some(of(|lag| lag.max_us)), 0),
            if is_ours { "–".to_owned() } else { ratio.with_interval() },
        ]
    };
    Table {
        head: &["what starts", "p50 µs", "p99 µs", "max µs", "Plimsoll's p99 ÷ its p99 [interval]"],
        rows: starters.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_read_from_both_outputs() {
        assert_eq!(
            of_timer("6.5 20 300\n").expect("numbers"),
            Lag { p50_us: 6.5, p99_us: 20.0, max_us: 300.0 }
        );
        assert!(of_timer("6.5 20").is_err());
        let report =
            serde_json::json!({"generator": {"start_lag": {"p50_ms": 0.5, "p99_ms": 1, "max_ms": 2}}});
        let lag = of_report(&report).expect("a report");
        assert_eq!(lag, Lag { p50_us: 500.0, p99_us: 1_000.0, max_us: 2_000.0 });
        assert!(of_report(&serde_json::json!({})).is_err());
    }

    #[test]
    fn the_ratio_is_that_of_the_rounds() {
        let rounds = |p99: [f64; 3]| p99.map(|p99_us| Lag { p50_us: 1.0, p99_us, max_us: 9.0 }).to_vec();
        let starter = |name, p99| Starter { name, program: PathBuf::new(), rounds: rounds(p99) };
        let table = table(&[starter("plimsoll", [2.0, 6.0, 4.0]), starter("timer loop", [1.0, 2.0, 4.0])]);
        assert_eq!(table.rows[0][4], "–");
        assert_eq!(table.rows[1][2..], ["2.0", "9", "2.00"]);
    }
}
