//! The listings service measured by Plimsoll, with the plans of `examples/listings` on a seeded marketplace: how much a
//! CPU-second of the service does, whether the required rates are sustained, and which is the highest sustained rate. No
//! speed is asserted. Start reading at [`MEASUREMENTS`].

mod fixture;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use self::fixture::{BenchContext, Load, LoadResult};
use super::challenge::options::Options;
use super::challenge::store::StoreKind;
use super::highest_load::highest;
use super::row::{HEAD, Row};
use super::table::{Table, count, figure};
use super::{machine, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/listings-bench.md";
/// A plan, and how many requests of it one CPU-second of the service is required to serve.
const FLAT_OUT: [(&str, f64); 2] = [("stats-flat-out", 20_000.0), ("mix-flat-out", 10_000.0)];
/// Plans with the required rates.
const RATES: [&str; 2] = ["stats", "mix"];
/// Their phases, and how many requests a second each offers.
const PHASES: [(&str, f64); 2] = [("busy", 10_000.0), ("burst", 15_000.0)];
/// The part of a plan's time for which each step of a search lasts.
const STEP: f64 = 0.05;

/// One thing to measure in each store.
struct Measurement {
    name: &'static str,
    measure: fn(&BenchContext<'_>) -> Result<Vec<Table>>,
}

const MEASUREMENTS: [Measurement; 3] = [
    Measurement { name: "capacity", measure: capacity },
    Measurement { name: "rates", measure: rates },
    Measurement { name: "highest", measure: highest_sustained },
];

/// Makes the selected measurements and prints them as Markdown.
///
/// # Errors
/// When an argument is not understood, or a measurement could not be carried out.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    let known: Vec<&str> = MEASUREMENTS.iter().map(|one| one.name).collect();
    options.only.check(&known)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "listings", "--bins"]);
    build.args(workspace.profile());
    steps::run(build).context("cannot build the tool and the service")?;
    let mut texts = BTreeMap::new();
    texts.insert("machine", machine::describe(workspace, "listings", arguments).render());
    let mut failures = Vec::new();
    for &kind in &options.stores {
        texts.insert(kind.name(), in_store(workspace, &options, kind, &mut failures)?);
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
    let context = BenchContext::new(workspace, options, kind)?;
    let mut text = format!("## {}\n\n", context.stores()?);
    for measurement in MEASUREMENTS.iter().filter(|one| options.only.includes(one.name)) {
        let step = format!("{} in {}", measurement.name, kind.name());
        match steps::step(&step, || (measurement.measure)(&context)) {
            Ok(tables) => tables.iter().for_each(|table| text += &table.render()),
            Err(error) => {
                text += &format!("- `{}` could not be carried out: {error:#}\n\n", measurement.name);
                failures.push(format!("{step}: {error:#}"));
            }
        }
    }
    Ok(text)
}

fn capacity(context: &BenchContext<'_>) -> Result<Vec<Table>> {
    let mut table =
        Table { title: "64 callers without think time".to_owned(), head: HEAD, ..Table::default() };
    let mut costs = costs();
    for (plan, required_per_cpu_s) in FLAT_OUT {
        let offered = context.offer(Load { plan, time_scale: context.options.time_scale(), load: 1.0 })?;
        table.rows.push(
            Row::of_run(plan, &offered.report, "listings").with_required(Some(required_per_cpu_s)).cells(),
        );
        costs.rows.push(cost(plan, &offered));
    }
    Ok(vec![table, costs])
}

fn rates(context: &BenchContext<'_>) -> Result<Vec<Table>> {
    let head = &["plan", "offered a second", "ok a second", "p50 ms", "p95 ms", "p99 ms", "failed"];
    let mut table = Table { title: "The required rates".to_owned(), head, ..Table::default() };
    let mut costs = costs();
    for plan in RATES {
        let offered = context.offer(Load { plan, time_scale: context.options.time_scale(), load: 1.0 })?;
        for (phase, per_s) in PHASES {
            table.rows.push(PhaseResult::read(&offered, phase)?.cells(plan, phase, per_s));
        }
        let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
        offered
            .report
            .claims()
            .into_iter()
            .for_each(|claim| *verdicts.entry(claim.verdict).or_default() += 1);
        let verdicts: Vec<_> = verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let dropped = offered.report.dropped();
        table
            .notes
            .push(format!("`{plan}`: objectives: {}; {dropped} arrivals were dropped", verdicts.join(", ")));
        costs.rows.push(cost(plan, &offered));
    }
    table.notes.push("times are those of the slowest call of the phase".to_owned());
    Ok(vec![table, costs])
}

