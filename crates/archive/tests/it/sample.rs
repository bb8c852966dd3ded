//! A small run of known content, to be written to a file.

use std::collections::BTreeMap;
use std::path::Path;

use archive::{Overwrite, Stored, Writer};
use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind};
use evidence::tick::ScenarioState;
use evidence::{
    Ending, Exemplar, ExemplarKind, Instant, Key, KeyId, Manifest, Metric, Notice, NoticeKind, Observed,
    Outcome, Profile, ProfileKind, Run, RunEnd, Sample, Sampling, SeriesKey, Sink, Tick,
};

/// The manifest of a run named `demo`.
pub(crate) fn manifest() -> Manifest {
    let facts = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    Manifest {
        workload: serde_json::json!({ "scenarios": ["play"] }),
        workload_digest: "00ff".to_owned(),
        seed: u64::MAX,
        started_at: "2026-11-21T10:11:12Z".to_owned(),
        targets: BTreeMap::from([("challenge".to_owned(), facts("server", "challenge/0.1.0"))]),
        environment: facts("cpu_model", "Example 3000"),
        generator: facts("version", "0.1.0"),
        ..Manifest::named("demo")
    }
}

/// The end of a run that completed.
pub(crate) fn completed(last_second: u32) -> RunEnd {
    RunEnd {
        ending: Ending::Completed,
        last_second,
        requests_in_flight: 1,
        iterations_in_flight: 2,
        folded_endpoints: 3,
        folded_ticks: 4,
    }
}

/// A failed exchange of the endpoint `list`.
pub(crate) fn failure(detail: &str) -> Exemplar {
    Exemplar {
        kind: ExemplarKind::Failed,
        scenario: "play".into(),
        endpoint: "list".into(),
        phase: "steady".into(),
        outcome: Outcome::Http5xx,
        due: Instant::from_nanos(1_500_000_000),
        response_time_ns: 7_000_000,
        service_time_ns: 6_000_000,
        request: "GET http://127.0.0.1/list".to_owned(),
        request_headers: vec![("authorization".to_owned(), "[redacted]".to_owned())],
        request_body: String::new(),
        status: Some(500),
        response_headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        response_body: "out of \u{0} order".to_owned(),
        detail: detail.to_owned(),
        trace_id: None,
    }
}

/// The slowest exchange of the endpoint `list` so far.
pub(crate) fn slow(response_time_ns: u64) -> Exemplar {
    let trace_id = Some("4bf92f3577b34da6".to_owned());
    Exemplar { kind: ExemplarKind::Slowest, outcome: Outcome::Ok, response_time_ns, trace_id, ..failure("") }
}

/// The keys that [`tick`] uses; a key's place is its number.
pub(crate) fn keys() -> [Key; 5] {
    let of = |metric| Key::of(metric).scenario("play").endpoint("list").phase("steady");
    [
        of(Metric::ResponseTime).outcome(Outcome::Ok),
        of(Metric::Scheduled),
        of(Metric::CheckPassed).tag("check", "has \"items\""),
        of(Metric::ResponseTime).outcome(Outcome::Http5xx),
        of(Metric::Results).outcome(Outcome::Http5xx).tag(Key::STATUS, "500").tag(Key::REASON, "no"),
    ]
}

/// The metrics that [`tick`] uses, one of each kind.
pub(crate) fn metrics() -> [MetricKey; 4] {
    [MetricKind::Counter, MetricKind::Gauge, MetricKind::Rate, MetricKind::Trend].map(|kind| {
        let tags = BTreeMap::from([("page".into(), "a".into())]);
        MetricKey { kind, name: format!("a {kind}").into(), tags, phase: "steady".into() }
    })
}

/// A tick of a loop's second that holds nothing.
pub(crate) fn empty_tick(loop_index: u16, second: u32) -> Tick {
    let mut tick = Tick::default();
    tick.instance = evidence::Instance::of_loop(loop_index);
    tick.second = second;
    tick
}

