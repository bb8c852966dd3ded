//! Values extracted from a response are used in later steps of the iteration, the virtual user, or the whole run.

use std::collections::{BTreeMap, BTreeSet};

use engine::{DryRun, DryRunError, StepUnderWay};
use evidence::{Key, Metric, Outcome};
use testbed::{Behaviour, Served, Site, Target};
use workload::{Executor, Pick, Scenario, Step};

use crate::accounting::Accounting;
use crate::drive::{Drive, drive};
use crate::plan::{Plan, Tuned, at_rate, closed, get, ms, request, scenario, sequence};

fn login() -> Step {
    request("POST", "login", "/login").take("token", "$.token")
}

fn me() -> Step {
    get("me", "/me/${vu}").header("authorization", "Bearer ${token}")
}

fn at<'a>(log: &'a [Served], prefix: &str) -> Vec<&'a Served> {
    log.iter().filter(|s| s.path.starts_with(prefix)).collect()
}

/// The tokens in the requests of each path.
fn tokens(target: &Target) -> BTreeMap<String, BTreeSet<String>> {
    let mut tokens: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for served in at(&target.log(), "/me") {
        assert_eq!(served.status, Some(200));
        tokens
            .entry(served.path.clone())
            .or_default()
            .insert(served.header("authorization").unwrap().to_owned());
    }
    tokens
}

#[test]
fn each_iteration_sends_the_token_of_its_own_login() {
    let target = testbed::http(Behaviour::Login).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(500)), sequence([login(), me()])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(
        (run.outcomes("login"), run.outcomes("me")),
        ([(Outcome::Ok, 50)].into(), [(Outcome::Ok, 50)].into())
    );
    let all: BTreeSet<String> = tokens(&target).into_values().flatten().collect();
    assert_eq!(all, (1..=50).map(|n| format!("Bearer token-{n}")).collect());
}

#[test]
fn each_virtual_user_logs_in_once() {
    let target = testbed::http(Behaviour::Login).unwrap();
    let users = scenario("s", closed(3, ms(500)), sequence([me()]));
    let plan = Plan::of(target.addr()).scenario(Scenario { setup: vec![login()], ..users });
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("login"), [(Outcome::Ok, 3)].into());
    let tokens = tokens(&target);
    assert_eq!(tokens.len(), 3);
    assert!(tokens.values().all(|own| own.len() == 1), "{tokens:?}");
    assert_eq!(tokens.values().flatten().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(run.outcomes("me")[&Outcome::Ok], at(&target.log(), "/me").len() as u64);
}

#[test]
fn the_runs_setup_is_sent_once_and_every_virtual_user_has_its_values() {
    let target = testbed::http(Behaviour::Login).unwrap();
    let plan = Plan::of(target.addr())
        .setup(vec![login()])
        .scenario(scenario("open", at_rate(50.0, ms(400)), sequence([me()])))
        .scenario(scenario("users", closed(2, ms(400)), sequence([me()])));
    let program = DryRun::new(plan.compile()).set_up().unwrap().into_program();
    assert_eq!(target.requests(), 1);
    let ran = drive(program);
    let run = ran.assert_sound();
    assert_eq!(at(&target.log(), "/login").len(), 1);
    let all: BTreeSet<String> = tokens(&target).into_values().flatten().collect();
    assert_eq!(all, ["Bearer token-1".to_owned()].into());
    let in_setup = |key: &Key| (&*key.scenario, &*key.phase) == ("setup", "setup");
    assert_eq!(run.count(Metric::Requests, in_setup), 1, "the setup has a phase of its own");
    assert_eq!(run.times(Metric::ResponseTime, in_setup).count(), 1);
    assert_eq!(run.all(Metric::Requests), target.requests());
    assert_eq!(run.count(Metric::Scheduled, in_setup), 0, "its iteration is not part of the load");
}

