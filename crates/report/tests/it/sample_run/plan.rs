//! The plan of the sample run.

use std::collections::BTreeMap;
use std::time::Duration;

use workload::{
    Arrivals, Comparison, Executor, Expect, Filter, Flow, HttpOrigin, Measure, Objective, Phase, ProcessRef,
    Request, Scenario, Stage, Statistic, Step, Target, Template, Weighted, Workload,
};

/// The phases: name, start and end in seconds.
pub(super) const PHASES: [(&str, u32, u32); 3] =
    [("ramp", 0, 10), ("initialize", 10, 30), ("gameplay", 30, 105)];
/// HTTP steps of gameplay: name, share of the scenario's rate, usual service time in µs.
pub(super) const PLAY: [(&str, f64, f64); 4] = [
    ("list challenges", 0.7, 2_400.0),
    ("set active", 0.15, 5_200.0),
    ("initialize", 0.1, 9_000.0),
    ("claim", 0.05, 7_000.0),
];
pub(super) const EVENTS: [(&str, f64, f64); 2] = [("stat event", 0.8, 900.0), ("login event", 0.2, 1_300.0)];

pub(crate) fn workload() -> Workload {
    let seconds = |s: u32| Duration::from_secs(u64::from(s));
    let phase = |(name, start, end): (&str, u32, u32)| Phase {
        name: name.to_owned(),
        start: seconds(start),
        end: seconds(end),
    };
    let target = Target {
        http: Some(HttpOrigin {
            scheme: workload::Scheme::Http,
            host: "127.0.0.1".to_owned(),
            port: 8000,
            base_path: "/challenge".to_owned(),
        }),
        process: Some(ProcessRef::Port(8000)),
        ..Target::default()
    };
    let ramp = vec![Stage { to: 300.0, over: seconds(10) }, Stage { to: 300.0, over: seconds(95) }];
    Workload {
        profiles: Vec::new(),
        name: "demo".to_owned(),
        seed: 7,
        targets: BTreeMap::from([("challenge".to_owned(), target)]),
        data: BTreeMap::new(),
        phases: PHASES.into_iter().map(phase).collect(),
        scenarios: vec![
            scenario("play", Executor::RampingArrivalRate { start_rate: 0.0, stages: ramp }, &PLAY),
            scenario("events", Executor::ConstantArrivalRate { rate: 500.0, duration: seconds(75) }, &EVENTS),
        ],
        interleaved: None,
        setup: Vec::new(),
        family: None,
        until_decided: None,
        leak_margin: None,
        objectives: objectives(),
        precheck: true,
        traceparent: false,
        secrets: Vec::new(),
    }
}

fn scenario(name: &str, executor: Executor, steps: &[(&str, f64, f64)]) -> Scenario {
    let template = |text: &str| Template::try_from(text.to_owned()).expect("a template without values");
    let weighted = |(name, share, _): &(&str, f64, f64)| Weighted {
        weight: (share * 100.0) as u32,
        step: Step {
            name: (*name).to_owned(),
            request: Request::Http {
                target: "challenge".to_owned(),
                method: "GET".to_owned(),
                path: template("/challenge/v1/challenges"),
                headers: Vec::new(),
                body: template(""),
                options: Default::default(),
            },
            timeout: Duration::from_secs(10),
            think: workload::Think::default(),
            expect: Expect::default(),
            extract: Vec::new(),
        },
    };
    Scenario {
        name: name.to_owned(),
        executor,
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 200,
        arrivals: Arrivals::Even,
        graceful_stop: Duration::from_secs(10),
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow: Flow::Mix(steps.iter().map(weighted).collect()),
    }
}

fn objectives() -> Vec<Objective> {
    let p95 = Measure::ResponseTime(Statistic::Quantile(0.95));
    let cpu = Measure::Series {
        statistic: Statistic::Mean,
        name: "cpu".to_owned(),
        target: Some("challenge".to_owned()),
    };
    let objective = |name: &str, source: &str, (measure, comparison, bound)| Objective {
        abort_after: None,
        name: name.to_owned(),
        source: source.to_owned(),
        measure,
        filter: Filter::default(),
        comparison,
        bound,
    };
    vec![
        objective(
            "list_fast",
            "p95(list challenges, phase = gameplay) < 50ms",
            (p95.clone(), Comparison::Below, 50.0),
        ),
        objective("set_fast", "p95(set active, phase = gameplay) < 20ms", (p95, Comparison::Below, 20.0)),
        objective("few_errors", "error_rate(all) < 0.1%", (Measure::ErrorRate, Comparison::Below, 0.001)),
        objective(
            "goodput",
            "goodput(phase = gameplay, within = 50ms) >= 780/s",
            (Measure::Goodput { within: Some(Duration::from_millis(50)) }, Comparison::AtLeast, 780.0),
        ),
        objective("cpu", "mean(cpu, target = challenge) < 0.85", (cpu, Comparison::Below, 0.85)),
    ]
}
