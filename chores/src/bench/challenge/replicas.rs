//! Three replicas on one database compared with one: whether a shared resource limits them.
//!
//! All replicas, the database and the generator are on this machine, so the same rate is offered to one and to three:
//! if no shared resource limits them, a request costs as much CPU with three as with one, in the service and in the
//! database.

use anyhow::Result;

use super::MeasurementResult;
use super::fixture::{BenchContext, Setup};
use super::store::Store;
use crate::bench::run_report::RunReport;
use crate::bench::table::{Table, figure};

const TARGETS: [&str; 3] = ["a", "b", "c"];

/// One, then three.
pub(super) fn compare(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    if matches!(context.store, Store::Sqlite(_)) {
        let notes = vec!["`replicas`: a SQLite file is one process's alone".to_owned()];
        return Ok(MeasurementResult { notes, ..MeasurementResult::default() });
    }
    let mut table = Table {
        title: "Three replicas beside one, at the same rate".to_owned(),
        head: &[
            "replicas",
            "done a second",
            "errors",
            "service ms CPU a request",
            "database ms CPU a request",
            "p95 ms, worst endpoint",
        ],
        ..Table::default()
    };
    for replicas in [1, TARGETS.len()] {
        let report = offer(context, replicas)?;
        table.rows.push(line(replicas, &report));
    }
    Ok(MeasurementResult { tables: vec![table], ..MeasurementResult::default() })
}

fn offer(context: &BenchContext<'_>, replicas: usize) -> Result<RunReport> {
    let fixture = context.fixture_with_players(&Setup::default())?;
    let mut others = Vec::new();
    while others.len() + 1 < replicas {
        others.push(context.service(fixture.database(), &Setup::default())?);
    }
    let mut targets = Vec::new();
    for (index, name) in TARGETS.iter().enumerate() {
        let service = index.checked_sub(1).and_then(|other| others.get(other)).unwrap_or(&fixture.service);
        targets.push(format!("{name}=http://{}/challenge", service.address("http")?));
    }
    let report = context.offer(&context.load("replicas"), &targets)?;
    others.into_iter().try_for_each(xtask::service_process::ServiceProcess::stop)?;
    fixture.end()?;
    Ok(report)
}

/// With one replica every target is the same process, which counts once.
fn line(replicas: usize, report: &RunReport) -> Vec<String> {
    let cores: Option<f64> = TARGETS[..replicas].iter().map(|target| report.cores(target)).sum();
    let done_per_s = report.throughput_per_s();
    let ms_a_request = |cores: Option<f64>| cores.map(|cores| cores * 1e3 / done_per_s);
    let worst = report.endpoints().filter_map(|row| row.response_time().p95_ms).reduce(f64::max);
    vec![
        replicas.to_string(),
        figure(Some(done_per_s), 0),
        report.errors().to_string(),
        figure(ms_a_request(cores), 4),
        figure(ms_a_request(report.database_cores()), 4),
        figure(worst, 2),
    ]
}
