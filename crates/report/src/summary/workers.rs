//! The processes that offered the load, where those were others, and how alike they were.

use evidence::run::ReadError;
use evidence::worker_load::WorkerLoad;
use evidence::{Instance, Run};
use serde::Serialize;

use crate::number;

/// A worker and how it offered its part of the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerSummary {
    /// Where it was reached.
    pub address: String,
    /// Its machine and process.
    pub place: Instance,
    /// How many loops it had.
    pub loops: u16,
    /// How it offered its part.
    #[serde(flatten)]
    pub load: WorkerLoad,
}

/// Each worker of a run whose load was offered for so many seconds, in the order of their numbers; none of a run of one
/// process.
pub(super) fn of(run: &dyn Run, load_s: f64) -> Result<Vec<WorkerSummary>, ReadError> {
    let summary = |worker: &evidence::manifest::Worker| {
        let load = WorkerLoad::read(run, worker, load_s)?;
        Ok(WorkerSummary { address: worker.address.clone(), place: worker.place, loops: worker.loops, load })
    };
    run.manifest().workers.iter().map(summary).collect()
}

/// How far apart the workers were, without naming one: `3 workers with 2 loops each; each began 166/s to 167/s, …`. None where there are
/// none.
pub(crate) fn spread(workers: &[WorkerSummary]) -> Option<String> {
    let loops = || workers.iter().map(|worker| worker.loops);
    let loops = match (loops().min()?, loops().max()?) {
        (1, 1) => "1 loop each".to_owned(),
        (least, most) if least == most => format!("{most} loops each"),
        (least, most) => format!("{least} to {most} loops"),
    };
    let range = |of: fn(&WorkerLoad) -> Option<f64>, shown: &dyn Fn(f64) -> String| {
        let values = || workers.iter().filter_map(|worker| of(&worker.load));
        let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        let (least, most) = (shown(least), shown(most));
        Some(if least == most { least } else { format!("{least} to {most}") })
    };
    let parts = [
        ("began ", range(|load| load.offered_per_s, &|n| format!("{}/s", number::significant(n, 3)))),
        ("start lag p99 ", range(|load| load.start_lag_p99_ms, &|ms| number::time_or_none(Some(ms)))),
        (
            "stalled ",
            range(|load| load.stalled, &|share| format!("{} %", number::significant(share * 100.0, 2))),
        ),
        ("CPU ", range(|load| load.cpu_cores, &|n| format!("{} cores", number::significant(n, 2)))),
        ("dropped late ", range(|load| Some(load.dropped_late as f64), &|n| number::count(n as u64))),
    ];
    let known = parts.into_iter().filter_map(|(name, range)| Some(format!("{name}{}", range?)));
    let workers =
        if workers.len() == 1 { "1 worker".to_owned() } else { format!("{} workers", workers.len()) };
    Some(format!("{workers} with {loops}; each {}", known.collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(process: u16, offered: f64, late: u64) -> WorkerSummary {
        let load = WorkerLoad {
            offered_per_s: Some(offered),
            cpu_cores: None,
            start_lag_p99_ms: Some(0.25),
            stalled: Some(0.0),
            dropped_late: late,
            vanished_at_s: None,
        };
        let place = Instance { machine: 0, process, loop_index: 0 };
        WorkerSummary { address: "127.0.0.1:7400".to_owned(), place, loops: 2, load }
    }

    #[test]
    fn the_spread_names_what_was_recorded_and_no_worker() {
        assert_eq!(spread(&[]), None);
        let all = [worker(1, 100.0, 0), worker(2, 98.4, 3)];
        insta::assert_snapshot!(spread(&all).unwrap(), @"2 workers with 2 loops each; each began 98.4/s to 100/s, start lag p99 250 µs, stalled 0 %, dropped late 0 to 3");
        let weighted = [WorkerSummary { loops: 1, ..worker(1, 10.0, 0) }, worker(2, 20.0, 0)];
        assert!(spread(&weighted).unwrap().starts_with("2 workers with 1 to 2 loops; each began "));
    }
}