fn highest_sustained(context: &BenchContext<'_>) -> Result<Vec<Table>> {
    let head = &["plan", "highest sustained rate"];
    let mut table = Table { title: "The highest sustained rate".to_owned(), head, ..Table::default() };
    let (phase, planned_per_s) = PHASES[0];
    for plan in RATES {
        let per_s = highest(|load| {
            let result = PhaseResult::read(&context.offer(Load { plan, time_scale: STEP, load })?, phase)?;
            println!("  {:.0} offered a second, {:.0} ok", load * planned_per_s, result.ok_per_s);
            Ok(result.is_good(load * planned_per_s).then_some(result.ok_per_s))
        })?;
        table.rows.push(vec![plan.to_owned(), count(per_s)]);
    }
    table.notes.push(
        "sustained: of all that was due, 99.9 % succeeded; p50 < 50, p95 < 100, p99 < 200 ms of every call"
            .to_owned(),
    );
    Ok(vec![table])
}

fn costs() -> Table {
    let head = &["plan", "service", "database", "Redis", "generator", "all"];
    Table { title: "What one request costs, in µs of CPU".to_owned(), head, ..Table::default() }
}

fn cost(plan: &str, offered: &LoadResult) -> Vec<String> {
    let costs_us = offered.cost_us();
    let all_us = costs_us.iter().flatten().sum::<f64>();
    let cells = costs_us.map(|us| figure(us, 1)).into_iter();
    std::iter::once(plan.to_owned()).chain(cells).chain([figure(Some(all_us), 1)]).collect()
}

/// The figures of one phase of a plan with the required rates.
struct PhaseResult {
    ok_per_s: f64,
    failed: u64,
    /// p50, p95 and p99, each of the call for which it is longest.
    quantiles_ms: [f64; 3],
}

impl PhaseResult {
    fn read(offered: &LoadResult, phase: &str) -> Result<Self> {
        let (mut ok, mut ended, mut quantiles_ms) = (0, 0, [0.0_f64; 3]);
        for row in offered.report.endpoints().filter(|row| row.phase() == phase) {
            ok += row.outcome("ok");
            ended += row.ended();
            let times = row.response_time();
            for (longest_ms, ms) in quantiles_ms.iter_mut().zip([times.p50_ms, times.p95_ms, times.p99_ms]) {
                // Without a quantile there were too few responses; their failures are counted all the same.
                *longest_ms = longest_ms.max(ms.unwrap_or(0.0));
            }
        }
        let seconds = offered.report.phase_s(phase).filter(|seconds| *seconds > 0.0);
        let seconds = seconds.with_context(|| format!("the report has no phase `{phase}`"))?;
        Ok(Self { ok_per_s: ok as f64 / seconds, failed: ended - ok, quantiles_ms })
    }

    fn cells(&self, plan: &str, phase: &str, offered_per_s: f64) -> Vec<String> {
        let [p50, p95, p99] = self.quantiles_ms.map(|ms| figure(Some(ms), 2));
        let [offered, ok] = [offered_per_s, self.ok_per_s].map(count);
        vec![format!("{plan}, {phase}"), offered, ok, p50, p95, p99, count(self.failed as f64)]
    }

    /// Whether the service sustains this rate: enough successes, and quantiles below the bounds.
    fn is_good(&self, offered_per_s: f64) -> bool {
        let bounds_ms = [50.0, 100.0, 200.0];
        let quick = self.quantiles_ms.iter().zip(bounds_ms).all(|(ms, bound)| *ms < bound);
        quick && self.ok_per_s >= 0.999 * offered_per_s
    }
}
