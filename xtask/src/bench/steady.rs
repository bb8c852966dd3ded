//! The generator's memory over many minutes: errors, a million URLs, and everything recorded.
//!
//! The figures are from the run's own report: the plan asks for the extremes of the generator's resident memory in
//! each phase, and the archive holds the series they are taken from.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::engine::target::Target;
use super::options::number;
use super::table::{Table, count, figure};
use super::{Place, USAGE, machine, say, write_into};
use crate::child::Running;
use crate::steps;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";
const DEFAULT_MINUTES: u64 = 20;
const DEFAULT_RATE: u64 = 5_000;
const MOST_MINUTES: u64 = 120;
const MOST_RATE: u64 = 100_000;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    minutes: u64,
    rate: u64,
    is_written: bool,
}

/// Runs the load once and shows how far memory moved.
///
/// # Errors
/// When it cannot be carried out, or the report is not that of such a run.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--bins"]).args(workspace.profile());
    steps::run(build).context("cannot build the tool")?;
    let folder = workspace.scratch("bench-steady")?;
    let target = Target::start(&folder)?;
    let report = offer(workspace, (&options, &target), &folder)?;
    target.stop()?;
    let mut table = table(&report)?;
    table.notes = machine::describe(workspace, ("steady", arguments)).notes;
    let text = table.render();
    println!("\n{text}");
    if options.is_written {
        write_into(workspace, (DOCUMENT, &BTreeMap::from([("steady", text)])))?;
    }
    Ok(())
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options { minutes: DEFAULT_MINUTES, rate: DEFAULT_RATE, is_written: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value"));
        match word.as_str() {
            "--minutes" => options.minutes = number(value()?, "minutes", 2..=MOST_MINUTES)?,
            "--rate" => options.rate = number(value()?, "arrivals a second", 2..=MOST_RATE)?,
            "--write" => options.is_written = true,
            _ => bail!("unknown argument `{word}`; usage: cargo xtask bench {USAGE}"),
        }
    }
    Ok(options)
}

fn offer(workspace: &Workspace, (options, target): (&Options, &Target), folder: &Path) -> Result<Value> {
    std::fs::write(folder.join("steady.toml"), plan(options, &target.failing_authority()))
        .context("cannot write the plan")?;
    let mut command = Place::GENERATOR.command(&workspace.binary("plimsoll"));
    command.args(["run", "steady.toml", "--force", "-o", "steady.plimsoll", "--json", "steady.json"]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    say(&command);
    let status = Running::start("plimsoll", command)?.wait()?;
    ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll ended with {status}");
    let text = std::fs::read(folder.join("steady.json")).context("cannot read the report")?;
    serde_json::from_slice(&text).context("the report is no JSON")
}

/// The bounds cannot be missed: they are there so that the extremes are reported.
fn plan(options: &Options, authority: &str) -> String {
    let rest = options.minutes - 1;
    let rate = options.rate;
    format!(
        "version = 1\n[targets.server]\nurl = \"http://{authority}\"\n[[phases]]\nname = \"first\"\nduration = \"1m\"\n\
         [[phases]]\nname = \"rest\"\nduration = \"{rest}m\"\n[[scenarios]]\nname = \"ask\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\nmax_vus = 200\npreallocated_vus = 200\n\
         phases = [\"first\", \"rest\"]\n\
         [[scenarios.steps]]\nname = \"item\"\nget = \"${{server.url}}/item/${{random(1, 1000000)}}\"\n\
         [objectives]\nleast = \"min(rss, target = generator, phase = rest) > 1MB\"\n\
         most = \"max(rss, target = generator, phase = rest) < 10GB\"\n\
         mean = \"mean(rss, target = generator, phase = rest) < 10GB\"\n\
         first = \"max(rss, target = generator, phase = first) < 10GB\"\n"
    )
}

fn table(report: &Value) -> Result<Table> {
    let claims = report["claims"].as_array().context("the report has no claims")?;
    let megabytes = |name: &str| -> Result<f64> {
        let claim = claims.iter().find(|claim| claim["name"] == name);
        let observed = claim.and_then(|claim| claim["observed"]["value"].as_f64());
        observed.map(|bytes| bytes / 1e6).with_context(|| format!("the report has no figure for `{name}`"))
    };
    let (least, most, mean) = (megabytes("least")?, megabytes("most")?, megabytes("mean")?);
    let endpoint =
        report["endpoints"].as_array().and_then(|rows| rows.iter().find(|row| row["phase"] == "rest"));
    let endpoint = endpoint.context("the report has no row of the phase `rest`")?;
    let requests = endpoint["requests"].as_f64().context("the report counts no requests")?;
    let succeeded = endpoint["by_outcome"]["ok"].as_f64().unwrap_or_default();
    let row = vec![
        count(requests),
        figure(Some((1.0 - succeeded / requests) * 100.0), 2),
        figure(Some(megabytes("first")?), 2),
        figure(Some(least), 2),
        figure(Some(mean), 2),
        figure(Some(most), 2),
        figure(Some((most - least) / mean * 100.0), 1),
    ];
    let head = &[
        "requests after the first minute",
        "failed %",
        "first minute: most MB",
        "after it: least MB",
        "mean MB",
        "most MB",
        "most − least, % of the mean",
    ];
    Ok(Table { head, rows: vec![row], ..Table::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_rates_are_bounded() {
        let of = |words: &[&str]| options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).expect("the default"), Options { minutes: 20, rate: 5_000, is_written: false });
        assert_eq!(of(&["--minutes", "3"]).expect("a length").minutes, 3);
        for wrong in [&["--minutes", "1"][..], &["--rate", "x"], &["--rate"], &["--fast"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn how_far_memory_moved_is_told_of_the_mean() {
        let claim =
            |name: &str, bytes: f64| serde_json::json!({ "name": name, "observed": { "value": bytes } });
        let report = serde_json::json!({
            "claims": [claim("least", 19e6), claim("most", 21e6), claim("mean", 20e6), claim("first", 18e6)],
            "endpoints": [{ "phase": "rest", "requests": 1000, "by_outcome": { "ok": 950 } }],
        });
        let table = table(&report).expect("it is such a report");
        assert_eq!(table.rows, [["1,000", "5.00", "18.00", "19.00", "20.00", "21.00", "10.0"]]);
    }
}
