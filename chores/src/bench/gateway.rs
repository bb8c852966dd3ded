//! The telemetry gateway measured by Plimsoll: samples per CPU-second by form and by durability, users with and without
//! think time, connections, numbers of workers, and overload.
//!
//! Every figure comes from a report of Plimsoll; the plans are in `examples` and `examples/gateway` and can be run by
//! hand. No speed is asserted; it fails when something could not be carried out. Start reading at
//! [`MEASUREMENTS`].

mod capacity;
mod fixture;
mod options;
mod overload;
mod sink;
mod sweep;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use self::fixture::BenchContext;
use self::options::Options;
use super::table::Table;
use super::{machine, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/gateway-bench.md";

/// One thing to measure.
struct Measurement {
    name: &'static str,
    measure: fn(&BenchContext<'_>) -> Result<Table>,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "capacity", measure: capacity::forms },
    Measurement { name: "users", measure: capacity::users },
    Measurement { name: "workers", measure: sweep::workers },
    Measurement { name: "overload", measure: overload::overload },
];

/// Makes the selected measurements and prints them as Markdown.
///
/// # Errors
/// When an argument is not understood or a measurement could not be carried out.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    let known: Vec<&str> = MEASUREMENTS.iter().map(|one| one.name).collect();
    options.only.check(&known)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "gateway", "--bins"]);
    build.args(workspace.profile());
    steps::run(build).context("cannot build the tool and the service")?;
    let context = BenchContext::new(workspace, &options)?;
    let mut failures = Vec::new();
    let mut texts = BTreeMap::new();
    texts.insert("machine", machine::describe(workspace, "gateway", arguments).render());
    for measurement in MEASUREMENTS.iter().filter(|one| options.only.includes(one.name)) {
        let text = match steps::step(measurement.name, || (measurement.measure)(&context)) {
            Ok(table) => table.render(),
            Err(error) => {
                failures.push(format!("{}: {error:#}", measurement.name));
                format!("- `{}` could not be carried out: {error:#}\n", measurement.name)
            }
        };
        texts.insert(measurement.name, text);
    }
    println!();
    texts.values().for_each(|text| println!("{text}"));
    if options.is_written {
        write_into(workspace, DOCUMENT, &texts)?;
    }
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}
