//! The plan and the manifest of runs for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::manifest::Worker;
use evidence::memory::MemoryRun;
use evidence::{
    Ending, Instance, Instant, Manifest, Notice, NoticeKind, Observed, Run, RunEnd, SeriesKey, Sink as _,
};
use workload::{
    Arrivals, Executor, Expect, Flow, Phase, Request, Scenario, Step, Template, Weighted, Workload,
};

use super::{PHASES, SCENARIO, SECONDS, TestRun};

/// The same evidence under `manifest`, without an end.
pub(super) fn copy_of(run: &MemoryRun, manifest: Manifest) -> MemoryRun {
    let mut copy = MemoryRun::new(manifest);
    for (id, key) in run.keys() {
        for (second, n) in run.counts(*id, run.whole()).unwrap() {
            copy.add(key, second, n);
        }
        for (second, histogram) in run.histograms(*id, run.whole()).unwrap() {
            histogram.buckets().for_each(|(low, _, n)| copy.record(key, second, low, n));
        }
    }
    for series in run.series() {
        for sample in run.samples(series, run.whole()).unwrap() {
            copy.observe(series, sample.at.second(), sample.value);
        }
    }
    copy
}

pub(super) fn end(ending: Ending) -> RunEnd {
    RunEnd::new(ending, SECONDS - 1)
}

/// A worker of one loop on this machine.
pub(crate) fn worker(process: u16) -> Worker {
    Worker {
        place: Instance { machine: 0, process, loop_index: 0 },
        address: format!("127.0.0.1:740{process}"),
        loops: 1,
        version: String::new(),
        workload_digest: String::new(),
        environment: BTreeMap::new(),
        pid: 1,
        clock_offset_ns: 0,
        clock_error_ns: 20_000,
    }
}

/// A run over two workers of which both have offered load.
pub(crate) fn over_two_workers(mut test_run: TestRun) -> TestRun {
    test_run.edit(|manifest| manifest.workers = vec![worker(1), worker(2)]);
    for process in [1, 2] {
        let series =
            SeriesKey::new("loop_cpu", SeriesKey::GENERATOR, "cores").instance(worker(process).place);
        test_run.observe(&series, 0..70, 0.1);
    }
    test_run
}

/// The same where the second is lost after 40 s.
pub(crate) fn with_lost_worker(test_run: TestRun) -> TestRun {
    let mut test_run = over_two_workers(test_run);
    let notice = Notice {
        at: Instant::at(Duration::from_secs(40)),
        observer: SeriesKey::GENERATOR.to_owned(),
        instance: Some(worker(2).place),
        kind: NoticeKind::Gone,
        text: "worker 2 vanished: the connection was closed".to_owned(),
    };
    test_run.run.observed(&Observed { notices: vec![notice], ..Observed::default() }).unwrap();
    test_run
}

pub(super) fn manifest() -> Manifest {
    Manifest { seed: 1, ..Manifest::named("test") }
}

pub(super) fn steps() -> Vec<Step> {
    let empty = || Template::parse("").unwrap();
    let step = |name: &str| Step {
        name: name.to_owned(),
        request: Request::Http {
            target: "web".to_owned(),
            method: "GET".to_owned(),
            path: empty(),
            headers: Vec::new(),
            body: empty(),
            options: Default::default(),
        },
        timeout: Duration::from_secs(10),
        think: workload::Think::default(),
        expect: Expect::default(),
        extract: Vec::new(),
    };
    ["list", "claim"].map(step).into()
}

pub(crate) fn workload() -> Workload {
    let phase = |(name, from, to): (&str, u32, u32)| Phase {
        name: name.to_owned(),
        start: Duration::from_secs(u64::from(from)),
        end: Duration::from_secs(u64::from(to)),
    };
    let scenario = Scenario {
        name: SCENARIO.to_owned(),
        executor: Executor::ConstantArrivalRate { rate: 0.0, duration: Duration::ZERO },
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 100_000,
        arrivals: Arrivals::Even,
        graceful_stop: Duration::from_secs(30),
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow: Flow::Mix(steps().into_iter().map(|step| Weighted { weight: 1, step }).collect()),
    };
    Workload {
        seed: 1,
        phases: PHASES.map(phase).into(),
        scenarios: vec![scenario],
        ..Workload::named("test")
    }
}
