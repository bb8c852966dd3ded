//! A server that stands still for 1 s in every 10: what response time shows and service time hides.
//!
//! The same target is asked twice, each time fresh: by 1,000 arrivals a second on schedule, and by ten users
//! who ask again 9 ms after they have been answered, hence as often while nothing stands still. Beside the
//! figures stands what the target itself says.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{USAGE, say};
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

/// Measures both arms and prints them side by side.
///
/// # Errors
/// When a program cannot be built or started, or its report cannot be read.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let seconds = seconds(arguments)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "testbed", "--bins"]);
    steps::run(build).context("cannot build the tool and the target")?;
    let folder = workspace.scratch("bench-stall")?;
    let mut lines = Vec::new();
    for arm in &ARMS {
        lines.extend(measure(workspace, (arm, seconds), &folder)?);
    }
    println!("\n{:<22}{:>10}{:>10}{:>10}{:>10}{:>10}", "ms", "count", "p50", "p95", "p99", "max");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn seconds(arguments: &[String]) -> Result<u64> {
    let seconds = match arguments {
        [] => DEFAULT_SECONDS,
        [flag, number] if flag == "--seconds" => {
            number.parse().with_context(|| format!("`{number}` is no number of seconds"))?
        }
        _ => bail!("usage: cargo xtask bench {USAGE}"),
    };
    ensure!((1..=MOST_SECONDS).contains(&seconds), "take 1 to {MOST_SECONDS} seconds");
    Ok(seconds)
}

/// Asks a fresh target in one way; yields the lines of the table.
fn measure(workspace: &Workspace, (arm, seconds): (&Arm, u64), folder: &Path) -> Result<Vec<String>> {
    let life = format!("{}s", seconds + AFTERWARDS_SECONDS);
    let mut command = Command::new(workspace.binary("testbed"));
    command.args(["http", "--delay", "1ms", "--freeze", "1s/10s", "--for", &life]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    say(&command);
    let mut target = Running::start("the target", command)?;
    let mut said = BufReader::new(target.child().stdout.take().context("its output was asked for")?);
    let addr = first_line(&mut said)?;
    let report = offer(workspace, (arm, &plan(arm, (&addr, seconds))), folder)?;
    // It ends by itself and then tells what it saw.
    target.wait()?;
    let mut own = String::new();
    said.read_to_string(&mut own).context("cannot read what the target says")?;
    println!("the target ({}): {}", arm.name, own.trim());
    let row = report["endpoints"]
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["endpoint"] == "ask"))
        .context("the report has no row of the endpoint")?;
    let line = |label: &str, field: &str| table_line(&format!("{} {label}", arm.name), &row[field]);
    Ok(vec![line("response time", "response_time"), line("service time", "service_time")])
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

fn table_line(label: &str, times: &Value) -> String {
    let figure = |name: &str| match times[name].as_f64() {
        Some(ms) => format!("{ms:>10.1}"),
        None => format!("{:>10}", "-"),
    };
    let count = times["count"].as_u64().unwrap_or(0);
    let [p50, p95, p99, max] = ["p50_ms", "p95_ms", "p99_ms", "max_ms"].map(figure);
    format!("{label:<22}{count:>10}{p50}{p95}{p99}{max}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_are_missing_are_not_zero() {
        let times = serde_json::json!({ "count": 30, "p50_ms": 1.25, "p95_ms": 500.0, "p99_ms": null, "max_ms": 1000.0 });
        let line = table_line("open response time", &times);
        assert_eq!(line, "open response time            30       1.2     500.0         -    1000.0");
    }

    #[test]
    fn lengths_are_bounded() {
        let of = |words: &[&str]| seconds(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).expect("the default"), 30);
        assert_eq!(of(&["--seconds", "10"]).expect("a length"), 10);
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
