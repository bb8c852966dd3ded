//! A server that stands still for 1 s in every 10: what response time shows and service time hides.
//!
//! The same target is asked twice, each time fresh: by 1,000 arrivals a second on schedule, and by ten users
//! who ask again 9 ms after they have been answered, hence as often while nothing stands still. Then the generators of
//! others that are installed ask it, as they are usually told to. Beside the figures stands what the target itself
//! says, and what users would have waited.

mod others;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use self::others::Other;
use super::options::number;
use super::table::{Table, figure};
use super::{USAGE, machine, say, write_into};
use crate::child::Running;
use crate::steps;
use crate::workspace::Workspace;

const DEFAULT_SECONDS: u64 = 30;
const MOST_SECONDS: u64 = 600;
/// How long a target outlives the load: long enough for the last freeze.
const AFTERWARDS_SECONDS: u64 = 8;

/// One way to ask the target.
struct Arm {
    name: &'static str,
    /// What the plan says of its scenario.
    shape: &'static str,
    /// What the plan says of its step, besides what is asked.
    pause: &'static str,
}

const ARMS: [Arm; 2] = [
    Arm {
        name: "open",
        shape: "executor = \"constant-arrival-rate\"\nrate = \"1000/s\"\nmax_vus = 3000\n",
        pause: "",
    },
    Arm { name: "closed", shape: "executor = \"constant-vus\"\nvus = 10\n", pause: "think = \"9ms\"\n" },
];

/// What is known of a way to ask: how many requests, and quantiles of what it reports, in milliseconds.
struct Reported {
    name: String,
    count: Option<f64>,
    /// The 50th, 95th and 99th percentile and the longest.
    times_ms: [Option<f64>; 4],
}

impl Reported {
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.name.clone(), figure(self.count, 0)];
        cells.extend(self.times_ms.iter().map(|time| figure(*time, 1)));
        cells
    }
}

const DOCUMENT: &str = "docs/benchmarks.md";

/// Measures all ways to ask and prints them side by side.
///
/// # Errors
/// When a program cannot be built or started, or its report cannot be read.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Options { seconds, is_written } = options(arguments)?;
    let mut build = workspace.cargo();
    build
        .args(["build", "--package", "plimsoll", "--package", "testbed", "--bins"])
        .args(workspace.profile());
    steps::run(build).context("cannot build the tool and the target")?;
    let folder = workspace.scratch("bench-stall")?;
    let mut rows = vec![truth()];
    for arm in &ARMS {
        rows.extend(measure(workspace, (arm, seconds), &folder)?);
    }
    let (present, missing): (Vec<_>, Vec<_>) = Other::ALL.iter().partition(|other| other.is_there());
    for other in present {
        let (addr, target) = freeze(workspace, seconds)?;
        rows.push(other.ask((&addr, seconds), &folder)?);
        tell(other.name, target)?;
    }
    let mut notes = machine::describe(workspace, ("stall", arguments)).notes;
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|other| other.name).collect();
        notes.push(format!("not installed, hence not asked: {}", names.join(", ")));
    }
    let head = &["who reports", "requests", "p50 ms", "p95 ms", "p99 ms", "max ms"];
    let rows = rows.iter().map(Reported::cells).collect();
    let text = Table { head, rows, notes, ..Table::default() }.render();
    println!("\n{text}");
    if is_written {
        write_into(workspace, (DOCUMENT, &BTreeMap::from([("stall", text)])))?;
    }
    Ok(())
}

/// What somebody waits who comes at any instant: nine in ten the 1 ms of an answer, one in ten what is left of the
/// freeze, which is spread evenly from nothing to a second. So half of those one in ten wait longer than 0.5 s, which
/// makes the 95th percentile, and a tenth of them longer than 0.9 s.
fn truth() -> Reported {
    let times_ms = [1.0, 501.0, 901.0, 1001.0].map(Some);
    Reported { name: "the truth, of users who come whenever they like".to_owned(), count: None, times_ms }
}

struct Options {
    seconds: u64,
    is_written: bool,
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options { seconds: DEFAULT_SECONDS, is_written: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--write" => options.is_written = true,
            "--seconds" => {
                let value = words.next().context("--seconds wants a value")?;
                options.seconds = number(value, "seconds", 1..=MOST_SECONDS)?;
            }
            _ => bail!("usage: cargo xtask bench {USAGE}"),
        }
    }
    Ok(options)
}

