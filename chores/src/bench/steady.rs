//! The generator's memory over many minutes: errors, a million URLs, and everything recorded.
//!
//! The figures are from the run file: the series of the generator's resident memory and the outcomes, queried with
//! `sqlite3` as any reader of the file would.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::engine::target::Target;
use super::table::{Table, count, figure};
use super::{CpuPlacement, build, machine, print_command, publish};
use crate::steps;
use xtask::child::Running;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";
const ARCHIVE: &str = "steady.plimsoll";

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The length of the run
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..=120))]
    minutes: u64,
    /// Arrivals a second
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    rate: u64,
    /// Put the tables into docs/benchmarks.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Runs the load once and shows how far memory moved.
///
/// # Errors
/// When it cannot be carried out, or the report is not that of such a run.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    build(workspace, &["plimsoll"])?;
    let folder = workspace.scratch("bench-steady")?;
    let target = Target::start(&folder)?;
    offer(workspace, options, &target, &folder)?;
    let mut table = table(&query(&folder)?)?;
    table.notes = machine::describe(workspace).notes;
    let text = table.render();
    publish(workspace, options.is_written.then_some(DOCUMENT), &BTreeMap::from([("steady", text)]))
}

fn offer(workspace: &Workspace, options: &Options, target: &Target, folder: &Path) -> Result<()> {
    std::fs::write(folder.join("steady.toml"), plan(options, &target.failing_authority()))
        .context("cannot write the plan")?;
    let mut command = CpuPlacement::GENERATOR.command(&workspace.binary("plimsoll"));
    command.args(["run", "steady.toml", "--force", "-o", ARCHIVE]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    print_command(&command);
    let status = Running::start("plimsoll", command)?.wait()?;
    ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll ended with {status}");
    Ok(())
}

/// One phase for the whole run: every key that the run needs exists in its first seconds.
fn plan(options: &Options, authority: &str) -> String {
    let (minutes, rate) = (options.minutes, options.rate);
    format!(
        "version = 1\nprecheck = false\n[targets.server]\nurl = \"http://{authority}\"\n\
         [[phases]]\nname = \"all\"\nduration = \"{minutes}m\"\n[[scenarios]]\nname = \"ask\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\nmax_vus = 200\npreallocated_vus = 200\n\
         [[scenarios.steps]]\nname = \"item\"\nget = \"${{server.url}}/item/${{random(1, 1000000)}}\"\n"
    )
}

/// Responses, those that failed, the share of arrivals that were started; minimum, mean and maximum of resident memory in
/// bytes.
const QUERY: &str = "\
    WITH rss AS (SELECT value FROM samples JOIN series USING (series) \
        WHERE name = 'rss' AND target = 'generator' AND at_ns >= 60e9), \
    answers AS (SELECT count, outcome FROM histograms JOIN keys USING (key) \
        WHERE metric = 'response_time' AND second >= 60), \
    arrivals AS (SELECT metric, sum(value) AS n FROM counts JOIN keys USING (key) WHERE second >= 60 GROUP BY metric) \
    SELECT (SELECT sum(count) FROM answers) AS answers, \
        (SELECT sum(count) FROM answers WHERE outcome <> 'ok') AS failures, \
        (SELECT n FROM arrivals WHERE metric = 'started') * 1.0 \
            / (SELECT n FROM arrivals WHERE metric = 'scheduled') AS started, \
        (SELECT min(value) FROM rss) AS least, (SELECT avg(value) FROM rss) AS mean, \
        (SELECT max(value) FROM rss) AS most";

fn query(folder: &Path) -> Result<Value> {
    let mut sqlite = Command::new("sqlite3");
    sqlite.current_dir(folder).args(["-json", "-readonly", ARCHIVE, QUERY]);
    let rows: Value =
        serde_json::from_str(&steps::printed(&mut sqlite)?).context("sqlite3 printed no JSON")?;
    rows.get(0).cloned().context("sqlite3 printed no row")
}

fn table(row: &Value) -> Result<Table> {
    let number = |name: &str| row[name].as_f64().with_context(|| format!("the run file has no `{name}`"));
    let (least, mean, most) = (number("least")? / 1e6, number("mean")? / 1e6, number("most")? / 1e6);
    let answers = number("answers")?;
    let row = vec![
        count(answers),
        figure(Some(number("failures")? / answers * 100.0), 2),
        figure(Some(number("started")? * 100.0), 2),
        figure(Some(least), 2),
        figure(Some(mean), 2),
        figure(Some(most), 2),
        figure(Some((most - least) / mean * 100.0), 1),
    ];
    let head = &[
        "answers after the first minute",
        "failed %",
        "arrivals started %",
        "least MB",
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
    fn the_range_of_memory_is_a_percentage_of_its_mean() {
        let mut row = serde_json::json!({
            "answers": 1000, "failures": 50, "started": 1.0, "least": 19e6, "mean": 20e6, "most": 21e6,
        });
        let table_of_row = table(&row).expect("it is such a row");
        assert_eq!(table_of_row.rows, [["1,000", "5.00", "100.00", "19.00", "20.00", "21.00", "10.0"]]);
        row["most"] = Value::Null;
        assert!(table(&row).is_err(), "a run without the series");
    }
}
