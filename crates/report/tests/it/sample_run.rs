//! A sample run like a real one: three phases, two scenarios, HTTP and gRPC, a stall of the target in the middle. Every
//! number comes from a fixed sequence, so two sample runs are equal.

#[path = "sample_run/plan.rs"]
mod plan;

use std::collections::BTreeMap;

use evidence::memory::MemoryRun;
use evidence::{
    Claim, Ending, Exemplar, ExemplarKind, Figure, Finding, GrpcCode, Instant, Judgement, Key, Manifest,
    Metric, Outcome, RuleId, RunEnd, Scope, SeriesKey, Severity, Verdict,
};

pub(crate) use plan::workload;
use plan::{EVENTS, PHASES, PLAY};

const STALL_AT: u32 = 71;

/// Pseudo-random numbers from 0 to 1, the same in every run.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    /// About log-normal around `typical`, with a tail.
    fn skewed(&mut self, typical: f64) -> f64 {
        let sum: f64 = (0..6).map(|_| self.next()).sum::<f64>() - 3.0;
        typical * (0.55 * sum).exp() * if self.next() < 0.004 { 6.0 } else { 1.0 }
    }
}

/// A run of the sample plan up to second `seconds` (at most 105); without an ending it was killed.
pub(crate) fn run(seconds: u32, ending: Option<Ending>) -> MemoryRun {
    let mut run = MemoryRun::new(manifest());
    let mut sequence = Sequence(42);
    for second in 0..seconds {
        let phase = phase_at(second);
        let play_rate = if second < 10 { 30.0 * f64::from(second) + 15.0 } else { 300.0 };
        let play = |endpoint, rate, typical_us| EndpointSecond {
            second,
            phase,
            scenario: "play",
            endpoint,
            rate,
            typical_us,
        };
        if phase == "initialize" {
            step(&mut run, play("initialize", play_rate, 9_000.0), &mut sequence);
        } else {
            for (name, share, typical_us) in PLAY {
                step(&mut run, play(name, play_rate * share, typical_us), &mut sequence);
            }
        }
        if phase == "gameplay" {
            for (endpoint, share, typical_us) in EVENTS {
                let rate = 500.0 * share;
                let of = EndpointSecond { second, phase, scenario: "events", endpoint, rate, typical_us };
                step(&mut run, of, &mut sequence);
            }
        }
        observe(&mut run, second, &mut sequence);
    }
    exemplars(&mut run);
    if let Some(ending) = ending {
        run.finish(RunEnd::new(ending, seconds.saturating_sub(1)));
    }
    run
}

fn phase_at(second: u32) -> &'static str {
    PHASES.into_iter().find(|(_, _, end)| second < *end).unwrap_or(PHASES[2]).0
}

struct EndpointSecond<'a> {
    second: u32,
    phase: &'a str,
    scenario: &'a str,
    endpoint: &'a str,
    rate: f64,
    /// Usual service time in µs.
    typical_us: f64,
}

fn step(run: &mut MemoryRun, of: EndpointSecond<'_>, sequence: &mut Sequence) {
    let EndpointSecond { second, phase, scenario, endpoint, rate, typical_us } = of;
    let n = (rate + sequence.next()) as u64;
    let key = |metric| Key::of(metric).scenario(scenario).endpoint(endpoint).phase(phase);
    let is_stalled = (STALL_AT..STALL_AT + 2).contains(&second);
    let dropped = if is_stalled && scenario == "play" { n / 20 } else { 0 };
    run.add(&key(Metric::Scheduled), second, n);
    run.add(&key(Metric::Started), second, n - dropped);
    run.add(&key(Metric::DroppedCap), second, dropped);
    run.add(&key(Metric::IterationsDone), second, n - dropped);
    run.add(&key(Metric::Requests), second, n - dropped);
    run.add(&key(Metric::BytesIn), second, (n - dropped) * 1_840);
    run.add(&key(Metric::BytesOut), second, (n - dropped) * 214);
    for i in 0..n - dropped {
        let service = sequence.skewed(typical_us);
        let stalled_us = if is_stalled { (i as f64 / n as f64) * 700_000.0 } else { 0.0 };
        let outcome = match (scenario, is_stalled, sequence.next()) {
            ("play", true, c) if c < 0.08 => Outcome::Http503,
            ("play", true, c) if c < 0.10 => Outcome::Timeout,
            ("events", true, c) if c < 0.05 => {
                Outcome::Grpc(GrpcCode::from_name("UNAVAILABLE").expect("a code"))
            }
            ("play", _, c) if c < 0.0006 => Outcome::Http5xx,
            _ => Outcome::Ok,
        };
        let response = (service + stalled_us + 60.0) as u64;
        run.record(&key(Metric::ResponseTime).outcome(outcome), second, response, 1);
        run.add(&result(key(Metric::Results).outcome(outcome)), second, 1);
        run.record(&key(Metric::ServiceTime).outcome(outcome), second, service as u64, 1);
        let whole = Key::of(Metric::IterationTime).scenario(scenario).phase(phase).outcome(outcome);
        run.record(&whole, second, response, 1);
        let lag = sequence.skewed(55.0) as u64;
        run.record(&Key::of(Metric::StartLag).scenario(scenario).phase(phase), second, lag, 1);
        let check = if outcome == Outcome::Ok { Metric::CheckPassed } else { Metric::CheckFailed };
        let name = if scenario == "play" { "status" } else { "grpc status" };
        run.add(&key(check).tag("check", name), second, 1);
    }
    run.record(&Key::of(Metric::LoopStall), second, sequence.skewed(120.0) as u64, 1_000);
}

