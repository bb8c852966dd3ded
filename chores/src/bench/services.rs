//! The services under plans of `examples/`: how much one CPU-second of each does, by reports of Plimsoll.
//!
//! The service has one processor and the generator the other. Every plan can be run by hand as well; the highest load
//! that a service sustains, and what it does beyond it, is what `plimsoll capacity` finds. No speed is asserted.
//! Start reading at [`BENCHES`].

mod bench;
mod stores;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

use self::bench::{Bench, Plan};
use self::stores::StoreKind;
use super::options::{Selection, number};
use super::table::Table;
use super::{USAGE, machine, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/service-benchmarks.md";
/// Plans are written for this long a measurement; other lengths scale them.
const PLANNED_SECONDS: u64 = 10;
const MOST_SECONDS: u64 = 120;

const CHALLENGE: [Plan; 9] = [
    Plan::preparation("prepare"),
    Plan::preparation("achieve"),
    Plan::of("claim"),
    Plan::of("list-flat-out").required(7_300.0),
    Plan::of("initialize-returning-flat-out").required(22_000.0),
    Plan::of("events-flat-out").required(15_000.0),
    Plan::of("mix"),
    Plan::of("set-active-flat-out"),
    Plan::of("initialize-new-flat-out").required(10_000.0),
];
const LISTINGS: [Plan; 2] =
    [Plan::of("stats-flat-out").required(20_000.0), Plan::of("mix-flat-out").required(10_000.0)];

const BENCHES: [Bench; 6] = [
    Bench {
        name: "challenge",
        title: "Challenge service, SQLite with `synchronous=FULL`",
        service: "challenge",
        arguments: &["all"],
        environment: &[
            ("TEST_IDENTITY_HEADER", "on"),
            ("LOG_LEVEL", "warn"),
            ("GRPC_PORT", "0"),
            ("EVENTS_PORT", "0"),
        ],
        store: StoreKind::InProcess,
        plans: &CHALLENGE,
    },
    Bench {
        name: "challenge-postgres",
        title: "Challenge service, PostgreSQL with `synchronous_commit=on`",
        service: "challenge",
        arguments: &["all"],
        environment: &[
            ("TEST_IDENTITY_HEADER", "on"),
            ("LOG_LEVEL", "warn"),
            ("GRPC_PORT", "0"),
            ("EVENTS_PORT", "0"),
        ],
        store: StoreKind::Postgres,
        plans: &CHALLENGE,
    },
    Bench {
        name: "gateway",
        title: "Gateway, samples in memory",
        service: "gateway",
        arguments: &["serve"],
        environment: &[("LOG_LEVEL", "error")],
        store: StoreKind::InProcess,
        plans: &[
            Plan::of("json").required(40_000.0),
            Plan::of("protobuf"),
            Plan::of("json-batch").of_samples(100.0).required(400_000.0),
            Plan::of("protobuf-batch").of_samples(100.0),
        ],
    },
    Bench {
        name: "gateway-disk",
        title: "Gateway, samples in a journal on disk and handed on to a file",
        service: "gateway",
        arguments: &["serve"],
        environment: &[
            ("LOG_LEVEL", "error"),
            ("DURABILITY", "disk"),
            ("JOURNAL_DIR", "journal"),
            ("SINK", "file"),
            ("SINK_FILE", "tasks"),
        ],
        store: StoreKind::InProcess,
        plans: &[
            Plan::of("json").required(40_000.0),
            Plan::of("json-batch").of_samples(100.0).required(400_000.0),
        ],
    },
    Bench {
        name: "listings",
        title: "Listings service, SQLite with `synchronous=FULL`, responses cached in the service",
        service: "listings",
        arguments: &["serve"],
        environment: &[
            ("AUTH_ENABLED", "false"),
            ("RATE_LIMIT_ENABLED", "false"),
            ("LOG_LEVEL", "error"),
            ("GRPC_PORT", "0"),
        ],
        store: StoreKind::InProcess,
        plans: &LISTINGS,
    },
    Bench {
        name: "listings-postgres",
        title: "Listings service, PostgreSQL with `synchronous_commit=on`, responses cached in Redis",
        service: "listings",
        arguments: &["serve"],
        environment: &[
            ("AUTH_ENABLED", "false"),
            ("RATE_LIMIT_ENABLED", "false"),
            ("LOG_LEVEL", "error"),
            ("GRPC_PORT", "0"),
        ],
        store: StoreKind::PostgresAndRedis,
        plans: &LISTINGS,
    },
];

#[derive(Debug, PartialEq)]
struct Options {
    only: Selection,
    time_scale: f64,
    is_written: bool,
}

/// Makes the selected measurements and prints them as Markdown.
///
/// # Errors
/// When an argument is not understood, or a measurement could not be carried out.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = read(arguments)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "challenge", "--package", "gateway"]);
    build.args(["--package", "listings", "--bins"]).args(workspace.profile());
    steps::run(build).context("cannot build the tool and the services")?;
    let notes = machine::describe(workspace, "services", arguments).notes;
    let mut texts = BTreeMap::new();
    let mut failures = Vec::new();
    for bench in BENCHES.iter().filter(|bench| options.only.includes(bench.name)) {
        match steps::step(bench.name, || bench.measure(workspace, options.time_scale)) {
            Ok(table) => drop(texts.insert(bench.name, Table { notes: notes.clone(), ..table }.render())),
            Err(error) => failures.push(format!("{}: {error:#}", bench.name)),
        }
    }
    println!();
    texts.values().for_each(|text| println!("{text}"));
    if options.is_written {
        write_into(workspace, DOCUMENT, &texts)?;
    }
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}

fn read(arguments: &[String]) -> Result<Options> {
    let mut options = Options { only: Selection::default(), time_scale: 1.0, is_written: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--only" => options.only = Selection::read(value()?),
            "--seconds" => {
                let seconds = number(value()?, "seconds", 1..=MOST_SECONDS)?;
                options.time_scale = seconds as f64 / PLANNED_SECONDS as f64;
            }
            "--write" => options.is_written = true,
            _ => bail!("unknown argument `{word}`; usage: cargo xtask bench {USAGE}"),
        }
    }
    options.only.check(&BENCHES.each_ref().map(|bench| bench.name))?;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_benches_are_selected_or_those_that_are_named() {
        let read = |words: &str| read(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert!(read("").unwrap().only.includes("listings"));
        let some = read("--only gateway,listings --seconds 3 --write").unwrap();
        assert!(some.only.includes("gateway") && !some.only.includes("challenge") && some.is_written);
        assert!((some.time_scale - 0.3).abs() < 1e-9);
        for wrong in ["--only redis", "--seconds 0", "--seconds", "--quick"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_bench_has_its_place_in_the_document_and_every_plan_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let document = std::fs::read_to_string(root.join(DOCUMENT)).unwrap();
        for bench in &BENCHES {
            assert!(document.contains(&format!("<!-- begin {} -->", bench.name)), "{}", bench.name);
            for plan in bench.plans {
                let file = root.join(bench.path(plan));
                assert!(file.exists(), "{}", file.display());
            }
        }
    }
}
