//! Exemplars: a bounded number, the most useful ones, and without secrets.

use evidence::exemplar::EXEMPLARS_PER_OUTCOME;
use evidence::{Exemplar, ExemplarKind, Outcome, Run};
use testbed::{Behaviour, CannedResponse, GrpcBehaviour, Site};
use workload::{Request, Retry};

use crate::accounting::Accounting;
use crate::drive::{Drive, drive, record_and};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, get, ms, request, scenario, sequence};

const SECRET: &str = "hunter2-hunter2";

fn kept(plan: Plan) -> Vec<Exemplar> {
    drive(plan.compile_with(&[("PASSWORD", SECRET)])).assert_sound().exemplars().unwrap()
}

#[test]
fn at_most_five_failures_of_each_kind_are_kept_and_the_slowest_success() {
    let slow = Behaviour::after(ms(120));
    let by_turns = Behaviour::Sequence(vec![
        Behaviour::status(500),
        Behaviour::status(404),
        Behaviour::ok(),
        Behaviour::reset(),
    ]);
    let target = testbed::http(
        Site::new().at("/turns", by_turns).at("/once", Behaviour::Sequence(vec![slow, Behaviour::ok()])),
    )
    .unwrap();
    let plan = Plan::of(target.addr())
        .connecting(WEB, |c| c.retry = Retry::Never)
        .scenario(scenario("s", at_rate(20.0, ms(6_200)), sequence([get("turns", "/turns?${iteration}")])))
        .scenario(scenario("o", at_rate(20.0, ms(100)), sequence([get("once", "/once?${iteration}")])));
    let kept = kept(plan);
    for outcome in [Outcome::Http5xx, Outcome::Http4xx, Outcome::Reset] {
        let failed: Vec<_> =
            kept.iter().filter(|e| e.outcome == outcome && &*e.endpoint == "turns").collect();
        assert_eq!(failed.len(), EXEMPLARS_PER_OUTCOME, "{outcome}");
        assert!(failed.iter().all(|e| e.kind == ExemplarKind::Failed && !e.detail.is_empty()), "{failed:?}");
    }
    let slowest = kept.iter().rfind(|e| e.kind == ExemplarKind::Slowest && &*e.endpoint == "once").unwrap();
    assert!(slowest.response_time_ns >= 120_000_000 && slowest.service_time_ns >= 120_000_000, "{slowest:?}");
    let log = target.log();
    let longest = log.iter().filter(|s| s.path == "/once").max_by_key(|s| s.held()).unwrap();
    assert!(slowest.request.ends_with(&format!("/once?{}", longest.query)), "{}", slowest.request);
    // Each was the slowest so far when it was added.
    let times: Vec<u64> = kept
        .iter()
        .filter(|e| e.kind == ExemplarKind::Slowest && &*e.endpoint == "turns")
        .map(|e| e.response_time_ns)
        .collect();
    assert!(times.is_sorted() && !times.is_empty(), "{times:?}");
}

#[test]
fn no_exemplar_contains_a_secret() {
    let answer = CannedResponse::new(500)
        .json(&serde_json::json!({ "token": "issued-secret", "echo": SECRET, "plain": "visible" }))
        .header("set-cookie", "session=cookie-secret");
    let target = testbed::http(Site::from(Behaviour::from(answer))).unwrap();
    let step = request("POST", "login", "/login?access_token=query-secret&page=2")
        .header("authorization", "Bearer header-secret")
        .header("cookie", "session=request-secret")
        .header("x-signed", "${env.PASSWORD}")
        .header("x-plain", "visible")
        .body("{\"user\": \"u\", \"password\": \"${env.PASSWORD}\", \"pin\": \"pin-secret\"}");
    let mut plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(10.0, ms(100)), sequence([step])));
    plan.workload.secrets = vec!["pin".to_owned()];
    let kept = kept(plan);
    let [exchange] = &kept[..] else { panic!("one failed exchange: {kept:?}") };
    assert_eq!(target.log()[0].header("x-signed"), Some(SECRET), "it was sent");
    let text = format!("{exchange:?}");
    assert!(!text.contains("secret") && !text.contains(SECRET), "{text}");
    for visible in ["visible", "page=2", "\\\"user\\\": \\\"u\\\"", "status 500"] {
        assert!(text.contains(visible), "{visible} is missing in {text}");
    }
}

