//! The challenge service measured by Plimsoll: work per CPU-second first, then latency, memory and overload.
//!
//! Every figure comes from a report of Plimsoll; the plans are in `examples/challenge` and can be run by hand.
//! Only what no plan can observe is read here: CPU time of the database's processes, memory before and after, and
//! the data afterwards. No speed is asserted; it fails when something could not be carried out, or when stored data
//! differs from what was acknowledged. Start reading at [`MEASUREMENTS`].

mod capacity;
mod fixture;
mod floor;
pub(super) mod options;
mod overload;
mod player;
mod replicas;
mod situations;
pub(super) mod store;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use self::fixture::BenchContext;
use self::options::Options;
use self::store::{Store, StoreKind};
use super::row::{HEAD, Row};
use super::run_report::{Claim, RunReport};
use super::table::{self, Table};
use super::{machine, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/challenge-bench.md";

/// The results of one or more measurements.
#[derive(Default)]
struct MeasurementResult {
    /// Rows of the main table.
    rows: Vec<Row>,
    /// The objectives of its plans.
    claims: Vec<PlanClaim>,
    tables: Vec<Table>,
    notes: Vec<String>,
}

/// An objective with the plan that has it.
struct PlanClaim {
    plan: String,
    claim: Claim,
}

impl MeasurementResult {
    fn row(row: Row) -> Self {
        Self { rows: vec![row], ..Self::default() }
    }

    /// Adds the plan's objectives and what was observed of them.
    fn add_claims(&mut self, plan: &str, report: &RunReport) {
        let claims = report.claims().into_iter();
        self.claims.extend(claims.map(|claim| PlanClaim { plan: plan.to_owned(), claim }));
    }

    fn add(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.claims.extend(other.claims);
        self.tables.extend(other.tables);
        self.notes.extend(other.notes);
    }
}

/// One thing to measure in each store.
struct Measurement {
    name: &'static str,
    measure: fn(&BenchContext<'_>) -> Result<MeasurementResult>,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "list", measure: capacity::list },
    Measurement { name: "initialize-new", measure: capacity::initialize_new },
    Measurement { name: "initialize-returning", measure: capacity::initialize_returning },
    Measurement { name: "set-active", measure: capacity::set_active },
    Measurement { name: "claim", measure: capacity::claim },
    Measurement { name: "events", measure: capacity::events },
    Measurement { name: "mix", measure: situations::mix },
    Measurement { name: "burst", measure: situations::burst },
    Measurement { name: "events-10k", measure: situations::ten_thousand_events },
    Measurement { name: "connections", measure: situations::connections },
    Measurement { name: "all-default", measure: situations::all_default },
    Measurement { name: "cold", measure: situations::cold },
    Measurement { name: "replicas", measure: replicas::compare },
    Measurement { name: "overload", measure: overload::overload },
];
/// Measured once, without a store.
const FLOOR: &str = "floor";

/// Makes the selected measurements and prints them as Markdown.
///
/// # Errors
/// When an argument is not understood, a measurement could not be carried out, or data was wrong.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    let known: Vec<&str> = MEASUREMENTS.iter().map(|one| one.name).chain([FLOOR]).collect();
    options.only.check(&known)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "challenge", "--bins"]);
    build.args(workspace.profile());
    steps::run(build).context("cannot build the tool and the service")?;
    let mut failures = Vec::new();
    let mut texts = BTreeMap::new();
    texts.insert("machine", machine::describe(workspace, "challenge", arguments).render());
    if options.only.includes(FLOOR) {
        texts.insert(FLOOR, render_or_note(FLOOR, floor::measure(workspace, &options), &mut failures));
    }
    for &kind in &options.stores {
        let text = in_store(workspace, &options, kind, &mut failures);
        texts.insert(
            kind.name(),
            text.unwrap_or_else(|error| {
                failures.push(format!("{}: {error:#}", kind.name()));
                format!("- could not be measured: {error:#}\n")
            }),
        );
    }
    println!();
    texts.values().for_each(|text| println!("{text}"));
    if options.is_written {
        write_into(workspace, DOCUMENT, &texts)?;
    }
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}

/// Every measurement in one store, as Markdown.
fn in_store(
    workspace: &Workspace,
    options: &Options,
    kind: StoreKind,
    failures: &mut Vec<String>,
) -> Result<String> {
    let folder = workspace.scratch(&format!("bench-challenge-{}", kind.name()))?;
    let store = Store::start(kind, folder.clone())?;
    let version = store.version()?;
    let context = BenchContext { workspace, options, store: &store, folder, prepared: OnceCell::new() };
    let mut all = MeasurementResult::default();
    for measurement in MEASUREMENTS.iter().filter(|one| options.only.includes(one.name)) {
        match steps::step(&format!("{} in {}", measurement.name, kind.name()), || {
            (measurement.measure)(&context)
        }) {
            Ok(found) => all.add(found),
            Err(error) => {
                all.notes.push(format!("`{}` could not be carried out: {error:#}", measurement.name));
                failures.push(format!("{error:#}"));
            }
        }
    }
    let mut text = format!("## {version}\n\n");
    text += &main_table(&all).render();
    all.tables.iter().for_each(|table| text += &table.render());
    text += &claims_table(&all.claims).render();
    text += &Table { notes: all.notes, ..Table::default() }.render();
    Ok(text)
}

/// The table of a measurement without a store, or a note that it failed.
fn render_or_note(name: &str, result: Result<Table>, failures: &mut Vec<String>) -> String {
    match result {
        Ok(table) => table.render(),
        Err(error) => {
            failures.push(format!("{name}: {error:#}"));
            format!("- `{name}` could not be carried out: {error:#}\n")
        }
    }
}

fn main_table(all: &MeasurementResult) -> Table {
    Table { head: HEAD, rows: all.rows.iter().map(Row::cells).collect(), ..Table::default() }
}

fn claims_table(claims: &[PlanClaim]) -> Table {
    let row = |PlanClaim { plan, claim }: &PlanClaim| {
        let observed = table::figure(claim.observed, 3);
        let unit = if claim.unit == "1" { "" } else { claim.unit.as_str() };
        let observed = format!("{observed} {unit}").trim_end().to_owned();
        vec![plan.clone(), format!("`{}`", claim.text), observed, claim.verdict.clone()]
    };
    Table {
        title: "Objectives of the plans".to_owned(),
        head: &["plan", "objective", "observed", "verdict"],
        rows: claims.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
