//! Whole drafts: each is a plan that can be read, and has what its source had.

use std::path::Path;

use plans::{Overrides, load};
use workload::{FilesInMemory, LoadedPlan};
use workload::{Request, Step};

use crate::Draft;

mod bodies;
mod correlated;
mod curl;
mod curl_itself;
mod described;
mod har;
mod hostile;
mod openapi;

/// The plan that a draft is.
#[track_caller]
fn plan(draft: &Draft) -> LoadedPlan {
    let file = FilesInMemory::one("plan.toml", draft.text.as_bytes());
    let env = |_: &str| Some("value".to_owned());
    match load(Path::new("plan.toml"), &file, &env, &Overrides::default()) {
        Ok(plan) => {
            draft.check(&plan.workload).unwrap_or_else(|why| panic!("{why}\n{}", draft.text));
            plan
        }
        Err(errors) => panic!("{errors}\n{}", draft.text),
    }
}

#[track_caller]
fn steps(draft: &Draft) -> Vec<Step> {
    plan(draft).workload.steps().cloned().collect()
}

/// Method, path and body of a step.
fn sent(step: &Step) -> (String, String, String) {
    match &step.request {
        Request::Http { method, path, body, .. } => {
            (method.clone(), path.source().to_owned(), body.source().to_owned())
        }
        Request::Grpc { .. } => panic!("a draft has no calls"),
    }
}

/// The value of a header.
fn header(step: &Step, name: &str) -> Option<String> {
    let found = step.request.headers().iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.source().to_owned())
}

#[test]
fn a_url_becomes_a_plan_of_one_request() {
    let draft = crate::of_url("http://127.0.0.1:8000/items?page=${random(1, 5)}").unwrap();
    let steps = steps(&draft);
    assert_eq!(steps.len(), 1);
    assert_eq!(sent(&steps[0]), ("GET".into(), "/items?page=${random(1, 5)}".into(), String::new()));
    insta::assert_snapshot!(draft.text);
}

#[test]
fn a_password_in_a_url_is_not_written() {
    let draft = crate::of_url("https://me:geheim1@api.example.com/x").unwrap();
    assert!(!draft.text.contains("geheim1"), "{}", draft.text);
    assert!(draft.text.contains("auth = \"basic:me:${env.PASSWORD}\""), "{}", draft.text);
    plan(&draft);
}

#[test]
fn a_draft_says_what_its_objectives_need_and_has_enough() {
    let draft = crate::of_url("127.0.0.1:8000").unwrap();
    let workload = plan(&draft).workload;
    assert_eq!(workload.objectives.len(), 2);
    assert_eq!(
        workload.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(),
        ["warm-up", "steady"]
    );
}
