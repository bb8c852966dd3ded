//! JUnit's form: one test case for each claim and one for the whole run.

use super::super::markup::Node;
use super::{Form, captured, claim, must_be_known, parts};

/// The length of the run is in seconds, with three decimals.
const LENGTH: &str = "run/seconds";

pub(in super::super) fn form(text: &str) -> Form {
    let mut form = Form::default();
    let mut document = Node::parse(text);
    let suites = document.first("testsuites").unwrap();
    let suite = suites.first("testsuite").unwrap();
    for of in [suites, suite] {
        form.show(LENGTH, of.attribute("time"));
        let cases = suite.all("testcase").len().to_string();
        assert_eq!(of.attribute("tests"), cases);
        for (attribute, kind) in [("failures", "failure"), ("errors", "error")] {
            assert_eq!(of.attribute(attribute), suite.all(kind).len().to_string(), "{attribute}");
        }
    }
    for property in suite.all("property") {
        let value = property.attribute("value");
        match property.attribute("name") {
            "workload_digest" => form.show("run/workload SHA-256", value),
            "started_at" => form.show("run/started", value),
            "verdict" => {}
            name => panic!("the property `{name}` is not known to this test"),
        }
    }
    for case in document.take("testcase") {
        match case.attribute("name") {
            "(the whole run)" => whole(&mut form, &case),
            name => one_claim(&mut form, name, &case),
        }
    }
    document.texts().iter().for_each(|text| must_be_known(text, &[]));
    form
}

fn problem(case: &Node) -> Option<&Node> {
    case.first("failure").or_else(|| case.first("error"))
}

fn whole(form: &mut Form, case: &Node) {
    if let Some(problem) = problem(case) {
        form.sentences.push(problem.attribute("message").to_owned());
        form.findings.extend(problem.text().lines().map(str::to_owned));
    }
}

fn one_claim(form: &mut Form, name: &str, case: &Node) {
    let out = case.first("system-out").unwrap().text();
    let (first, share) = out.split_once('\n').unwrap_or((&out, ""));
    form.sentences.extend(share.lines().map(str::to_owned));
    let (text, figures) = first.rsplit_once(": observed ").unwrap();
    form.sentences.push(text.to_owned());
    one_set_of_figures(form, name, &format!("observed {figures}"));
    if let Some(problem) = problem(case) {
        one_set_of_figures(form, name, problem.attribute("message"));
        let lines = problem.text();
        let mut lines = lines.lines();
        form.sentences.push(lines.next().unwrap().to_owned());
        one_set_of_figures(form, name, lines.next().unwrap());
        form.sentences.extend(lines.map(str::to_owned));
    }
}

fn one_set_of_figures(form: &mut Form, name: &str, text: &str) {
    match captured("observed {}, limit {}, 95 % interval {}, n = {}", text) {
        Some(found) => claim(form, name, found.try_into().unwrap()),
        None => {
            let [observed, limit, samples] = parts("observed {}, limit {}, n = {}", text);
            claim(form, name, [observed, limit, "–", samples]);
        }
    }
}
