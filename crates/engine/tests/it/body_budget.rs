//! Bodies and values that a run keeps at once share one budget, whatever the targets send.

use engine::{BodyBudget, DryRun};
use evidence::{Outcome, Run as _};
use testbed::{Behaviour, CannedResponse, Site};
use workload::{Executor, Step, Template};

use crate::accounting::Accounting as _;
use crate::drive::drive;
use crate::plan::{Plan, Tuned, at_rate, closed, get, ms, scenario, sequence};

const MIB: usize = 1 << 20;

/// Outcomes of `step` and details of the kept exchanges, of a target whose bodies are `{"a": "xxx…needle"}`.
fn run(step: Step, executor: Executor, budget: usize) -> (Vec<(Outcome, u64)>, Vec<String>) {
    let body = format!("{{\"a\": \"{}needle\"}}", "x".repeat(MIB - 100));
    let target = testbed::http(Behaviour::Fixed(CannedResponse::new(200).body(body))).unwrap();
    let plan = Plan::of(target.addr()).scenario(scenario("s", executor, sequence([step])));
    let ran = drive(plan.compile().with_body_budget(BodyBudget::new(budget)));
    let run = ran.assert_sound();
    let details = run.exemplars().unwrap().iter().map(|exemplar| exemplar.detail.clone()).collect();
    (run.outcomes("body").into_iter().collect(), details)
}

fn needle() -> Step {
    let mut step = get("body", "/");
    step.expect.body_contains = vec![Template::parse("needle").unwrap()];
    step
}

#[test]
fn a_body_that_the_budget_does_not_cover_fails_its_checks_and_names_the_budget() {
    let (outcomes, details) = run(needle(), at_rate(20.0, ms(250)), MIB / 2);
    assert_eq!(outcomes, [(Outcome::Check, 5)]);
    for detail in &details {
        let is_named =
            detail.contains("only its first") && detail.contains("plimsoll keeps at once for checks");
        assert!(is_named, "{detail}");
    }
    assert!(!details.is_empty());
}

#[test]
fn what_a_body_took_of_the_budget_is_given_back() {
    let (outcomes, details) = run(needle(), closed(1, ms(500)), MIB);
    let [(Outcome::Ok, count)] = outcomes[..] else { panic!("{outcomes:?} {details:?}") };
    assert!(count > 1, "the budget covers one body at a time");
}

#[test]
fn extracted_values_that_the_budget_does_not_cover_fail_their_step() {
    // Enough for one body, and not for its value besides.
    let (outcomes, details) = run(needle().take("value", "$.a"), closed(1, ms(250)), MIB);
    assert!(matches!(outcomes[..], [(Outcome::Check, _)]), "{outcomes:?}");
    assert!(details.iter().all(|detail| detail.starts_with("the extracted values, ")), "{details:?}");
    let (outcomes, details) = run(needle().take("value", "$.a"), closed(1, ms(250)), 4 * MIB);
    assert!(matches!(outcomes[..], [(Outcome::Ok, _)]), "{outcomes:?} {details:?}");
}

#[test]
fn virtual_users_share_the_values_of_the_runs_setup() {
    let body = format!("{{\"a\": \"{}\", \"b\": \"small\"}}", "x".repeat(MIB / 4));
    let site = Site::new().at("/large", CannedResponse::new(200).body(body).into());
    let small = CannedResponse::new(200).body("{\"b\": \"small\"}");
    let target = testbed::http(site.otherwise(small.into())).unwrap();
    let step = get("small", "/small").take("own", "$.b");
    let plan = Plan::of(target.addr())
        .setup(vec![get("large", "/large").take("shared", "$.a")])
        .scenario(scenario("s", closed(10, ms(250)), sequence([step])));
    // Enough for the setup, and not for a copy of its value for each user.
    let program =
        DryRun::new(plan.compile().with_body_budget(BodyBudget::new(MIB))).set_up().unwrap().into_program();
    let ran = drive(program);
    let outcomes: Vec<_> = ran.assert_sound().outcomes("small").into_iter().collect();
    assert!(matches!(outcomes[..], [(Outcome::Ok, _)]), "{outcomes:?}");
}