/// The key of a result with the status and the reason of its outcome.
fn result(key: Key) -> Key {
    match key.outcome {
        Some(Outcome::Http503) => key.tag(Key::STATUS, "503").tag(Key::REASON, "status 503, expected 200"),
        Some(Outcome::Http5xx) => key.tag(Key::STATUS, "500").tag(Key::REASON, "status 500, expected 200"),
        Some(Outcome::Grpc(code)) => {
            key.tag(Key::STATUS, &code.to_string()).tag(Key::REASON, "gRPC status UNAVAILABLE: draining")
        }
        Some(Outcome::Timeout) => key.tag(Key::REASON, "no complete response within 10 s"),
        _ if &*key.scenario == "events" => key.tag(Key::STATUS, "OK"),
        _ => key.tag(Key::STATUS, "200"),
    }
}

fn observe(run: &mut MemoryRun, second: u32, sequence: &mut Sequence) {
    let busy = match phase_at(second) {
        "ramp" => 0.05 + 0.03 * f64::from(second),
        "initialize" => 0.55,
        _ => 0.62,
    };
    let noise = 0.06 * sequence.next();
    run.observe(&SeriesKey::new("cpu", "challenge", "cores"), second, busy + noise);
    let rss = 48e6 + 4e5 * f64::from(second) + 1e6 * sequence.next();
    run.observe(&SeriesKey::new("rss", "challenge", "bytes"), second, rss);
    run.observe(&SeriesKey::new("fds", "challenge", "1"), second, 71.0);
    run.observe(&SeriesKey::new("threads", "challenge", "1"), second, 9.0);
    let active = SeriesKey::new("active_max", SeriesKey::GENERATOR, "1").part("play");
    run.observe(&active, second, (6 + second % 5).into());
    run.observe(&SeriesKey::new("cpu", SeriesKey::GENERATOR, "cores"), second, 0.11 + noise / 3.0);
    run.observe(
        &SeriesKey::new("rss", SeriesKey::GENERATOR, "bytes"),
        second,
        21e6 + 2e4 * f64::from(second),
    );
    let queue = if (STALL_AT..STALL_AT + 2).contains(&second) { 210.0 } else { 2.4 * busy };
    run.observe(
        &SeriesKey::new("in_flight", SeriesKey::GENERATOR, "1").instance(evidence::Instance::default()),
        second,
        queue + noise,
    );
}

fn exemplars(run: &mut MemoryRun) {
    let failed = [
        ("list challenges", Outcome::Http503, Some(503), "status 503, expected 200"),
        ("list challenges", Outcome::Timeout, None, "no complete response within 10 s"),
        ("claim", Outcome::Http5xx, Some(500), "status 500, expected 200"),
    ];
    for (i, (endpoint, outcome, status, detail)) in failed.into_iter().enumerate() {
        run.keep(Exemplar {
            outcome,
            status,
            detail: detail.to_owned(),
            ..exemplar(ExemplarKind::Failed, endpoint, (i as u64 + 1) * 400_000_000)
        });
    }
    for (i, endpoint) in ["list challenges", "set active", "stat event"].into_iter().enumerate() {
        run.keep(exemplar(ExemplarKind::Slowest, endpoint, 690_000_000 - i as u64 * 40_000_000));
    }
}

/// A successful exchange.
pub(crate) fn exemplar(kind: ExemplarKind, endpoint: &str, response_time_ns: u64) -> Exemplar {
    Exemplar {
        kind,
        scenario: "play".into(),
        endpoint: endpoint.into(),
        phase: "gameplay".into(),
        outcome: Outcome::Ok,
        due: Instant::from_nanos(71_200_000_000),
        response_time_ns,
        service_time_ns: response_time_ns / 20,
        request: "GET http://127.0.0.1:8000/challenge/v1/challenges".to_owned(),
        request_headers: vec![
            ("x-mock-user-id".to_owned(), "user-417".to_owned()),
            ("authorization".to_owned(), "<redacted>".to_owned()),
        ],
        request_body: String::new(),
        status: Some(200),
        response_headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("retry-after".to_owned(), "1".to_owned()),
        ],
        response_body: "{\"errorCode\": 20008, \"message\": \"too busy: <write queue> is full\"}".to_owned(),
        detail: String::new(),
        trace_id: None,
    }
}

