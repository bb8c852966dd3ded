use insta::assert_snapshot;

use super::*;
use crate::executor::{Stage, VuStage};
use crate::model::{Flow, Phase};

fn scenario(name: &str, start_ms: u64, executor: Executor) -> Scenario {
    Scenario {
        name: name.to_owned(),
        executor,
        arrivals: Arrivals::Even,
        start: Duration::from_millis(start_ms),
        preallocated_vus: 0,
        max_vus: 1,
        graceful_stop: Duration::ZERO,
        tags: Default::default(),
        setup: Vec::new(),
        flow: Flow::Sequence(Vec::new()),
    }
}

fn workload(scenarios: Vec<Scenario>) -> Workload {
    let phase = |name: &str, start: u64, end: u64| Phase {
        name: name.to_owned(),
        start: Duration::from_secs(start),
        end: Duration::from_secs(end),
    };
    Workload {
        profiles: Vec::new(),
        name: "w".into(),
        seed: 1,
        targets: Default::default(),
        data: Default::default(),
        phases: vec![phase("warm-up", 0, 2), phase("steady", 2, 6)],
        scenarios,
        interleaved: None,
        setup: Vec::new(),
        objectives: Vec::new(),
        precheck: false,
        traceparent: false,
        family: None,
        until_decided: None,
        leak_margin: None,
        secrets: Vec::new(),
    }
}

#[test]
fn seconds_of_equal_load_are_one_row_and_totals_are_shown() {
    let offered = offer(&workload(vec![
        scenario(
            "ramp",
            500,
            Executor::RampingArrivalRate {
                start_rate: 0.0,
                stages: vec![
                    Stage { to: 20.0, over: Duration::from_secs(2) },
                    Stage { to: 20.0, over: Duration::from_secs(3) },
                ],
            },
        ),
        scenario("users", 2_000, Executor::ConstantVus { vus: 7, duration: Duration::from_secs(4) }),
    ]));
    assert_snapshot!(offered.render(), @r"
    second  phase    ramp               users
    0       warm-up     2                   -
    1       warm-up    10                   -
    2       steady     18               7 VUs
    3-4     steady     20               7 VUs
    5       steady     10               7 VUs
    all                80  as fast as it goes
    ");
    let counted = |row: &OfferRow| match row.offered[0] {
        Offered::Arrivals(n) => n * u64::from(row.to - row.from),
        _ => 0,
    };
    assert_eq!(offered.rows.iter().map(counted).sum::<u64>(), 80);
}

#[test]
fn virtual_users_and_iterations_of_closed_models_are_shown() {
    let stage = |to, seconds| VuStage { to, over: Duration::from_secs(seconds) };
    let ramp = Executor::RampingVus {
        start_vus: 1,
        stages: vec![stage(3, 2), stage(3, 1), stage(0, 2)],
        graceful_ramp_down: Duration::ZERO,
    };
    let shared = Executor::SharedIterations { vus: 2, iterations: 9, max_duration: Duration::from_secs(3) };
    let offered = offer(&workload(vec![scenario("ramp", 500, ramp), scenario("shared", 0, shared)]));
    assert_snapshot!(offered.render(), @r"
    second  phase                  ramp  shared
    0       warm-up               1 VUs   2 VUs
    1       warm-up               2 VUs   2 VUs
    2       steady                3 VUs   2 VUs
    3-4     steady                3 VUs       -
    5       steady                1 VUs       -
    all              as fast as it goes       9
    ");
}

#[test]
fn of_random_arrivals_the_expected_number_is_shown() {
    let random = Executor::ConstantArrivalRate { rate: 300.0, duration: Duration::from_secs(6) };
    let random = Scenario { arrivals: Arrivals::Poisson, ..scenario("random", 0, random) };
    assert_snapshot!(offer(&workload(vec![random])).render(), @r"
    second  phase    random
    0-1     warm-up    ~300
    2-5     steady     ~300
    all               ~1800
    ");
}

#[test]
fn a_workload_without_scenarios_offers_nothing() {
    assert_snapshot!(offer(&workload(Vec::new())).render(), @r"
    second  phase
    0-1     warm-up
    2-5     steady
    all
    ");
}
