//! The listings service measured by Plimsoll, with the plans of `examples/listings` on a seeded marketplace: what a
//! CPU-second of the service is worth, whether the promised rates are held, and which is the highest that is. Nothing
//! is asserted of a speed. Start reading at [`MEASUREMENTS`].

mod fixture;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use self::fixture::{BenchContext, Load, Offered};
use super::challenge::options::Options;
use super::challenge::store::Kind;
use super::climb::highest;
use super::row::{HEAD, Row};
use super::table::{Table, count, figure};
use super::{machine, write_into};
use crate::steps;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/listings-bench.md";
/// A plan, and what one CPU-second of the service is asked to do in it.
const FLAT_OUT: [(&str, f64); 2] = [("stats-flat-out", 20_000.0), ("mix-flat-out", 10_000.0)];
/// Plans with the promised rates.
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
    Measurement { name: "highest", measure: highest_held },
];

/// Measures what is asked for and prints it as Markdown.
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
    texts.insert("machine", machine::describe(workspace, ("listings", arguments)).render());
    let mut failures = Vec::new();
    for &kind in &options.stores {
        texts.insert(kind.word(), in_store(workspace, (&options, kind), &mut failures)?);
    }
    println!();
    texts.values().for_each(|text| println!("{text}"));
    if options.is_written {
        write_into(workspace, (DOCUMENT, &texts))?;
    }
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}

/// Every measurement in one store, as Markdown.
fn in_store(
    workspace: &Workspace,
    (options, kind): (&Options, Kind),
    failures: &mut Vec<String>,
) -> Result<String> {
    let context = BenchContext::new(workspace, (options, kind))?;
    let mut text = format!("## {}\n\n", context.stores()?);
    for measurement in MEASUREMENTS.iter().filter(|one| options.only.wants(one.name)) {
        let step = format!("{} in {}", measurement.name, kind.word());
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
        Table { title: "As fast as 64 callers get answers".to_owned(), head: HEAD, ..Table::default() };
    let mut costs = costs();
    for (plan, asked) in FLAT_OUT {
        let offered = context.offer(Load { plan, time_scale: context.options.time_scale(), load: 1.0 })?;
        table.rows.push(Row::of_run(plan, (&offered.seen, "listings")).asked(Some(asked)).cells());
        costs.rows.push(cost(plan, &offered));
    }
    Ok(vec![table, costs])
}

fn rates(context: &BenchContext<'_>) -> Result<Vec<Table>> {
    let head = &["plan", "asked a second", "answered well a second", "p50 ms", "p95 ms", "p99 ms", "failed"];
    let mut table = Table { title: "The promised rates".to_owned(), head, ..Table::default() };
    let mut costs = costs();
    for plan in RATES {
        let offered = context.offer(Load { plan, time_scale: context.options.time_scale(), load: 1.0 })?;
        for (phase, per_s) in PHASES {
            table.rows.push(Held::read(&offered, phase)?.cells((plan, phase), per_s));
        }
        let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
        offered.seen.claims().into_iter().for_each(|claim| *verdicts.entry(claim.verdict).or_default() += 1);
        let verdicts: Vec<_> = verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let dropped = offered.seen.dropped();
        table
            .notes
            .push(format!("`{plan}`: objectives: {}; {dropped} arrivals never began", verdicts.join(", ")));
        costs.rows.push(cost(plan, &offered));
    }
    table.notes.push("times are those of the slowest call of the phase".to_owned());
    Ok(vec![table, costs])
}

fn highest_held(context: &BenchContext<'_>) -> Result<Vec<Table>> {
    let head = &["plan", "highest rate held"];
    let mut table = Table { title: "The highest rate held".to_owned(), head, ..Table::default() };
    let (phase, planned_per_s) = PHASES[0];
    for plan in RATES {
        let per_s = highest(|load| {
            let held = Held::read(&context.offer(Load { plan, time_scale: STEP, load })?, phase)?;
            println!("  {:.0} offered a second, {:.0} answered well", load * planned_per_s, held.ok_per_s);
            Ok(held.is_good(load * planned_per_s).then_some(held.ok_per_s))
        })?;
        table.rows.push(vec![plan.to_owned(), count(per_s)]);
    }
    table.notes.push(
        "held: of all that was due, 99.9 % answered well; p50 < 50, p95 < 100, p99 < 200 ms of every call"
            .to_owned(),
    );
    Ok(vec![table])
}

fn costs() -> Table {
    let head = &["plan", "service", "database", "Redis", "generator", "all"];
    Table { title: "What one request costs, in µs of CPU".to_owned(), head, ..Table::default() }
}

fn cost(plan: &str, offered: &Offered) -> Vec<String> {
    let costs_us = offered.cost_us();
    let all_us = costs_us.iter().flatten().sum::<f64>();
    let cells = costs_us.map(|us| figure(us, 1)).into_iter();
    std::iter::once(plan.to_owned()).chain(cells).chain([figure(Some(all_us), 1)]).collect()
}

/// How one phase of a plan with the promised rates went.
struct Held {
    ok_per_s: f64,
    failed: u64,
    /// The median, 95 and 99 %, each of the call for which it is longest.
    quantiles_ms: [f64; 3],
}

impl Held {
    fn read(offered: &Offered, phase: &str) -> Result<Self> {
        let (mut ok, mut ended, mut quantiles_ms) = (0, 0, [0.0_f64; 3]);
        for row in offered.seen.endpoints().filter(|row| row.phase() == phase) {
            ok += row.outcome("ok");
            ended += row.ended();
            let times = row.response_time();
            for (longest_ms, ms) in quantiles_ms.iter_mut().zip([times.p50_ms, times.p95_ms, times.p99_ms]) {
                // Too few for a quantile; whether they were answered well is counted.
                *longest_ms = longest_ms.max(ms.unwrap_or(0.0));
            }
        }
        let seconds = offered.seen.phase_s(phase).filter(|seconds| *seconds > 0.0);
        let seconds = seconds.with_context(|| format!("the report has no phase `{phase}`"))?;
        Ok(Self { ok_per_s: ok as f64 / seconds, failed: ended - ok, quantiles_ms })
    }

    fn cells(&self, (plan, phase): (&str, &str), asked_per_s: f64) -> Vec<String> {
        let [p50, p95, p99] = self.quantiles_ms.map(|ms| figure(Some(ms), 2));
        let [asked, answered] = [asked_per_s, self.ok_per_s].map(count);
        vec![format!("{plan}, {phase}"), asked, answered, p50, p95, p99, count(self.failed as f64)]
    }

    /// Whether that is what was promised at this many a second.
    fn is_good(&self, offered_per_s: f64) -> bool {
        let bounds_ms = [50.0, 100.0, 200.0];
        let quick = self.quantiles_ms.iter().zip(bounds_ms).all(|(ms, bound)| *ms < bound);
        quick && self.ok_per_s >= 0.999 * offered_per_s
    }
}