pub(crate) fn manifest() -> Manifest {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    Manifest {
        schema_version: 1,
        workload: serde_json::to_value(workload()).expect("a workload serialises"),
        workload_digest: "9f2c6e0b7a4d4b6f8f0f3d0c1a7e5b92c4d8e6f1a2b3c4d5e6f708192a3b4c5d".to_owned(),
        seed: 7,
        started_at: "2026-11-21T10:40:19Z".to_owned(),
        targets: BTreeMap::from([(
            "challenge".to_owned(),
            map(&[("pid", "4711"), ("port", "8000"), ("server", "challenge/0.1.0")]),
        )]),
        environment: map(&[
            ("cpu_model", "Example CPU 2.4 GHz"),
            ("cores", "2"),
            ("memory_bytes", "8589934592"),
            ("kernel", "Linux 6.12"),
        ]),
        generator: map(&[("version", "0.1.0"), ("loops", "1"), ("open_files_limit", "65536")]),
        ..Manifest::named("demo")
    }
}

pub(crate) fn judgement() -> Judgement {
    let claim = |(name, text): (&str, &str),
                 verdict,
                 (observed, bound, unit): (f64, f64, &str),
                 interval,
                 reason: &str| Claim {
        name: name.to_owned(),
        text: text.to_owned(),
        verdict,
        observed: Figure::new("observed", observed, unit),
        bound: Figure::new("bound", bound, unit),
        interval,
        samples: 15_750,
        share: None,
        rate: None,
        holds_in_k6: None,
        reasons: (!reason.is_empty()).then(|| reason.to_owned().into()).into_iter().collect(),
    };
    Judgement {
        rules_version: 1,
        verdict: Verdict::Fail,
        because: "1 of 5 objectives was violated: the error rate of few_errors was 0.187 %, the limit is below 0.1 %."
            .to_owned(),
        assumes: None,
        claims: vec![
            claim(
                ("list_fast", "p95(list challenges, phase = gameplay) < 50ms"),
                Verdict::Pass,
                (6.318, 50.0, "ms"),
                Some((6.21, Some(6.44))),
                "",
            ),
            claim(
                ("set_fast", "p95(set active, phase = gameplay) < 20ms"),
                Verdict::Inconclusive,
                (19.997, 20.0, "ms"),
                Some((18.2, None)),
                "The interval contains the limit: a longer run would decide.",
            ),
            claim(
                ("few_errors", "error_rate(all) < 0.1%"),
                Verdict::Fail,
                (0.001_87, 0.001, "1"),
                Some((0.001_61, Some(0.002_16))),
                "147 of 78,431 arrivals failed or were dropped.",
            ),
            claim(
                ("goodput", "goodput(phase = gameplay, within = 50ms) >= 780/s"),
                Verdict::Pass,
                (787.4, 780.0, "1/s"),
                Some((784.9, Some(789.8))),
                "",
            ),
            claim(
                ("cpu", "mean(cpu, target = challenge) < 0.85"),
                Verdict::Pass,
                (0.621, 0.85, "cores"),
                None,
                "",
            ),
        ],
        findings: findings(),
    }
}

fn findings() -> Vec<Finding> {
    let gameplay = Scope { phase: Some("gameplay".to_owned()), ..Scope::default() };
    vec![
        Finding {
            rule: RuleId::O1,
            title: "objective-missed".to_owned(),
            severity: Severity::Fail,
            scope: Scope { objective: Some("few_errors".to_owned()), ..Scope::default() },
            what: "0.187 % of 78,431 arrivals failed or were dropped; the limit is below 0.1 %.".to_owned(),
            figures: vec![Figure::new("error rate", 0.187, "%"), Figure::new("bound", 0.1, "%")],
            affects: Vec::new(),
            why: "Each of these is a user without a response.".to_owned(),
            next: "Look at the failed exchanges below; nearly all fall into seconds 71 and 72.".to_owned(),
        },
        Finding {
            rule: RuleId::L4,
            title: "closed-loop-or-capped".to_owned(),
            severity: Severity::Caution,
            scope: gameplay,
            what: "For 1.9 s all 200 virtual users were in use and 30 arrivals were dropped.".to_owned(),
            figures: vec![Figure::new("time at the VU limit", 2.5, "%"), Figure::new("dropped", 30.0, "1")],
            affects: Vec::new(),
            why: "While arrivals are dropped at the VU limit, the load is not the planned load, and the longest waits are missing.".to_owned(),
            next: "Raise max_vus to at least rate × timeout, or find what stalled the target at 1:11.".to_owned(),
        },
    ]
}
