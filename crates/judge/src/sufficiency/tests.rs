use workload::{Executor, Phase, Stage, Think, Weighted, objective};

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
    let script = |_| Flow::Script { function: "default".to_owned() };
    let of_script = expected(workload(script), "p95(all) < 50ms");
    // 5,500 iterations in 60 s; those of 0.1 s, 9.2, are taken to act as one, and 59 that do not are needed.
    assert_eq!((of_script.expected, of_script.iterations, of_script.needed), (None, Some(5_500), Some(541)));
    assert_eq!(expected(workload(script), "iteration_p95(all) < 50ms").expected, Some(5_500));
}

#[test]
fn as_many_as_are_needed_pass_if_none_is_beyond_the_bound_and_one_in_ten_fewer_do_not() {
    use crate::shares::{BeyondCounts, Cut, CutPlace, ShareAnswer, ShareQuestion};
    use stats::Proportion;
    for (text, allowed) in
        [("p95(all) < 50ms", 0.05), ("p99.9(all) < 50ms", 0.001), ("error_rate(all) < 1%", 0.01)]
    {
        let ExpectedObservations { needed, assumed_effect, .. } = expected(workload(mix), text);
        let needed = needed.unwrap();
        let is_passed = |arrivals: u64| {
            let observed = Proportion { part: 0, whole: arrivals };
            let question = ShareQuestion {
                counts: BeyondCounts { arrivals, least: 0, most: 0, observed, at_bound: 0 },
                at_bound: Cut { place: CutPlace::NearBound, seconds: vec![observed] },
                other_cuts: Vec::new(),
                allowed,
                confidence: CONFIDENCE,
                assumed_effect,
            };
            question.decide().answer == ShareAnswer::Pass
        };
        assert!(is_passed(needed) && !is_passed(needed - 10), "{text}: {needed}");
    }
}

#[test]
fn what_an_objective_needs_follows_from_the_share_that_it_allows() {
    for (text, least) in [
        ("p95(all) < 50ms", Some(59)),
        ("p99(all) < 50ms", Some(299)),
        ("p99.9(all) < 50ms", Some(2_995)),
        ("error_rate(all) < 0.1%", Some(2_995)),
        ("check_rate(all) > 99%", Some(299)),
        ("check_rate(all) < 5%", Some(59)),
        ("error_rate(all) > 95%", Some(59)),
        ("error_rate(all) <= 0%", None),
        ("p50(all) > 5ms", Some(5)),
        ("service_p95(all) < 50ms", Some(59)),
        ("iteration_p99(all) < 50ms", Some(299)),
        ("goodput(phase = steady) >= 99/s", None),
        ("throughput(all) > 5/s", None),
        ("avg(all) < 5ms", None),
        ("max(cpu) < 1", None),
    ] {
        let seen = expected(workload(mix), text);
        let assumed = match text.contains("rate(") {
            true => 10.0,
            // 5,500 in 60 s, or one in four or three of four of them.
            false => (seen.expected.unwrap_or(0) as f64 / 600.0).max(3.0),
        };
        let needed = least.map(|least| (least as f64 * assumed).ceil() as u64);
        assert_eq!((seen.least, seen.needed), (least, needed), "{text}");
    }
}

#[test]
fn an_objective_that_allows_none_needs_no_number() {
    for (text, allows_none) in [
        ("error_rate(all) <= 0%", true),
        ("goodput(phase = steady) >= 100/s", false),
        ("check_rate(all) >= 100%", true),
        ("error_rate(all) < 1%", false),
        ("throughput(all) > 5/s", false),
    ] {
        assert_eq!(expected(workload(mix), text).allows_none, allows_none, "{text}");
    }
}