/// A closed loop would try as fast as the target refuses: thousands of times.
#[test]
fn virtual_users_whose_setup_fails_wait_before_they_try_again() {
    let target = testbed::http(Site::new().at("/login", Behaviour::status(500))).unwrap();
    let users = scenario("s", closed(3, ms(1_500)), sequence([me()]));
    let plan = Plan::of(target.addr()).scenario(Scenario { setup: vec![login()], ..users });
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    // At once, and then after at least 50, 100, 200, 400 and 800 ms; the last wait may end after the load.
    let failed = run.outcomes("login")[&Outcome::Http5xx];
    assert!((3..=3 * 6).contains(&failed), "{failed} attempts");
    assert_eq!(run.outcomes("me"), [].into());
}

#[test]
fn a_failed_setup_returns_its_exchange() {
    let target = testbed::http(Site::new().at("/login", Behaviour::status(500))).unwrap();
    let plan = Plan::of(target.addr()).setup(vec![login(), get("next", "/next")]).scenario(scenario(
        "s",
        at_rate(10.0, ms(100)),
        sequence([me()]),
    ));
    let error = DryRun::new(plan.compile()).set_up().unwrap_err();
    assert!(error.to_string().contains("login"), "{error}");
    let DryRunError::Failed(failed) = error else { panic!("{error}") };
    let [exchange] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!((exchange.status, exchange.outcome), (Some(500), Outcome::Http5xx));
    assert_eq!(exchange.request, format!("POST http://{}/login", target.addr()));
    assert!(exchange.detail.contains("status 500"), "{}", exchange.detail);
    assert_eq!(target.requests(), 1, "no step follows a failed one");
}

#[test]
fn a_setup_whose_target_refuses_connections_fails_as_refused() {
    let refusal = testbed::refuse().unwrap();
    let plan = Plan::of(refusal.addr()).setup(vec![login()]).scenario(scenario(
        "s",
        at_rate(10.0, ms(100)),
        sequence([me()]),
    ));
    let DryRunError::Failed(failed) = DryRun::new(plan.compile()).set_up().unwrap_err() else { panic!() };
    assert_eq!((failed[0].status, failed[0].outcome), (None, Outcome::Refused));
}

#[test]
fn a_dry_run_sends_each_step_once_and_returns_every_exchange() {
    let target = testbed::http(
        Site::new()
            .at("/no", Behaviour::status(404))
            .at("/hang", Behaviour::never())
            .otherwise(Behaviour::Login),
    )
    .unwrap();
    let weighted = crate::plan::mix([(1, get("no", "/no")), (9, get("hang", "/hang").within(ms(200)))]);
    let mut slow = me();
    slow.think = ms(30).into();
    let plan = Plan::of(target.addr())
        .scenario(scenario(
            "a",
            at_rate(10.0, ms(100)),
            sequence([login(), slow, get("no too", "/no"), get("never sent", "/x")]),
        ))
        .scenario(scenario("b", closed(1, ms(100)), weighted));
    let dry_run = DryRun::new(plan.compile());
    let exchanges = dry_run.once().unwrap();
    let shown: Vec<(&str, Outcome)> = exchanges.iter().map(|e| (&*e.endpoint, e.outcome)).collect();
    let expected = [
        ("login", Outcome::Ok),
        ("me", Outcome::Ok),
        ("no too", Outcome::Http4xx),
        ("no", Outcome::Http4xx),
        ("hang", Outcome::Timeout),
    ];
    assert_eq!(shown, expected);
    assert_eq!(target.requests(), 5);
    let DryRunError::Failed(failed) = dry_run.check().unwrap_err() else { panic!() };
    assert_eq!(failed.iter().map(|e| &*e.endpoint).collect::<Vec<_>>(), ["no too", "no", "hang"]);
    // Six steps would be sent; the sequence ended before its last.
    let last = StepUnderWay { name: "hang".to_owned(), number: 5, of: 6 };
    assert_eq!(dry_run.progress().now(), Some(last));
}

