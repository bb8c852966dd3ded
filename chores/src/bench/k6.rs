//! Scripts in Plimsoll and in k6: the CPU time of an iteration, and the memory of a virtual user.
//!
//! Both run the same script against the same nginx, one after the other, round after round. Measured is the processor time of the
//! whole process from its start to its end, archive, judgement and summary included. A run in which a check failed is an error.

mod runs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::builder::PossibleValuesParser;

use self::runs::{ScriptRun, ScriptRunner};
use super::engine::measured::Measured;
use super::engine::ratio::Spread;
use super::engine::target::{Protocol, Target};
use super::options::{is_selected, program};
use super::table::{Table, count, figure};
use super::{build, find_program, machine, publish};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/k6-benchmarks.md";
/// Virtual users of the comparisons of CPU time.
const USERS: u32 = 64;
/// How many virtual users are compared by their memory.
const POPULATIONS: [u32; 3] = [100, 1_000, 5_000];
/// How many Plimsoll runs alone: nearly as many connections as files may be open on most machines.
const MOST_USERS: u32 = 19_000;
/// For how long their memory is watched: each begins an iteration every ten seconds.
const POPULATION_SECONDS: u64 = 12;

/// A script, and where it sends its requests.
struct Compared {
    name: &'static str,
    script: &'static str,
    does: &'static str,
    target: fn(&Target) -> String,
}

const COMPARED: [Compared; 3] = [
    Compared {
        name: "get",
        script: include_str!("k6/get.js"),
        does: "one `http.get`, one check",
        target: |target| target.authority(Protocol::Http1),
    },
    Compared {
        name: "post",
        script: include_str!("k6/post.js"),
        does: "`http.post` of JSON made for each iteration, the response parsed, three checks, a Trend",
        target: Target::json_authority,
    },
    Compared {
        name: "grpc",
        script: include_str!("k6/grpc.js"),
        does: "one `client.invoke`, one check",
        target: |target| target.authority(Protocol::Grpc),
    },
];

const POPULATION: Compared = Compared {
    name: "users",
    script: include_str!("k6/users.js"),
    does: "",
    target: |target| target.authority(Protocol::Http1),
};

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// These comparisons only
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(COMPARED.iter().chain([&POPULATION]).map(|one| one.name)))]
    only: Vec<String>,
    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// How long each offers load in each round
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// k6's program, where it is not on the search path
    #[arg(long, value_name = "PROGRAM", value_parser = program)]
    k6: Option<PathBuf>,
    /// Put the tables into docs/k6-benchmarks.md
    #[arg(long = "write")]
    is_written: bool,
}

/// What every comparison needs.
struct Bench<'a> {
    options: &'a Options,
    target: &'a Target,
    folder: &'a Path,
    runners: [ScriptRunner; 2],
}

/// Makes the selected comparisons and prints them as Markdown.
///
/// # Errors
/// When nginx or k6 is missing, or a run fails.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let k6 = options.k6.clone().or_else(|| find_program("k6")).context(
        "k6 is not installed; name its program by --k6 (`go install go.k6.io/k6@v1.8.1` builds it)",
    )?;
    build(workspace, &["plimsoll"])?;
    let folder = workspace.scratch("bench-k6")?;
    let target = Target::start(&folder)?;
    let runners = [ScriptRunner::Plimsoll(workspace.binary("plimsoll")), ScriptRunner::K6(k6)];
    let mut conditions = machine::describe(workspace);
    conditions.notes.push(format!("k6: {}", runners[1].version()?));
    let mut texts = BTreeMap::from([("machine", conditions.render())]);
    let bench = Bench { options, target: &target, folder: &folder, runners };
    for compared in COMPARED.iter().filter(|one| is_selected(&options.only, one.name)) {
        let table = steps::step(compared.name, || bench.compare(compared))?;
        texts.insert(compared.name, table.render());
    }
    if is_selected(&options.only, POPULATION.name) {
        texts.insert(POPULATION.name, steps::step(POPULATION.name, || bench.memory())?.render());
    }
    publish(workspace, options.is_written.then_some(DOCUMENT), &texts)
}