/// Binary bodies must not show in another notation what is redacted in text.
#[test]
fn no_exemplar_contains_a_secret_of_a_binary_body() {
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let target =
        testbed::grpc(GrpcBehaviour::Fixed { message: SECRET.into(), code: 3, delay: ms(0) }).unwrap();
    let web = testbed::http(Behaviour::from(
        CannedResponse::new(500).body([b"\0\x01", SECRET.as_bytes()].concat()),
    ))
    .unwrap();
    let plan = Plan::of(web.addr())
        .grpc(RPC, target.addr())
        .scenario(scenario("s", at_rate(10.0, ms(100)), sequence([call("Good", "${env.PASSWORD}")])))
        .scenario(scenario("t", at_rate(10.0, ms(100)), sequence([get("web", "/")])));
    let kept = kept(plan);
    assert_eq!(kept.len(), 2);
    let sent = kept.iter().map(|exemplar| exemplar.request_body.as_str());
    assert!(sent.into_iter().any(|body| body.contains("[redacted]") && body.starts_with('{')), "{kept:?}");
    let text = format!("{kept:?}");
    assert!(!text.contains(SECRET) && !text.contains(&hex), "{text}");
}

#[test]
fn a_secret_in_a_redirect_is_hidden_before_its_address_is_cut() {
    // The first 200 bytes end within the secret.
    let location = format!("http://127.0.0.1:9/{}/{SECRET}", "x".repeat(200 - 19 - 1 - 8));
    let away = CannedResponse::new(302).header("location", &location);
    let target = testbed::http(Site::from(Behaviour::from(away))).unwrap();
    let mut step = get("away", "/away?${env.PASSWORD}");
    if let Request::Http { options, .. } = &mut step.request {
        options.redirects = 1;
    }
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(20.0, ms(100)), sequence([step])));
    let kept = kept(plan);
    assert!(!kept.is_empty());
    for exemplar in kept {
        assert!(exemplar.detail.contains("not a target of the plan"), "{}", exemplar.detail);
        assert!(!exemplar.detail.contains(&SECRET[..7]), "{}", exemplar.detail);
    }
}

#[test]
fn a_value_that_does_not_fit_its_field_fails_its_request_without_showing_secrets() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let long = "s3cret-".repeat(30);
    let mut count = call("Good", "x");
    let Request::Grpc { message, .. } = &mut count.request else { unreachable!() };
    *message = serde_json::json!({ "number": "${env.PASSWORD}" });
    let mut later = call("Talk", "x");
    let Request::Grpc { call: options, .. } = &mut later.request else { unreachable!() };
    options.then = vec![serde_json::json!({ "number": "${env.PASSWORD}" })];
    options.every = ms(10);
    for step in [count, later] {
        let name = step.name.clone();
        let flow = scenario("s", at_rate(20.0, ms(200)), sequence([step]));
        let plan = Plan::new().grpc(RPC, target.addr()).scenario(flow);
        let ran = drive(plan.compile_with(&[("PASSWORD", &long)]));
        assert_eq!(ran.assert_sound().outcomes(&name), [(Outcome::Check, 4)].into());
        let why =
            "cannot be sent: `[redacted]` does not fit the field bed.Text.number, which takes a whole number";
        for exemplar in ran.run.exemplars().unwrap() {
            assert!(exemplar.detail.contains(why), "{}", exemplar.detail);
            assert!(!format!("{exemplar:?}").contains("s3cret"), "{exemplar:?}");
        }
    }
    assert_eq!(target.log().iter().filter(|served| served.path == "/bed.Bed/Good").count(), 0);
}

/// Each request takes longer than the one before it, as in a growing backlog: each is the slowest so far.
#[test]
fn a_growing_backlog_is_shown_once_a_second() {
    let growing = Behaviour::Sequence((0..200).map(|n| Behaviour::after(ms(n))).collect());
    let failing = Behaviour::status(500);
    let target = testbed::http(Site::new().at("/slower", growing).at("/failing", failing)).unwrap();
    let plan = Plan::of(target.addr())
        .scenario(scenario("s", at_rate(50.0, ms(2_000)), sequence([get("slower", "/slower")])))
        .scenario(scenario("f", at_rate(50.0, ms(2_000)), sequence([get("failing", "/failing")])));
    let mut rendered = Vec::new();
    let ran = Drive::new(plan.compile()).run_recorded_by(|inlets| {
        record_and(&inlets, &mut |tick| {
            let of = |kind| tick.exemplars.iter().filter(|exemplar| exemplar.kind == kind).count();
            rendered.push((of(ExemplarKind::Slowest), of(ExemplarKind::Failed)));
        })
    });
    ran.assert_sound();
    assert!(rendered.iter().all(|(slowest, failed)| *slowest <= 1 && *failed <= 1), "{rendered:?}");
    assert!(rendered.iter().filter(|(slowest, _)| *slowest == 1).count() >= 2, "{rendered:?}");
}
