//! Headers of a response beyond the part that is kept.

use evidence::Outcome;
use testbed::{Behaviour, CannedResponse};
use workload::{Extract, ExtractFrom, Step, Template};

use crate::drive::drive;
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};

const NOTE: &str = "headers beyond the first 16 KiB are not kept (3 left out)";

/// The detail of a request that fails with this outcome, when one header fits and `x-b`, `x-late` and a length do not.
fn detail(step: Step, expected: Outcome) -> String {
    let large = "x".repeat(10_000);
    let response =
        CannedResponse::new(200).header("x-a", &large).header("x-b", &large).header("x-late", "here");
    let target = testbed::http(Behaviour::Fixed(response)).unwrap();
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(10.0, ms(100)), sequence([step])));
    let ran = drive(plan.compile());
    let kept = evidence::Run::exemplars(ran.assert_sound()).unwrap();
    kept.iter().find(|exemplar| exemplar.outcome == expected).map(|e| e.detail.clone()).unwrap_or_default()
}

#[test]
fn a_failed_check_of_a_header_says_that_headers_were_left_out() {
    let mut step = get("s", "/");
    step.expect.headers.push(("x-late".to_owned(), Template::parse("here").unwrap()));
    let detail = detail(step, Outcome::Check);
    assert_eq!(detail, format!("header x-late should be \"here\", found None; {NOTE}"));
}

#[test]
fn an_extraction_from_a_header_says_that_headers_were_left_out() {
    let mut step = get("s", "/");
    step.extract.push(Extract { name: "late".to_owned(), from: ExtractFrom::Header("x-late".to_owned()) });
    let detail = detail(step, Outcome::Check);
    assert_eq!(detail, format!("no header x-late to take `late` from; {NOTE}"));
}
