//! Every request is counted in the right row, and none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evidence::{Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Served, Site, Target};
use workload::draw::Draw;
use workload::schedule::Schedule;
use workload::{Executor, Scenario};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun, drive};
use crate::plan::{Plan, RPC, Tuned, at_rate, call, closed, get, mix, ms, ramp, request, scenario, sequence};

fn web() -> Target {
    let site = Site::new()
        .at("/a", Behaviour::ok())
        .at("/b", Behaviour::error_rate(4, 500))
        .at("/c", Behaviour::status(404))
        .at("/d", Behaviour::after(ms(3)))
        .at("/e", Behaviour::error_rate(3, 503))
        .at("/f", Behaviour::error_rate(5, 429));
    testbed::http(site).unwrap()
}

fn rpc() -> Target {
    let site = Site::new()
        .at("/bed.Bed/Good", GrpcBehaviour::Echo)
        .at("/bed.Bed/Slow", GrpcBehaviour::after(ms(5)))
        .at("/bed.Bed/Coded", GrpcBehaviour::status(8));
    testbed::grpc(site).unwrap()
}

/// How many requests the target's log contains, by path and status.
fn answered(target: &Target) -> BTreeMap<(String, u16), u64> {
    let mut answers = BTreeMap::new();
    for Served { path, status, .. } in target.log() {
        *answers.entry((path, status.expect("the target answers every request"))).or_default() += 1;
    }
    answers
}

/// The same from the accounting, with each endpoint's path.
fn counted(
    ran: &FinishedRun,
    endpoints: &[(&str, &str)],
    code: fn(Outcome) -> u16,
) -> BTreeMap<(String, u16), u64> {
    let mut answers = BTreeMap::new();
    for (endpoint, path) in endpoints {
        for (outcome, count) in ran.run.outcomes(endpoint) {
            *answers.entry(((*path).to_owned(), code(outcome))).or_default() += count;
        }
    }
    answers
}

fn http_status(outcome: Outcome) -> u16 {
    match outcome {
        Outcome::Ok => 200,
        Outcome::Http4xx => 404,
        Outcome::Http429 => 429,
        Outcome::Http5xx => 500,
        Outcome::Http503 => 503,
        other => panic!("{other} has no status"),
    }
}

fn grpc_code(outcome: Outcome) -> u16 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::Grpc(code) => u16::from(code.number()),
        other => panic!("{other} has no status"),
    }
}

/// Every executor, protocol and flow at once.
fn everything(web: &Target, rpc: &Target) -> Plan {
    let later = |scenario: Scenario| Scenario { start: ms(300), ..scenario };
    Plan::of(web.addr())
        .grpc(RPC, rpc.addr())
        .phases(&[("early", ms(400)), ("middle", ms(500)), ("late", ms(600))])
        .scenario(scenario(
            "open",
            at_rate(150.0, ms(1_300)),
            mix([(3, get("a", "/a")), (1, get("b", "/b"))]),
        ))
        .scenario(later(scenario(
            "ramp",
            ramp(0.0, &[(200.0, ms(500)), (50.0, ms(500))]),
            sequence([get("c", "/c")]),
        )))
        .scenario(scenario(
            "closed",
            closed(4, ms(1_200)),
            sequence([get("d", "/d"), get("e", "/e"), get("f", "/f")]),
        ))
        .scenario(scenario(
            "calls",
            at_rate(100.0, ms(1_000)),
            mix([(1, call("Good", "x")), (1, call("Coded", "y"))]),
        ))
        .scenario(later(scenario("callers", closed(3, ms(800)), sequence([call("Slow", "z")]))))
}

fn check_everything(loops: u16) {
    let (web, rpc) = (web(), rpc());
    let plan = everything(&web, &rpc);
    let scenarios = plan.workload.scenarios.clone();
    let ran = Drive::new(plan.compile()).loops(loops).run();
    let run = ran.assert_sound();
    let endpoints = [("a", "/a"), ("b", "/b"), ("c", "/c"), ("d", "/d"), ("e", "/e"), ("f", "/f")];
    assert_eq!(counted(&ran, &endpoints, http_status), answered(&web));
    let methods = [("Good", "/bed.Bed/Good"), ("Slow", "/bed.Bed/Slow"), ("Coded", "/bed.Bed/Coded")];
    assert_eq!(counted(&ran, &methods, grpc_code), answered(&rpc));
    assert_eq!(run.all(Metric::Requests), web.requests() + rpc.requests());
    for scenario in scenarios {
        check_schedule(&ran, &scenario);
    }
}

