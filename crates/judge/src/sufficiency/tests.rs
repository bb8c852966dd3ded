use workload::{Executor, Phase, Stage, Weighted, objective};

use super::*;
use crate::testing;

/// 10 s of ramp to 100/s, and 50 s at 100/s: 5,500 arrivals, three of four to `list`.
fn workload(flow: impl FnOnce(Vec<Step>) -> Flow) -> Workload {
    let mut workload = testing::workload();
    let phase = |name: &str, start: u64, end: u64| Phase {
        name: name.to_owned(),
        start: Duration::from_secs(start),
        end: Duration::from_secs(end),
    };
    workload.phases = vec![phase("ramp", 0, 10), phase("steady", 10, 60)];
    let stage = |over: u64| Stage { to: 100.0, over: Duration::from_secs(over) };
    let scenario = &mut workload.scenarios[0];
    scenario.executor = Executor::RampingArrivalRate { start_rate: 0.0, stages: vec![stage(10), stage(50)] };
    let steps = scenario.steps().cloned().collect();
    scenario.flow = flow(steps);
    workload
}

fn mix(steps: Vec<Step>) -> Flow {
    let weighted = |pair: (u32, Step)| Weighted { weight: pair.0, step: pair.1 };
    Flow::Mix([3, 1].into_iter().zip(steps).map(weighted).collect())
}

fn expected(mut workload: Workload, text: &str) -> ExpectedObservations {
    workload.objectives = vec![objective::parse("asked", text).unwrap()];
    expected_observations(&workload).remove(0)
}

#[test]
fn arrivals_follow_from_schedule_phase_and_weights() {
    for (text, count) in [
        ("p95(all) < 50ms", 5_500),
        ("p95(list) < 50ms", 4_125),
        ("p95(claim, phase = steady) < 50ms", 1_250),
        ("p95(list, phase = ramp) < 50ms", 375),
        ("error_rate(phase = ramp) < 1%", 500),
        ("p95(other) < 50ms", 0),
    ] {
        assert_eq!(expected(workload(mix), text).expected, Some(count), "{text}");
    }
    assert_eq!(expected(workload(Flow::Sequence), "p95(all) < 50ms").expected, Some(11_000));
    assert_eq!(expected(workload(Flow::Sequence), "p95(list) < 50ms").expected, Some(5_500));
    assert_eq!(expected(workload(Flow::Sequence), "iteration_p95(all) < 50ms").expected, Some(5_500));
}

#[test]
fn what_an_objective_needs_follows_from_the_share_that_it_allows() {
    for (text, least) in [
        ("p95(all) < 50ms", Some(59)),
        ("p99(all) < 50ms", Some(299)),
        ("p99.9(all) < 50ms", Some(2_995)),
        ("error_rate(all) < 0.1%", Some(2_995)),
        ("check_rate(all) > 99%", Some(299)),
        ("throughput(all) > 5/s", None),
        ("avg(all) < 5ms", None),
        ("max(cpu) < 1", None),
    ] {
        let seen = expected(workload(mix), text);
        assert_eq!((seen.least, seen.needed), (least, least.map(|least| least * 10)), "{text}");
    }
}

#[test]
fn too_few_arrivals_are_named_with_the_time_that_enough_take() {
    let steady = expected(workload(mix), "p99(claim, phase = steady) < 50ms");
    assert!(steady.are_too_few());
    // 1,250 in 50 s: 2,990 take 119.6 s.
    assert_eq!(steady.time_needed, Some(Duration::from_secs_f64(119.6)));
    assert!(!expected(workload(mix), "p95(list, phase = steady) < 50ms").are_too_few());
}

#[test]
fn of_a_closed_model_only_a_number_of_iterations_is_known() {
    let closed = |executor| {
        let mut workload = workload(mix);
        workload.scenarios[0].executor = executor;
        expected(workload, "p95(all) < 50ms").expected
    };
    let minute = Duration::from_secs(60);
    assert_eq!(closed(Executor::ConstantVus { vus: 5, duration: minute }), None);
    let iterations = Executor::SharedIterations { vus: 5, iterations: 200, max_duration: minute };
    assert_eq!(closed(iterations), Some(200));
}