#[test]
fn a_sequence_ends_at_its_first_failure() {
    let target =
        testbed::http(Site::new().at("/two", Behaviour::error_rate(2, 500)).otherwise(Behaviour::ok()))
            .unwrap();
    let steps = sequence([get("one", "/one"), get("two", "/two"), get("three", "/three")]);
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(400)), steps));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("one"), [(Outcome::Ok, 40)].into());
    assert_eq!(run.outcomes("two"), [(Outcome::Ok, 20), (Outcome::Http5xx, 20)].into());
    assert_eq!(run.outcomes("three"), [(Outcome::Ok, 20)].into());
    assert_eq!(at(&target.log(), "/three").len(), 20);
    let ended = |outcome| run.times(Metric::IterationTime, |key| key.outcome == Some(outcome)).count();
    assert_eq!((ended(Outcome::Ok), ended(Outcome::Http5xx)), (20, 20));
}

#[test]
fn a_missing_value_fails_the_step_that_extracts_it() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(50.0, ms(200)), sequence([login(), me()])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!((run.outcomes("login"), run.outcomes("me").len()), ([(Outcome::Check, 10)].into(), 0));
    let detail = &evidence::Run::exemplars(run).unwrap()[0].detail;
    assert!(detail.contains("`token`"), "{detail}");
}

#[test]
fn checks_are_counted_by_name_and_the_status_decides_first() {
    let answer = testbed::CannedResponse::new(200)
        .json(&serde_json::json!({"ok": true, "n": 3}))
        .header("x-kind", "good");
    let target = testbed::http(
        Site::new()
            .at("/right", answer.clone().into())
            .at("/wrong", testbed::CannedResponse { status: 503, ..answer }.into()),
    )
    .unwrap();
    let mut right = get("right", "/right");
    right.expect.json = vec![("$.ok".to_owned(), true.into()), ("$.n".to_owned(), 4.into())];
    right.expect.headers = vec![("x-kind".to_owned(), workload::Template::literal("good"))];
    let wrong = Step { expect: right.expect.clone(), ..get("wrong", "/wrong") };
    let plan = Plan::of(target.addr())
        .scenario(scenario("a", at_rate(50.0, ms(200)), sequence([right])))
        .scenario(scenario("b", at_rate(50.0, ms(200)), sequence([wrong])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("right"), [(Outcome::Check, 10)].into());
    assert_eq!(run.outcomes("wrong"), [(Outcome::Http503, 10)].into());
    let count = |metric, endpoint: &str, check: &str| {
        run.count(metric, |key| {
            *key.endpoint == *endpoint && key.tags.get("check").is_some_and(|name| **name == *check)
        })
    };
    for (check, right, wrong) in
        [("status", 10, 0), ("header x-kind", 10, 10), ("json $.ok", 10, 10), ("json $.n", 0, 0)]
    {
        assert_eq!(count(Metric::CheckPassed, "right", check), right, "{check}");
        assert_eq!(count(Metric::CheckFailed, "right", check), 10 - right, "{check}");
        assert_eq!(count(Metric::CheckPassed, "wrong", check), wrong, "{check}");
    }
}

/// Each row is taken once: by the run's setup, by the virtual users of each scenario, and by its arrivals.
#[test]
fn unique_rows_are_unique_over_setups_virtual_users_and_arrivals() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let users = |name: &str| Scenario {
        setup: vec![get("prepare", "/row/${rows.id}")],
        max_vus: 3,
        ..scenario(
            name,
            Executor::PerVuIterations { vus: 3, iterations: 4, max_duration: ms(60_000) },
            sequence([get("use", "/row/${rows.id}")]),
        )
    };
    let plan = Plan::of(target.addr())
        .data("rows", "{1..31}", Pick::Unique)
        .setup(vec![get("first", "/row/${rows.id}")])
        .scenario(users("a"))
        .scenario(users("b"));
    let program = DryRun::new(plan.compile()).set_up().unwrap().into_program();
    let ran = Drive::new(program).loops(2).run();
    ran.assert_sound();
    let taken: Vec<String> = target.log().into_iter().map(|served| served.path).collect();
    assert_eq!(taken.len(), 1 + 2 * (3 + 12));
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), taken.len(), "{taken:?}");
}