/// An open scenario's arrivals are those of its schedule, each in the phase and the second in which it was due.
fn check_schedule(ran: &FinishedRun, scenario: &Scenario) {
    let Some(schedule) = Schedule::new(&scenario.executor) else { return };
    let since = |at: u64| ms(at).saturating_sub(scenario.start);
    for (phase, from, to) in [("early", 0, 400), ("middle", 400, 900), ("late", 900, 9_000)] {
        let mine = |key: &evidence::Key| *key.scenario == *scenario.name && &*key.phase == phase;
        let expected = schedule.arrivals_between(since(from), since(to));
        assert_eq!(ran.run.count(Metric::Scheduled, mine), expected, "{} in {phase}", scenario.name);
        // The first request of an iteration is due when its arrival is, and these iterations have one.
        assert_eq!(ran.run.count(Metric::Requests, mine), ran.run.count(Metric::Started, mine));
    }
    assert!(schedule.count() > 0);
}

#[test]
fn one_loop_counts_every_request_in_its_row() {
    check_everything(1);
}

#[test]
fn two_loops_count_every_request_in_its_row() {
    check_everything(2);
}

#[test]
fn three_loops_count_every_request_in_its_row() {
    check_everything(3);
}

/// The step that an arrival draws is a function of the seed and its number: not of time, nor of the loop.
#[test]
fn the_steps_of_a_mix_are_drawn_from_its_seed() {
    // Nothing else in this plan draws, so the mix has the first salt.
    const FIRST_SALT: u64 = 1;
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let steps = mix([
            (7, get("seven", "/0/${iteration}")),
            (2, get("two", "/1/${iteration}")),
            (1, get("one", "/2/${iteration}")),
        ]);
        let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(500.0, ms(1_000)), steps));
        let seed = plan.workload.seed;
        let ran = Drive::new(plan.compile()).loops(loops).run();
        ran.assert_sound();
        let paths: BTreeSet<String> = target.log().into_iter().map(|s| s.path).collect();
        let drawn = |n: u64| Draw::new(seed, 0, n).weighted(FIRST_SALT, &[7, 9, 10]);
        let expected: BTreeSet<String> = (0..500).map(|n| format!("/{}/{n}", drawn(n))).collect();
        assert_eq!(paths, expected);
        for (index, endpoint) in ["seven", "two", "one"].into_iter().enumerate() {
            let expected = (0..500).filter(|n| drawn(*n) == index).count() as u64;
            let mine = |key: &evidence::Key| &*key.endpoint == endpoint;
            assert_eq!(ran.run.count(Metric::Scheduled, mine), expected);
            assert_eq!(ran.run.outcomes(endpoint), [(Outcome::Ok, expected)].into());
        }
    }
}

#[test]
fn requests_are_sent_as_their_steps_define() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let rpc = rpc();
    let post = request("POST", "post", "/p?q=${iteration}")
        .header("x-user", "u-${vu}")
        .body("{\"n\": ${iteration}}");
    let executor = Executor::ConstantArrivalRate { rate: 1.0, duration: Duration::from_millis(1) };
    let plan = Plan::of(target.addr()).grpc(RPC, rpc.addr()).scenario(scenario(
        "s",
        executor,
        sequence([post, call("Good", "hello").header("x-meta", "m")]),
    ));
    let mut plan = plan;
    plan.workload.traceparent = true;
    drive(plan.compile()).assert_sound();
    let [post] = &target.log()[..] else { panic!("one request") };
    assert_eq!((post.method.as_str(), post.path.as_str(), post.query.as_str()), ("POST", "/p", "q=0"));
    assert_eq!((post.header("x-user"), &post.body[..]), (Some("u-1"), &b"{\"n\": 0}"[..]));
    assert_eq!(post.header("host"), Some(target.addr().to_string().as_str()));
    let trace = post.header("traceparent").unwrap();
    assert_eq!((trace.len(), &trace[..3], &trace[52..]), (55, "00-", "-01"));
    let [called] = &rpc.log()[..] else { panic!("one call") };
    assert_eq!((called.header("x-meta"), &called.body[..]), (Some("m"), &b"\x0a\x05hello"[..]));
    assert_eq!(called.header("te"), Some("trailers"));
    assert!(called.header("content-type").is_some_and(|kind| kind.starts_with("application/grpc")));
}

#[test]
fn runs_with_the_same_seed_send_other_trace_ids() {
    let traces = || {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let mut plan = Plan::of(target.addr());
        plan.workload.traceparent = true;
        let load = scenario("s", at_rate(50.0, Duration::from_millis(200)), sequence([get("a", "/")]));
        drive(plan.scenario(load).compile()).assert_sound();
        let id = |served: &Served| served.header("traceparent").unwrap()[3..35].to_owned();
        target.log().iter().map(id).collect::<BTreeSet<String>>()
    };
    let (first, second) = (traces(), traces());
    assert_eq!((first.len(), second.len()), (10, 10));
    assert!(first.is_disjoint(&second), "{first:?}");
}
