//! The services under plans of `examples/`: how much one CPU-second of each does, by reports of Plimsoll.
//!
//! The service has one processor and the generator the other. Every plan can be run by hand as well; the highest load
//! that a service sustains, and what it does beyond it, is what `plimsoll capacity` finds. No speed is asserted.
//! Start reading at [`BENCHES`].

mod bench;
mod stores;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;

use self::bench::{Bench, Plan};
use self::stores::StoreKind;
use super::options::is_selected;
use super::table::Table;
use super::{build, machine, publish};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/service-benchmarks.md";
/// Plans are written for this long a measurement; other lengths scale them.
const PLANNED_SECONDS: u64 = 10;

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

const OF_CHALLENGE: [(&str, &str); 4] =
    [("TEST_IDENTITY_HEADER", "on"), ("LOG_LEVEL", "warn"), ("GRPC_PORT", "0"), ("EVENTS_PORT", "0")];
const OF_LISTINGS: [(&str, &str); 4] =
    [("AUTH_ENABLED", "false"), ("RATE_LIMIT_ENABLED", "false"), ("LOG_LEVEL", "error"), ("GRPC_PORT", "0")];

const BENCHES: [Bench; 6] = [
    Bench {
        name: "challenge",
        title: "Challenge service, SQLite with `synchronous=FULL`",
        service: "challenge",
        arguments: &["all"],
        environment: &OF_CHALLENGE,
        store: StoreKind::InProcess,
        plans: &CHALLENGE,
    },
    Bench {
        name: "challenge-postgres",
        title: "Challenge service, PostgreSQL with `synchronous_commit=on`",
        service: "challenge",
        arguments: &["all"],
        environment: &OF_CHALLENGE,
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
        environment: &OF_LISTINGS,
        store: StoreKind::InProcess,
        plans: &LISTINGS,
    },
    Bench {
        name: "listings-postgres",
        title: "Listings service, PostgreSQL with `synchronous_commit=on`, responses cached in Redis",
        service: "listings",
        arguments: &["serve"],
        environment: &OF_LISTINGS,
        store: StoreKind::PostgresAndRedis,
        plans: &LISTINGS,
    },
];

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// These tables only
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    only: Vec<String>,
    /// The length of plans that are written for ten seconds
    #[arg(long, value_name = "N", default_value_t = PLANNED_SECONDS, value_parser = clap::value_parser!(u64).range(1..=120))]
    seconds: u64,
    /// Put the tables into docs/service-benchmarks.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Makes the selected measurements and prints them as Markdown.
///
/// # Errors
/// When a measurement could not be carried out.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let time_scale = options.seconds as f64 / PLANNED_SECONDS as f64;
    build(workspace, &["plimsoll", "challenge", "gateway", "listings"])?;
    let notes = machine::describe(workspace).notes;
    let mut texts = BTreeMap::new();
    let mut failures = Vec::new();
    for bench in BENCHES.iter().filter(|bench| is_selected(&options.only, bench.name)) {
        match steps::step(bench.name, || bench.measure(workspace, time_scale)) {
            Ok(table) => drop(texts.insert(bench.name, Table { notes: notes.clone(), ..table }.render())),
            Err(error) => failures.push(format!("{}: {error:#}", bench.name)),
        }
    }
    publish(workspace, options.is_written.then_some(DOCUMENT), &texts)?;
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