/// Second `second` of a loop: ten answers of 2 ms and one failure, eleven scheduled.
pub(crate) fn tick(second: u32) -> Tick {
    let mut tick = empty_tick(0, second);
    if second == 0 {
        tick.new_keys = (0..).map(KeyId).zip(keys()).collect();
    }
    tick.state.covered_ns = 1_000_000_000;
    tick.state.in_flight_mean = 1.5;
    for _ in 0..10 {
        tick.record_ns(KeyId(0), 2_000_000);
    }
    tick.record_ns(KeyId(3), 7_000_000);
    tick.add(KeyId(1), second, 11);
    tick.add(KeyId(2), second, 10);
    tick.add(KeyId(4), second, 1);
    tick.scenarios.push(ScenarioState {
        scenario: "play".into(),
        active_mean: 1.5,
        active_max: 3,
        cap: 10,
        at_cap: 0.0,
    });
    if second == 0 {
        tick.metrics.new = (0..).map(MetricId).zip(metrics()).collect();
    }
    let at = Instant::from_nanos(u64::from(second) * 1_000_000_000);
    for (id, key) in (0..).map(MetricId).zip(metrics()) {
        let handle = MetricHandle { id, kind: key.kind };
        [0.25, -3.0].iter().for_each(|value| tick.metrics.add(handle, *value, at));
    }
    tick.exemplars = vec![failure("status 500"), slow(5_000_000 + u64::from(second))];
    tick
}

/// The CPU of the target `challenge`, at the end of `second`.
pub(crate) fn cpu(second: u32) -> (SeriesKey, Sample) {
    let at = Instant::from_nanos(u64::from(second) * 1_000_000_000 + 999_999_999);
    (SeriesKey::new("cpu", "challenge", "cores"), Sample { at, value: 0.25 })
}

/// What observers see in `second`: the CPU always, a notice and a profile in the first.
pub(crate) fn observed(second: u32) -> Observed {
    let mut observed = Observed { samples: vec![cpu(second)], ..Observed::default() };
    if second == 0 {
        let (at, text) = (Instant::from_nanos(5), "no process listens on TCP port 8000".to_owned());
        let observer = "challenge".to_owned();
        observed.notices.push(Notice { at, observer, instance: None, kind: NoticeKind::Gone, text });
        observed.profiles.push(profile());
    }
    observed
}

/// A profile of the first second.
pub(crate) fn profile() -> Profile {
    Profile {
        target: "challenge".to_owned(),
        kind: ProfileKind::Cpu,
        mark: "0s".to_owned(),
        begin: Instant::EPOCH,
        end: Instant::from_nanos(1_000_000_000),
        sampling: Sampling::On,
        bytes: vec![0x1f, 0x8b, 0],
    }
}

/// A sealed run of `seconds` seconds at `path`.
pub(crate) fn write_sealed(path: &Path, seconds: u32) {
    let mut writer = Writer::create(path, &manifest(), Overwrite::Refuse).unwrap();
    for second in 0..seconds {
        writer.tick(&tick(second)).unwrap();
        writer.observed(&observed(second)).unwrap();
        writer.flush().unwrap();
    }
    writer.end(&completed(seconds - 1)).unwrap();
}

/// Everything that can be read of a run, in one text; the first error otherwise.
pub(crate) fn read_all(path: &Path) -> Result<String, String> {
    let run = Stored::open(path).map_err(|e| e.to_string())?;
    let mut all = format!("{:?} {:?} {:?}", run.manifest(), run.end(), run.seconds());
    for (id, key) in run.keys() {
        all += &format!("{key:?} {:?}", run.histogram(*id, run.whole()).map_err(|e| e.to_string())?);
        all += &format!("{:?}", run.histograms(*id, run.whole()).map_err(|e| e.to_string())?);
        all += &format!("{:?}", run.counts(*id, run.whole()).map_err(|e| e.to_string())?);
        all += &format!("{}", run.total(*id).map_err(|e| e.to_string())?);
    }
    for series in run.series() {
        all += &format!("{series:?} {:?}", run.samples(series, run.whole()).map_err(|e| e.to_string())?);
    }
    for (id, key) in run.metrics() {
        all += &format!("{key:?} {:?}", run.metric(*id, run.whole()).map_err(|e| e.to_string())?);
    }
    all += &format!("{:?}", run.exemplars().map_err(|e| e.to_string())?);
    all += &format!("{:?}", run.notices().map_err(|e| e.to_string())?);
    all += &format!("{:?}", run.profiles().map_err(|e| e.to_string())?);
    all += &format!("{:?}", run.judgements().map_err(|e| e.to_string())?);
    all += &format!("{:?}", run.verify_digest().map_err(|e| e.to_string())?);
    Ok(all)
}