impl Bench<'_> {
    /// CPU time of both, in every round, the one first that was last in the round before.
    fn compare(&self, compared: &Compared) -> Result<Table> {
        let mut measured: [Vec<Measured>; 2] = Default::default();
        let seconds = self.options.seconds;
        let load = [format!("--vus={USERS}"), format!("--duration={seconds}s")];
        for round in 0..self.options.rounds {
            for step in 0..2 {
                let index = (round as usize + step) % 2;
                let run = self.script_run(compared, &load, seconds);
                measured[index].push(self.runners[index].run(&run, round == 0)?);
            }
        }
        let [ours, theirs] = &measured;
        let pairs = ours.iter().zip(theirs);
        let times = Spread::of(pairs.map(|(ours, theirs)| per_cpu_s(ours) / per_cpu_s(theirs)).collect());
        let row = |runner: &ScriptRunner, runs: &Vec<Measured>, times: String| {
            let cpu_us = Spread::of(runs.iter().map(|run| 1e6 / per_cpu_s(run)).collect());
            vec![
                runner.name().to_owned(),
                count(1e6 / cpu_us.median),
                format!("{:.1} ({:.1}–{:.1})", cpu_us.median, cpu_us.least, cpu_us.most),
                times,
            ]
        };
        Ok(Table {
            head: &[
                "tool",
                "iterations per CPU-second",
                "CPU µs an iteration: median (min–max)",
                "times as many as k6 [interval]",
            ],
            rows: vec![
                row(&self.runners[0], ours, times.with_interval()),
                row(&self.runners[1], theirs, "–".to_owned()),
            ],
            notes: vec![format!(
                "{}; {USERS} virtual users, {} rounds of {seconds} s each",
                compared.does, self.options.rounds
            )],
            ..Table::default()
        })
    }

    /// Peak resident memory by the number of virtual users.
    fn memory(&self) -> Result<Table> {
        let mut rows = Vec::new();
        for users in POPULATIONS.into_iter().chain([MOST_USERS]) {
            let load = [format!("--env=USERS={users}"), format!("--env=SECONDS={POPULATION_SECONDS}")];
            let run = self.script_run(&POPULATION, &load, POPULATION_SECONDS);
            let both = self.runners.iter().filter(|one| users < MOST_USERS || one.is_ours());
            let megabytes: Vec<Option<f64>> =
                both.map(|runner| Ok(Some(runner.run(&run, true)?.resident_mb))).collect::<Result<_>>()?;
            let each = |mb: Option<f64>| figure(mb.map(|mb| mb * 1e3 / f64::from(users)), 0);
            let (ours, theirs) = (megabytes[0], megabytes.get(1).copied().flatten());
            rows.push(vec![
                count(users.into()),
                figure(ours, 0),
                each(ours),
                figure(theirs, 0),
                each(theirs),
            ]);
        }
        Ok(Table {
            head: &["virtual users", "Plimsoll MB", "kB each", "k6 MB", "kB each"],
            rows,
            notes: vec![
                "peak resident memory of the whole process, in units of 1,000 bytes; 5 in 100 virtual users have an iteration \
                 under way"
                    .to_owned(),
            ],
            ..Table::default()
        })
    }

    fn script_run<'b>(&'b self, compared: &'b Compared, load: &'b [String], seconds: u64) -> ScriptRun<'b> {
        ScriptRun {
            script: compared.script,
            target: (compared.target)(self.target),
            load,
            seconds,
            folder: self.folder,
        }
    }
}

/// Iterations per second of processor time.
fn per_cpu_s(measured: &Measured) -> f64 {
    measured.requests as f64 / measured.cpu_s
}

/// What is wrong with the checks of a summary, which is the same in both tools.
fn ensure_checked(summary: &serde_json::Value) -> Result<()> {
    let checks = &summary["metrics"]["checks"];
    let (passes, fails) = (checks["passes"].as_u64(), checks["fails"].as_u64());
    ensure!(passes > Some(0) && fails == Some(0), "checks failed: {checks}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_whose_checks_failed_is_no_measurement() {
        let summary = |passes: u64, fails: u64| json!({ "metrics": { "checks": { "passes": passes, "fails": fails } } });
        assert!(ensure_checked(&summary(9, 0)).is_ok());
        for wrong in [summary(9, 1), summary(0, 0), json!({})] {
            assert!(ensure_checked(&wrong).is_err(), "{wrong}");
        }
    }
}
