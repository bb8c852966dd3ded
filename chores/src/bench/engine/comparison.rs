//! One comparison: all tools that can offer its load, in every round, in an order that rotates by one from round to
//! round.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::Options;
use super::Rounds;
use super::measured::Measured;
use super::ratio::{Spread, median};
use super::target::Target;
use super::tool::{Tool, ToolLoad, ToolRun};
use crate::bench::table::{Table, count, figure};
use xtask::workspace::Workspace;

/// A load that all tools offer, and how often.
pub(super) struct Comparison {
    pub(super) name: &'static str,
    pub(super) load: ToolLoad,
    pub(super) rounds: Rounds,
}

/// What every comparison needs.
pub(super) struct EngineBench<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) options: &'a Options,
    pub(super) target: &'a Target,
    pub(super) folder: &'a Path,
}

/// The runs of one tool, round by round.
struct ToolRuns {
    tool: Tool,
    rounds: Vec<Measured>,
}

impl ToolRuns {
    fn spread(&self, of: impl Fn(&Measured) -> f64) -> Spread {
        Spread::of(self.rounds.iter().map(of).collect())
    }
}

impl Measured {
    /// Microseconds of processor time for a request, which are CPU-seconds for a million.
    fn cpu_us(&self) -> f64 {
        self.cpu_s * 1e6 / self.requests.max(1) as f64
    }
}

impl Comparison {
    /// For how long each tool offers load in each round.
    fn seconds(&self, options: &Options) -> u64 {
        let think_s = self.load.think_s;
        if think_s == 0 { options.seconds } else { 3 * think_s + think_s / 2 }
    }

    /// Runs all rounds and makes a table of them.
    ///
    /// # Errors
    /// When a tool fails.
    pub(super) fn run(&self, bench: &EngineBench<'_>, tools: &[Tool]) -> Result<Table> {
        let EngineBench { workspace, options, folder, .. } = *bench;
        let mut runs: Vec<ToolRuns> =
            tools.iter().map(|&tool| ToolRuns { tool, rounds: Vec::new() }).collect();
        let authority = bench.target.authority(self.load.protocol);
        for round in 0..options.rounds(self.rounds) {
            for step in 0..runs.len() {
                let index = (round as usize + step) % runs.len();
                let run = ToolRun {
                    workspace,
                    load: &self.load,
                    authority: &authority,
                    seconds: self.seconds(options),
                    folder,
                    baseline: options.baseline.as_deref(),
                    is_first: round == 0,
                };
                let tool = runs[index].tool;
                let measured = tool.run(&run).with_context(|| tool.name().to_owned())?;
                runs[index].rounds.push(measured);
            }
        }
        let is_about_memory = self.load.think_s > 0;
        Ok(if is_about_memory { self.memory_table(&runs, options) } else { self.table(&runs, options) })
    }

    fn table(&self, runs: &[ToolRuns], options: &Options) -> Table {
        let ours = runs.iter().find(|one| one.tool == Tool::Plimsoll);
        let row = |one: &ToolRuns| {
            let rate =
                median(one.rounds.iter().map(|r| r.requests as f64 / options.seconds as f64).collect());
            let cpu = one.spread(Measured::cpu_us);
            let memory = one.spread(|round| round.resident_mb);
            let ratio = ours.map(|ours| {
                let pairs = ours.rounds.iter().zip(&one.rounds);
                Spread::of(pairs.map(|(ours, theirs)| ours.cpu_us() / theirs.cpu_us()).collect())
            });
            let ratio = ratio.filter(|_| one.tool != Tool::Plimsoll);
            vec![
                one.tool.name().to_owned(),
                count(rate),
                format!("{:.2} ({:.2}–{:.2})", cpu.median, cpu.least, cpu.most),
                count(1e6 / cpu.median),
                figure(Some(memory.most), 0),
                ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.with_interval()),
            ]
        };
        let (rounds, seconds) = (options.rounds(self.rounds), self.seconds(options));
        Table {
            title: String::new(),
            head: &[
                "generator",
                "requests/s",
                "CPU-s per million requests: median (min–max)",
                "requests per CPU-s",
                "resident MB",
                "Plimsoll's CPU ÷ its CPU [interval]",
            ],
            rows: runs.iter().map(row).collect(),
            notes: vec![format!("{rounds} rounds of {seconds} s each, one generator after the other")],
        }
    }

    /// Memory and processor time of users that mostly think.
    fn memory_table(&self, runs: &[ToolRuns], options: &Options) -> Table {
        let users = f64::from(self.load.users());
        let row = |one: &ToolRuns| {
            let memory = one.spread(|round| round.resident_mb);
            let requests = median(one.rounds.iter().map(|round| round.requests as f64).collect());
            vec![
                one.tool.name().to_owned(),
                count(users),
                count(requests),
                figure(Some(one.spread(|round| round.cpu_s).median), 2),
                figure(Some(memory.most), 1),
                figure(Some(memory.most * 1e3 / users), 1),
            ]
        };
        let (rounds, seconds) = (options.rounds(self.rounds), self.seconds(options));
        Table {
            title: String::new(),
            head: &["generator", "users", "requests", "CPU-s", "resident MB", "kB a user"],
            rows: runs.iter().map(row).collect(),
            notes: vec![format!(
                "{rounds} rounds of {seconds} s each; users think for {} s",
                self.load.think_s
            )],
        }
    }
}
