//! How many samples one CPU-second of the gateway takes in, by form and by durability; and users with think time, without
//! it, and with idle connections.

use anyhow::Result;

use super::fixture::{BenchContext, Load};
use crate::bench::run_report::{EndpointRow, RunReport};
use crate::bench::table::{Table, count, figure};

const TARGET: &str = "gateway";

const HEAD: &[&str] = &[
    "load",
    "promise",
    "samples a second",
    "per CPU-second of the gateway",
    "required",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "errors",
    "gateway cores",
    "generator cores",
    "resident MB",
];

/// A plan, how many samples each of its requests has, and how many a CPU-second is required to take in.
struct Form {
    plan: &'static str,
    samples: f64,
    required_per_cpu_s: Option<f64>,
}

const FORMS: [Form; 4] = [
    Form { plan: "gateway/json", samples: 1.0, required_per_cpu_s: Some(40_000.0) },
    Form { plan: "gateway/protobuf", samples: 1.0, required_per_cpu_s: None },
    Form { plan: "gateway/json-batch", samples: 100.0, required_per_cpu_s: Some(400_000.0) },
    Form { plan: "gateway/protobuf-batch", samples: 100.0, required_per_cpu_s: None },
];

/// Each form in memory, then two of them on disk.
pub(super) fn forms(context: &BenchContext<'_>) -> Result<Table> {
    let mut table = Table { head: HEAD, ..Table::default() };
    for form in &FORMS {
        table.rows.push(of_form(context, form, "memory", &[])?);
    }
    for form in [&FORMS[0], &FORMS[2]] {
        let folder = context.fresh()?;
        let at = |name: &str| folder.join(name).display().to_string();
        let disk = [
            ("DURABILITY", "disk".to_owned()),
            ("JOURNAL_DIR", at("journal")),
            ("SINK", "file".to_owned()),
            ("SINK_FILE", at("tasks")),
        ];
        table.rows.push(of_form(context, form, "disk, handed on to a file", &disk)?);
    }
    Ok(table)
}

fn of_form(
    context: &BenchContext<'_>,
    form: &Form,
    promise: &str,
    environment: &[(&str, String)],
) -> Result<Vec<String>> {
    let fixture = context.fixture(environment)?;
    let report = fixture.offer(&context.load(form.plan))?;
    fixture.end()?;
    let per_s = report.throughput_per_s() * form.samples;
    let cores = report.cores(TARGET).filter(|cores| *cores > 0.0);
    let dash = || "–".to_owned();
    let mut cells = vec![
        form.plan.trim_start_matches("gateway/").replace('-', ", ") + " of " + &count(form.samples),
        promise.to_owned(),
        count(per_s),
        cores.map_or_else(dash, |cores| count(per_s / cores)),
        form.required_per_cpu_s.map_or_else(dash, |required| format!("≥ {}", count(required))),
    ];
    let row = report.endpoints().next();
    cells.extend(times(row));
    cells.extend([count(report.errors() as f64)]);
    cells.extend(cost(&report));
    Ok(cells)
}

fn times(row: Option<EndpointRow<'_>>) -> [String; 3] {
    let times = row.map(|row| row.response_time()).unwrap_or_default();
    [times.p50_ms, times.p95_ms, times.p99_ms].map(|ms| figure(ms, 2))
}

fn cost(report: &RunReport) -> [String; 3] {
    [
        figure(report.cores(TARGET), 2),
        figure(report.cores("generator"), 2),
        figure(report.series_max(TARGET, "rss").map(|bytes| bytes / 1e6), 0),
    ]
}

/// Users with half a second of think time, users without, and ten thousand connections; a row for each phase.
pub(super) fn users(context: &BenchContext<'_>) -> Result<Table> {
    const HEAD: &[&str] =
        &["plan", "phase", "endpoint", "answers a second", "p50 ms", "p95 ms", "p99 ms", "errors"];
    let mut table = Table { head: HEAD, ..Table::default() };
    // The plan lasts a minute; a sixth of it shows the same. Connections need their time to be opened.
    let time_scale = context.options.time_scale();
    for (plan, time_scale) in [
        ("thinking-users", time_scale / 6.0),
        ("gateway/users-flat-out", time_scale),
        ("gateway/connections", time_scale.max(0.5)),
    ] {
        let fixture = context.fixture(&[])?;
        let report = fixture.offer(&Load::of(plan).for_time(time_scale))?;
        fixture.end()?;
        for row in report.endpoints().filter(|row| row.ended() > 0) {
            let mut cells = vec![plan.to_owned(), row.phase().to_owned(), row.name().to_owned()];
            cells.push(count(row.throughput_per_s()));
            cells.extend(times(Some(row)));
            cells.push(count((row.ended() - row.outcome("ok")) as f64));
            table.rows.push(cells);
        }
        let [cores, generator, resident] = cost(&report);
        let connections = report.series_max("generator", "connections").unwrap_or(0.0);
        table.notes.push(format!(
            "`{plan}`: {} connections at most; gateway {cores} cores, generator {generator}, {resident} MB resident; {} \
             arrivals dropped",
            count(connections),
            count(report.dropped() as f64)
        ));
    }
    Ok(table)
}