#[test]
fn a_rate_above_the_offered_one_is_named() {
    for (text, offered) in [
        ("goodput(phase = steady) >= 101/s", Some(100.0)),
        ("throughput(list, phase = steady) > 80/s", Some(75.0)),
        ("throughput(phase = steady) >= 100/s", None),
        ("goodput(phase = steady) < 101/s", None),
    ] {
        let seen = expected(workload(mix), text);
        assert_eq!((seen.offered_below, seen.needed), (offered, None), "{text}");
    }
}

#[test]
fn checks_are_counted_by_step_and_name() {
    let with_body = |mut steps: Vec<Step>| {
        steps[0].expect.body_contains = vec![workload::Template::literal("ok")];
        mix(steps)
    };
    for (text, count) in [
        ("check_rate(all) > 99%", Some(5_500 + 4_125)),
        ("check_rate(all, check = status) > 99%", Some(5_500)),
        ("check_rate(all, check = \"body contains (1)\") > 99%", Some(4_125)),
        ("check_rate(claim, check = \"body contains (1)\") > 99%", Some(0)),
    ] {
        assert_eq!(expected(workload(with_body), text).expected, count, "{text}");
    }
}

#[test]
fn too_few_arrivals_are_named_with_the_time_that_enough_take() {
    let steady = expected(workload(mix), "p99.9(claim, phase = steady) < 50ms");
    assert!(steady.are_too_few());
    // 1,250 in 50 s: three times 2,995 take 359.4 s.
    assert_eq!(steady.time_needed, Some(Duration::from_secs_f64(359.4)));
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

#[test]
fn virtual_users_who_think_make_at_most_as_many_as_their_pace_allows() {
    let thinking = |text: &str| {
        let mut workload = workload(mix);
        let scenario = &mut workload.scenarios[0];
        scenario.executor = Executor::ConstantVus { vus: 5, duration: Duration::from_secs(60) };
        scenario.flow.steps_mut().for_each(|step| step.think = Think::Constant(Duration::from_secs(2)));
        expected(workload, text)
    };
    // Five begin at once, and then one every 2 s each.
    let whole = thinking("p95(all) < 50ms");
    assert_eq!((whole.expected, whole.is_at_most), (Some(155), true));
    assert!(whole.are_too_few(), "{whole:?}");
    assert_eq!(thinking("p95(list, phase = ramp) < 50ms").expected, Some(23), "three quarters of 30");
    let rate = |text| thinking(text).offered_below.map(|rate| rate.round());
    assert_eq!((rate("goodput(all) > 2/s"), rate("goodput(all) > 3/s")), (None, Some(3.0)));
}

/// Of a plan with so many iterations, each with one request.
fn of_iterations(iterations: u64, text: &str) -> ExpectedObservations {
    let mut workload = workload(mix);
    workload.scenarios[0].executor =
        Executor::SharedIterations { vus: 5, iterations, max_duration: Duration::from_secs(600) };
    expected(workload, text)
}

#[test]
fn as_many_as_needed_are_enough_and_one_less_is_too_few() {
    for (text, needed) in
        [("p95(all) < 50ms", 177), ("error_rate(all) < 0.1%", 29_950), ("check_rate(all) > 99%", 2_990)]
    {
        assert!(of_iterations(needed - 1, text).are_too_few(), "{text}");
        assert!(!of_iterations(needed, text).are_too_few(), "{text}");
    }
    assert!(of_iterations(0, "p95(all) < 50ms").are_too_few());
}

#[test]
fn iterations_have_no_rate_from_which_a_time_follows() {
    assert_eq!(of_iterations(100, "p95(all) < 50ms").time_needed, None);
}

#[test]
fn how_often_a_virtual_users_setup_is_sent_is_unknown() {
    let mut workload = workload(mix);
    workload.scenarios[0].setup = vec![Step { name: "login".to_owned(), ..step_of(&workload) }];
    let seen = expected(workload, "p95(login) < 50ms");
    assert_eq!((seen.expected, seen.are_too_few()), (None, false));
}

fn step_of(workload: &Workload) -> Step {
    workload.scenarios[0].steps().next().unwrap().clone()
}
