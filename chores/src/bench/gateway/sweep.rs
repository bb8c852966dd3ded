//! One, two, four and eight workers: without a sink, where the processor is the limit, and with a file as sink, where
//! each worker waits for the disk.

use anyhow::Result;

use super::fixture::BenchContext;
use crate::bench::run_report::RunReport;
use crate::bench::table::{Table, count, figure};

const HEAD: &[&str] = &[
    "sink",
    "workers",
    "samples a second",
    "per CPU-second of the gateway",
    "p50 ms",
    "p99 ms",
    "refused",
    "gateway cores",
    "what limits it",
];
const WORKERS: [u32; 4] = [1, 2, 4, 8];
/// Cores from which on the gateway's processor counts as busy.
const BUSY: f64 = 0.9;
/// Cores used by other processes from which on they count as the limit.
const OTHERS: f64 = 0.5;

/// The sweep. With `handed-on` a response waits for the sink, so that the number of workers affects it.
pub(super) fn workers(context: &BenchContext<'_>) -> Result<Table> {
    let mut table = Table { head: HEAD, ..Table::default() };
    for sink in ["none", "file"] {
        for workers in WORKERS {
            let file = context.fresh()?.join("tasks").display().to_string();
            let environment = [
                ("WORKERS", workers.to_string()),
                ("DURABILITY", "handed-on".to_owned()),
                ("SINK", sink.to_owned()),
                ("SINK_FILE", file),
            ];
            let fixture = context.fixture(&environment)?;
            let report = fixture.offer(&context.load("gateway/json"))?;
            fixture.end()?;
            table.rows.push(cells(sink, workers, &report));
        }
    }
    table.notes.push(
        "64 devices that send a sample as soon as the last was handed on; the gateway has one processor, the generator \
         the other"
            .to_owned(),
    );
    Ok(table)
}

fn cells(sink: &str, workers: u32, report: &RunReport) -> Vec<String> {
    let per_s = report.throughput_per_s();
    let cores = report.cores("gateway");
    let times = report.endpoints().next().map(|row| row.response_time()).unwrap_or_default();
    let generator = report.cores("generator").unwrap_or(0.0);
    let others = report.series_max("host", "host_cpu").unwrap_or(0.0) - generator - cores.unwrap_or(0.0);
    let limit = match cores {
        Some(cores) if cores >= BUSY => "the gateway's processor",
        Some(_) if generator >= BUSY => "the generator",
        Some(_) if others >= OTHERS => "other processes on the machine",
        Some(_) if sink == "file" => "the disk: each hand-over waits for its sync",
        Some(_) => "nothing observed: the devices wait for their responses",
        None => "–",
    };
    vec![
        sink.to_owned(),
        workers.to_string(),
        count(per_s),
        cores.filter(|cores| *cores > 0.0).map_or_else(|| "–".to_owned(), |cores| count(per_s / cores)),
        figure(times.p50_ms, 2),
        figure(times.p99_ms, 2),
        count(report.errors() as f64),
        figure(cores, 2),
        limit.to_owned(),
    ]
}
