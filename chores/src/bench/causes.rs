//! How often a diagnosis names what limits servers that others wrote: nginx, HAProxy, Redis, Node.js, Java, Python and Go, each started with a limit that is
//! known, under a load that is drawn from a seed. Results are kept case by case, so that it goes on where it was stopped.

mod draw;
mod live;
mod matrix;
mod outcome;
mod planted;
mod server;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use self::live::Bench;
use self::outcome::Outcome;
use self::planted::Catalogue;
use super::table::Table;
use super::{build, machine, publish};
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/diagnosis.md";

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The text from which the cases are drawn
    #[arg(long, default_value = "practice")]
    seed: String,
    /// How many cases there are in the end
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    cases: u64,
    /// The file of results, a case a line; cases that it has are not carried out again
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Only cases of services or causes that contain this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Use the `plimsoll` that is built
    #[arg(long = "built")]
    is_built: bool,
    /// Put the tables into docs/diagnosis.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Carries out the cases that are missing, and counts all.
///
/// # Errors
/// When a program cannot be installed, or the results cannot be kept.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let digest = hex::encode(draw::digest(&options.seed));
    println!("seed: SHA-256 {digest}");
    if !options.is_built {
        build(workspace, &["plimsoll"])?;
    }
    let catalogue = Catalogue::read()?;
    let programs = workspace.kept("causes")?;
    for (name, install) in &catalogue.programs {
        server::run(install, &programs).with_context(|| format!("cannot install {name}"))?;
    }
    let folder = workspace.scratch("bench-causes")?.join("case");
    let bench = Bench { workspace, programs: &programs, folder: &folder };
    let path = options.results.clone().unwrap_or_else(|| programs.join(format!("{}.jsonl", &digest[..8])));
    let mut outcomes = read(&path)?;
    for number in 0..usize::try_from(options.cases)? {
        let case = draw::case(&catalogue.planted, &options.seed, number);
        let name = format!("{} {}", case.planted.service, case.planted.cause);
        let is_wanted = options.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        if !is_wanted || outcomes.iter().any(|outcome| outcome.number == number) {
            continue;
        }
        println!("==> case {number}: {name}, severity {}, {}", case.severity, case.shape.name());
        match bench.carry_out(&case) {
            Ok(outcome) => {
                println!(
                    "    {:?} after {} s: {}",
                    outcome.named(outcome::Rule::Ledger),
                    outcome.seconds,
                    outcome.because
                );
                keep(&path, &outcome)?;
                outcomes.push(outcome);
            }
            // It is tried again the next time.
            Err(error) => println!("    not carried out: {error:#}"),
        }
    }
    let mut tables = matrix::tables(&outcomes);
    if let Some(last) = tables.last_mut() {
        last.notes.push(format!("seed: SHA-256 `{digest}`; {} of {} cases", outcomes.len(), options.cases));
        last.notes.extend(machine::describe(workspace).notes);
    }
    let text: String = tables.iter().map(Table::render).collect();
    publish(workspace, options.is_written.then_some(DOCUMENT), &BTreeMap::from([("causes", text)]))
}

fn read(path: &Path) -> Result<Vec<Outcome>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let outcome = |line: &str| serde_json::from_str(line).with_context(|| format!("no result: {line}"));
    text.lines().map(outcome).collect()
}

fn keep(path: &Path, outcome: &Outcome) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(cannot)?;
    let line = serde_json::to_string(outcome).context("a result has no JSON")?;
    writeln!(file, "{line}").with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_every_planted_cause_once_a_round_and_the_same_each_time() {
        let Catalogue { planted, .. } = Catalogue::read().expect("it is valid");
        let drawn = |seed: &str| -> Vec<_> {
            let case = |number| {
                let case = draw::case(&planted, seed, number);
                (case.planted.service.clone(), case.planted.cause.clone(), case.severity, case.shape.name())
            };
            (0..planted.len()).map(case).collect()
        };
        assert_eq!(drawn("a"), drawn("a"));
        assert_ne!(drawn("a"), drawn("b"));
        let mut kinds: Vec<_> = drawn("a").into_iter().map(|(service, cause, ..)| (service, cause)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), planted.len());
    }

    #[test]
    fn results_are_read_as_they_were_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        assert_eq!(read(&path).expect("none yet"), []);
        let Catalogue { planted, .. } = Catalogue::read().expect("it is valid");
        let outcome = outcome::of(&draw::case(&planted, "a", 3), &serde_json::json!({}), 7);
        keep(&path, &outcome).expect("it is written");
        assert_eq!(read(&path).expect("it is read"), [outcome]);
        fs::write(&path, "{}\n").expect("written");
        assert!(read(&path).is_err());
    }
}