/// A fresh target that freezes, and where it listens.
fn freeze(workspace: &Workspace, seconds: u64) -> Result<(String, (Running, BufReader<ChildStdout>))> {
    let life = format!("{}s", seconds + AFTERWARDS_SECONDS);
    let mut command = Command::new(workspace.binary("testbed"));
    command.args(["http", "--delay", "1ms", "--freeze", "1s/10s", "--for", &life]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    say(&command);
    let mut target = Running::start("the target", command)?;
    let mut said = BufReader::new(target.child().stdout.take().context("its output was asked for")?);
    let addr = first_line(&mut said)?;
    Ok((addr, (target, said)))
}

/// Waits for the target, which ends by itself, and shows what it saw.
fn tell(name: &str, (target, mut said): (Running, BufReader<ChildStdout>)) -> Result<()> {
    target.wait()?;
    let mut own = String::new();
    said.read_to_string(&mut own).context("cannot read what the target says")?;
    println!("the target ({name}): {}", own.trim());
    Ok(())
}

/// Asks a fresh target in one way; yields the lines of the table.
fn measure(workspace: &Workspace, (arm, seconds): (&Arm, u64), folder: &Path) -> Result<[Reported; 2]> {
    let (addr, target) = freeze(workspace, seconds)?;
    let report = offer(workspace, (arm, &plan(arm, (&addr, seconds))), folder)?;
    tell(arm.name, target)?;
    let row = report["endpoints"]
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["endpoint"] == "ask"))
        .context("the report has no row of the endpoint")?;
    let reported = |time: &str, field: &str| {
        let times = &row[field];
        let figure = |name: &str| times[name].as_f64();
        Reported {
            name: format!("Plimsoll, {} model, {time}", arm.name),
            count: times["count"].as_f64(),
            times_ms: ["p50_ms", "p95_ms", "p99_ms", "max_ms"].map(figure),
        }
    };
    Ok([reported("response time", "response_time"), reported("service time", "service_time")])
}

fn offer(workspace: &Workspace, (arm, plan): (&Arm, &str), folder: &Path) -> Result<Value> {
    let file = |kind: &str| folder.join(format!("{}.{kind}", arm.name));
    std::fs::write(file("toml"), plan).context("cannot write the plan")?;
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.arg("run").arg(file("toml")).arg("--quiet").arg("-o").arg(file("plimsoll"));
    command.arg("--json").arg(file("json")).stdin(Stdio::null());
    say(&command);
    let status = Running::start("plimsoll", command)?.wait()?;
    ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll ended with {status}");
    let text = std::fs::read(file("json")).context("cannot read the report")?;
    serde_json::from_slice(&text).context("the report is no JSON")
}

fn plan(Arm { name, shape, pause }: &Arm, (addr, seconds): (&str, u64)) -> String {
    format!(
        "version = 1\n[targets.server]\nurl = \"http://{addr}\"\n[[phases]]\nname = \"load\"\n\
         duration = \"{seconds}s\"\n[[scenarios]]\nname = \"{name}\"\nphases = [\"load\"]\n{shape}\
         [[scenarios.steps]]\nname = \"ask\"\nget = \"${{server.url}}/\"\n{pause}"
    )
}

fn first_line(said: &mut BufReader<ChildStdout>) -> Result<String> {
    let mut line = String::new();
    said.read_line(&mut line).context("cannot read the target's address")?;
    let line = line.trim();
    ensure!(!line.is_empty(), "the target ended before it listened");
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_are_missing_are_not_zero() {
        let times_ms = [Some(1.25), Some(500.0), None, Some(1000.0)];
        let row = Reported { name: "open".to_owned(), count: Some(30.0), times_ms };
        assert_eq!(row.cells(), ["open", "30", "1.2", "500.0", "–", "1000.0"]);
    }

    #[test]
    fn lengths_are_bounded() {
        let of = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            options(&words).map(|options| (options.seconds, options.is_written))
        };
        assert_eq!(of(&[]).expect("the default"), (30, false));
        assert_eq!(of(&["--seconds", "10", "--write"]).expect("a length"), (10, true));
        for wrong in [&["--seconds", "0"][..], &["--seconds", "x"], &["--seconds"], &["--fast", "1"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_the_closed_model_thinks() {
        let [open, closed] = &ARMS;
        assert!(!plan(open, ("127.0.0.1:1", 5)).contains("think"));
        assert!(plan(closed, ("127.0.0.1:1", 5)).ends_with("get = \"${server.url}/\"\nthink = \"9ms\"\n"));
    }
}
