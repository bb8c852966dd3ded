//! Recordings of browsers.

use serde_json::{Value, json};

use super::{header, plan, sent, steps};
use crate::{Selection, of_har};

fn entry(started: &str, time: f64, method: &str, url: &str) -> Value {
    json!({
        "startedDateTime": started, "time": time,
        "request": {"method": method, "url": url, "headers": [], "queryString": []},
        "response": {"status": 200, "headers": [], "content": {"mimeType": "application/json"}}
    })
}

fn recording(entries: Vec<Value>) -> Value {
    json!({"log": {"version": "1.2", "entries": entries}})
}

/// A visit: a page with its files, a login that sets a cookie, and a request with that cookie, a token and a pause.
fn visit() -> Value {
    let mut page = entry("2026-01-31T12:00:00.000Z", 120.0, "GET", "https://shop.example.com/");
    page["response"]["content"]["mimeType"] = "text/html".into();
    let style = entry("2026-01-31T12:00:00.130Z", 20.0, "GET", "https://shop.example.com/a.css?v=1");
    let tracker = entry("2026-01-31T12:00:00.140Z", 20.0, "POST", "https://stats.tracker.net/hit");
    let mut preflight = entry("2026-01-31T12:00:05.000Z", 5.0, "OPTIONS", "https://api.example.com/login");
    preflight["response"]["status"] = 204.into();
    let mut login = entry("2026-01-31T13:00:05.160+01:00", 80.0, "POST", "https://api.example.com/login");
    login["request"]["headers"] = json!([
        {"name": ":method", "value": "POST"}, {"name": "Content-Type", "value": "application/json"},
        {"name": "Cookie", "value": "consent=geheim4"}, {"name": "sec-fetch-mode", "value": "cors"}
    ]);
    login["request"]["postData"] =
        json!({"mimeType": "application/json", "text": "{\"user\":\"me\",\"password\":\"geheim1\"}"});
    login["response"]["headers"] = json!([{"name": "Set-Cookie", "value": "sid=geheim2; HttpOnly"}]);
    login["response"]["status"] = 201.into();
    let mut cart =
        entry("2026-01-31T12:00:08.240Z", 30.0, "GET", "https://api.example.com/cart?access_token=geheim3");
    cart["request"]["headers"] = json!([
        {"name": "cookie", "value": "sid=geheim2; consent=geheim4"},
        {"name": "Authorization", "value": "Bearer geheim5"}, {"name": "x-app", "value": "7"}
    ]);
    recording(vec![cart, login, preflight, tracker, style, page])
}

#[test]
fn a_recording_becomes_its_requests_in_order_with_the_pauses() {
    let draft = of_har("shop.har", &visit(), Selection::Safe).unwrap();
    let steps = steps(&draft);
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["GET /", "POST /login", "GET /cart"]);
    let thinks: Vec<&str> = draft.text.lines().filter(|line| line.starts_with("think")).collect();
    assert_eq!(thinks, ["think = \"5s\"", "think = \"3s\""]);
    assert_eq!(steps[1].expect.status, [201]);
    assert_eq!(sent(&steps[1]).2, "{\"user\":\"me\",\"password\":\"${env.PASSWORD | json}\"}");
    assert_eq!(header(&steps[2], "x-app").as_deref(), Some("7"));
    assert_eq!(header(&steps[2], "authorization").as_deref(), Some("Bearer ${env.TOKEN}"));
    assert!(!draft.text.contains("geheim"), "{}", draft.text);
    assert_eq!(draft.notes.len(), 4, "{:?}", draft.notes);
    assert!(draft.notes[1].contains("stats.tracker.net"));
    insta::assert_snapshot!(draft.text);
}

#[test]
fn reports_that_the_browser_sends_on_its_own_are_left_out() {
    let page = entry("2026-01-31T12:00:00.000Z", 9.0, "GET", "http://shop.test/");
    let mut report = entry("2026-01-31T12:00:00.020Z", 9.0, "POST", "http://shop.test/csp");
    report["request"]["postData"] =
        json!({"mimeType": "application/csp-report", "text": "{\"csp-report\":{}}"});
    let draft = of_har("shop.har", &recording(vec![page, report]), Selection::All).unwrap();
    assert_eq!(steps(&draft).len(), 1);
    assert!(draft.notes[0].contains("1 reports that the browser sent on its own"), "{:?}", draft.notes);
}

#[test]
fn cookies_that_the_recording_sets_are_set_again_and_others_are_a_variable() {
    let draft = of_har("shop.har", &visit(), Selection::Safe).unwrap();
    let workload = plan(&draft).workload;
    let stores: Vec<(&str, bool)> =
        workload.targets.iter().map(|(name, target)| (name.as_str(), target.cookies)).collect();
    assert_eq!(stores, [("api-example-com", true), ("shop-example-com", true)]);
    let steps = steps(&draft);
    assert_eq!(header(&steps[2], "cookie").as_deref(), Some("${env.COOKIE}"));
}

#[test]
fn all_requests_are_steps_where_that_is_asked_for() {
    let draft = of_har("shop.har", &visit(), Selection::All).unwrap();
    assert_eq!(draft.steps, 5);
    plan(&draft);
}

#[test]
fn a_failed_request_of_a_recording_is_marked_and_not_expected_to_fail() {
    let mut failed = entry("2026-01-31T12:00:00Z", 1.0, "GET", "http://h/x");
    failed["response"]["status"] = 500.into();
    let draft = of_har("a.har", &recording(vec![failed]), Selection::Safe).unwrap();
    assert!(draft.text.contains("# In the recording this request failed, with status 500."));
    assert!(steps(&draft)[0].expect.status.is_empty());
}

#[test]
fn what_is_no_recording_is_an_error_with_its_entry() {
    let good = entry("2026-01-31T12:00:00Z", 1.0, "GET", "http://h/x");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        of_har("a.har", &recording(vec![good.clone(), bad]), Selection::Safe).unwrap_err().to_string()
    };
    for (problem, part) in [
        (with(&|bad| bad["startedDateTime"] = "yesterday".into()), "log.entries[1].startedDateTime"),
        (with(&|bad| bad["request"]["url"] = "http://a b:9/".into()), "log.entries[1].request.url"),
        (with(&|bad| bad["request"] = 7.into()), "log.entries[1]"),
    ] {
        assert!(problem.contains(part), "{problem}");
    }
    let nothing = of_har("a.har", &recording(Vec::new()), Selection::Safe).unwrap_err();
    assert!(nothing.to_string().contains("no request"), "{nothing}");
}
