//! Every page has a Content-Security-Policy that allows the style sheets and scripts on it, and nothing else.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evidence::Run as _;
use profile::CallTree;
use report::{Reported as _, Summary, document, profiles};
use sha2::{Digest as _, Sha256};

use crate::{comparison, forms, profiles as sample_profiles, sample_run};

/// The texts of all elements of a name.
fn texts<'p>(page: &'p str, element: &str) -> Vec<&'p str> {
    let (start, end) = (format!("<{element}>"), format!("</{element}>"));
    page.split(start.as_str()).skip(1).map(|rest| rest.split(end.as_str()).next().unwrap_or(rest)).collect()
}

fn hashes(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))).collect()
}

/// The sources of a directive of the page's policy.
fn allowed(page: &str, directive: &str) -> BTreeSet<String> {
    let marker = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    let policy =
        page.split(marker).nth(1).expect("the page has a policy").split('"').next().unwrap_or_default();
    let directives: Vec<&str> = policy.split("; ").collect();
    let found = directives.iter().find_map(|text| text.strip_prefix(&format!("{directive} ")));
    found.unwrap_or_else(|| panic!("no {directive} in {policy}")).split(' ').map(str::to_owned).collect()
}

#[track_caller]
pub(crate) fn check(page: &str) {
    let policy_at = page.find("Content-Security-Policy").expect("the page has a policy");
    assert!(
        page.find("<style>").is_none_or(|style| policy_at < style),
        "what precedes it is not subject to it"
    );
    assert_eq!(allowed(page, "default-src"), BTreeSet::from(["'none'".to_owned()]));
    assert_eq!(allowed(page, "base-uri"), BTreeSet::from(["'none'".to_owned()]));
    assert_eq!(allowed(page, "form-action"), BTreeSet::from(["'none'".to_owned()]));
    assert_eq!(allowed(page, "style-src"), hashes(&texts(page, "style")));
    assert_eq!(allowed(page, "script-src"), hashes(&texts(page, "script")));
    for forbidden in ["<style ", "<script ", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!page.contains(forbidden), "the policy forbids `{forbidden}`");
    }
}

#[test]
fn a_report_runs_and_shows_only_what_is_its_own() {
    let workload = sample_run::workload();
    let page = |run| {
        forms::html(&Summary::of(run, &workload, &sample_run::judgement()).expect("memory can be read"))
    };
    let plain = sample_run::run(20, None);
    check(&page(&plain));
    let profiled = comparison::run(300);
    assert_eq!(profiled.profiles().expect("memory can be read").len(), 1);
    let page = page(&profiled);
    assert_eq!(texts(&page, "style").len(), 2, "a flame graph has a style sheet of its own");
    check(&page);
}

#[test]
fn a_comparison_runs_and_shows_only_what_is_its_own() {
    check(&document::html(&comparison::compared(Vec::new()).document()));
}

#[test]
fn a_flame_graph_runs_and_shows_only_what_is_its_own() {
    let captured = sample_profiles::cpu(&[(&["main", "parse"], 300)]);
    let view = sample_profiles::view(&captured);
    let tree = CallTree::build(&view);
    check(&profiles::flame_page(&tree, "parse"));
    let baseline = profiles::FlameBaseline { tree: &tree, requests: None };
    check(&profiles::differential_page(&tree, baseline, "parse"));
}
