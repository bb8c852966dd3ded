//! Three replicas on one database beside one: whether anything that they share limits them.
//!
//! All replicas, the database and the generator are on this machine, so the same rate is offered to one and to
//! three: what nothing shared limits costs as much CPU for each request with three as with one, in the service and
//! in the database.

use anyhow::Result;

use super::Found;
use super::fixture::{BenchContext, Setup};
use super::store::Store;
use crate::bench::seen::Seen;
use crate::bench::table::{Table, figure};

const TARGETS: [&str; 3] = ["a", "b", "c"];

/// One, then three.
pub(super) fn compare(context: &BenchContext<'_>) -> Result<Found> {
    if matches!(context.store, Store::Sqlite(_)) {
        let notes = vec!["`replicas`: a SQLite file is one process's alone".to_owned()];
        return Ok(Found { notes, ..Found::default() });
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
        let seen = offer(context, replicas)?;
        table.rows.push(line(replicas, &seen));
    }
    Ok(Found { tables: vec![table], ..Found::default() })
}

fn offer(context: &BenchContext<'_>, replicas: usize) -> Result<Seen> {
    let fixture = context.fixture_with_players(&Setup::default())?;
    let mut others = Vec::new();
    while others.len() + 1 < replicas {
        others.push(context.service(fixture.database(), &Setup::default())?);
    }
    let mut targets = Vec::new();
    for (place, name) in TARGETS.iter().enumerate() {
        let service = place.checked_sub(1).and_then(|other| others.get(other)).unwrap_or(&fixture.service);
        targets.push(format!("{name}=http://{}/challenge", service.address("http")?));
    }
    let seen = context.offer(&context.load("replicas"), &targets)?;
    others.into_iter().try_for_each(crate::served::Served::stop)?;
    fixture.end()?;
    Ok(seen)
}

/// With one replica every target is the same process, which counts once.
fn line(replicas: usize, seen: &Seen) -> Vec<String> {
    let cores: Option<f64> = TARGETS[..replicas].iter().map(|target| seen.cores(target)).sum();
    let done_per_s = seen.completed_per_s();
    let ms_a_request = |cores: Option<f64>| cores.map(|cores| cores * 1e3 / done_per_s);
    let worst = seen.endpoints().filter_map(|row| row.response_time().p95_ms).reduce(f64::max);
    vec![
        replicas.to_string(),
        figure(Some(done_per_s), 0),
        seen.errors().to_string(),
        figure(ms_a_request(cores), 4),
        figure(ms_a_request(seen.database_cores()), 4),
        figure(worst, 2),
    ]
}
