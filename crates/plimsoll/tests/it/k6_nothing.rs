//! Runs of scripts in which nothing succeeded, or in which iterations threw or were interrupted.

use serde_json::{Value, json};
use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder};
use crate::k6_scripts::folder;

/// Run a script, with `BASE` as the address of its target.
fn run_at(base: &str, script: &str, more: &[&str]) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let base = format!("BASE={base}");
    let fixed =
        ["run", "script.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll", "--json", "run.json"];
    let ran = folder.plimsoll(&[&fixed[..], more].concat());
    (folder, ran)
}

/// Nothing listens there.
const DEAD: &str = "http://127.0.0.1:1";

fn ended(folder: &TestFolder) -> Value {
    folder.json("run.json")["beside_k6"]["ended"].clone()
}

#[test]
fn a_run_whose_every_iteration_threw_fails_and_says_what_was_thrown() {
    let script = "
        export const options = { vus: 2, iterations: 6, thresholds: { iterations: ['count==6'] } };
        export default function () { performance.now(); }";
    let (folder, ran) = run_at(DEAD, script, &[]);
    let nothing =
        "Nothing succeeded: all of 6 iterations threw; 6 × ReferenceError: performance is not defined.";
    ran.exits_with(3)
        .stdout_contains(&["FAIL", nothing, "T6 iterations-threw", "6 of them threw"])
        .stderr_contains(&["exit code 3 (k6 would have exited with 0, because no threshold was crossed"]);
    let thrown = json!([{ "what": "ReferenceError: performance is not defined", "count": 6 }]);
    assert_eq!(ended(&folder), json!({ "done": 6, "threw": 6, "interrupted": 0, "exceptions": thrown }));
    let (_, as_k6) = run_at(DEAD, script, &["--k6-exit-codes"]);
    as_k6.exits_with(0).stdout_contains(&["FAIL", nothing]);
}

#[test]
fn a_target_that_never_answers_fails_the_run_though_its_thresholds_hold() {
    let script = "
        import http from 'k6/http';
        export const options = { iterations: 3, thresholds: { iterations: ['count==3'], http_req_duration: ['p(95)<60000'] } };
        export function setup() {}
        export default function () { http.get(__ENV.BASE); }";
    let (_, ran) = run_at(DEAD, script, &[]);
    ran.exits_with(3).stdout_contains(&["✓ 'count==3'", "Nothing succeeded: all of 3 requests failed"]);
    run_at(DEAD, script, &["--k6-exit-codes"]).1.exits_with(0);
    let crossed = script.replace("count==3", "count==4");
    run_at(DEAD, &crossed, &[]).1.exits_with(99);
}

#[test]
fn a_run_in_which_no_request_can_be_sent_fails_and_names_the_variable() {
    let script = "
        import http from 'k6/http';
        export const options = { iterations: 3 };
        export default function () { http.get(`${__ENV.ADDRESS}/x`); http.get(`${__ENV.BASE}/y`.slice(0, 3)); }";
    let (_, ran) = run_at(DEAD, script, &[]);
    ran.exits_with(3).stderr_contains(&["no request could be sent (`undefined/x`): ", "`-e ADDRESS=…`"]);
    ran.stdout_contains(&["FAIL", "Nothing succeeded: none of 6 requests of the script could be sent."]);
    assert!(!ran.stderr.contains("`-e BASE=…`"), "{}", ran.stderr);
    run_at(DEAD, script, &["--k6-exit-codes"]).1.exits_with(0).stderr_contains(&["no request could be sent"]);
    let (_, by_workers) = run_at(DEAD, script, &["--workers", "2"]);
    by_workers.exits_with(3).stderr_contains(&["no request could be sent (`undefined/x`)"]);
    let (folder, target) = folder(&script.replace(".slice(0, 3)", ""), Behaviour::ok());
    let base = format!("BASE=http://{}", target.addr());
    let ran = folder.plimsoll(&["run", "script.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll"]);
    ran.exits_with(0).stderr_contains(&["some requests could not be sent (`undefined/x`)", "`-e ADDRESS=…`"]);
    assert_eq!(target.requests(), 3);
}

#[test]
fn a_setup_that_succeeds_is_no_success_of_the_load() {
    let script = "
        import http from 'k6/http';
        export const options = { iterations: 3 };
        export function setup() { http.get(__ENV.BASE); }
        export default function () { http.get('http://127.0.0.1:1/'); }
        export function teardown() { http.get(__ENV.BASE); }";
    let (folder, target) = folder(script, Behaviour::ok());
    let base = format!("BASE=http://{}", target.addr());
    let ran = folder.plimsoll(&["run", "script.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll"]);
    ran.exits_with(3).stdout_contains(&["Nothing succeeded: all of 3 requests failed"]);
    assert_eq!(target.requests(), 2);
}

#[test]
fn iterations_that_threw_and_that_were_interrupted_are_counted() {
    let script = "
        import { sleep } from 'k6';
        export const options = { scenarios: {
            some: { executor: 'per-vu-iterations', vus: 1, iterations: 5, maxDuration: '20s' },
            cut: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '0s', exec: 'long' },
        } };
        export default function () { if (__ITER % 2 === 1) throw new Error(`odd\\nand more`); }
        export function long() { sleep(3600); }";
    let (folder, ran) = run_at(DEAD, script, &[]);
    ran.exits_with(0).stdout_contains(&[
        "5 iterations came to an end; 2 of them threw; 2 were interrupted.",
        "2 of 5 iterations threw (40 %): 2 × Error: odd.",
    ]);
    let thrown = json!([{ "what": "Error: odd", "count": 2 }]);
    assert_eq!(ended(&folder), json!({ "done": 5, "threw": 2, "interrupted": 2, "exceptions": thrown }));
}

#[test]
fn a_threshold_without_values_is_the_same_in_the_summary_and_in_the_claim() {
    let script = "
        import { Gauge, Rate, Trend } from 'k6/metrics';
        new Rate('share'); new Gauge('level'); new Trend('took');
        export const options = { iterations: 2, thresholds: {
            checks: ['rate==1'], share: ['rate>0.9'], level: ['value>=0', 'value>0'], took: ['p(95)<=0', 'avg>0'],
        } };
        export default function () {}";
    let (folder, ran) = run_at(DEAD, script, &[]);
    ran.exits_with(99).stdout_contains(&["✓ 'rate==1'", "✓ 'rate>0.9'", "✓ 'value>=0'", "✗ 'value>0'"]);
    let report = folder.json("run.json");
    for claim in report["claims"].as_array().unwrap() {
        let (metric, threshold) = claim["text"].as_str().unwrap().split_once(' ').unwrap();
        let holds = claim["holds_in_k6"].as_bool().unwrap_or_else(|| panic!("{metric} {claim:#}"));
        let mark = if holds { '✓' } else { '✗' };
        assert!(
            ran.stdout.contains(&format!("{mark} '{threshold}'")),
            "{metric} {threshold}: {}",
            ran.stdout
        );
    }
}

#[test]
fn a_threshold_that_selects_nothing_is_invalid_and_met_where_the_codes_are_those_of_k6() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let script = "import http from 'k6/http';
        export const options = { iterations: 20, thresholds: { 'http_req_duration{name:nothing}': ['p(95)<60000'] } };
        export default function () { http.get(`${__ENV.BASE}/`); }";
    let base = format!("http://{}", target.addr());
    let (_, ran) = run_at(&base, script, &[]);
    ran.exits_with(5)
        .stdout_contains(&[
            "INVALID",
            "No value has the tags that it selects (name:nothing), and 20 values of",
        ])
        .stderr_contains(&["exit code 5 (k6 would have exited with 0"]);
    let (_, ran) = run_at(&base, script, &["--k6-exit-codes"]);
    ran.exits_with(0).stdout_contains(&["INVALID"]);
}

#[test]
fn all_requests_of_many_urls_that_differ_in_one_part_are_in_one_row_and_one_chart() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let script = "import http from 'k6/http';
        export const options = { iterations: 400, thresholds: { 'http_req_duration{name:own/7}': ['p(95)<60000'] } };
        export default function () {
            http.get(`${__ENV.BASE}/items/${__ITER}`);
            http.get(`${__ENV.BASE}/users/${__ITER}/orders`);
            http.get(`${__ENV.BASE}/own/${__ITER}`, { tags: { name: `own/${__ITER % 10}` } });
        }";
    let (folder, ran) = run_at(&format!("http://{}", target.addr()), script, &["--html", "run.html"]);
    ran.stdout_contains(&["/items/{…} (", "/users/{…}/orders (", "own/7", "n = 40"]);
    assert!(!ran.stdout.contains("all other names"), "{}", ran.stdout);
    let requests = |begin: &str| {
        let row = ran.stdout.lines().find(|line| line.starts_with(begin)).unwrap();
        row.split_whitespace().find_map(|word| word.parse::<u64>().ok())
    };
    assert_eq!((requests("/items/{…} ("), requests("/users/{…}/orders (")), (Some(400), Some(400)));
    let page = std::fs::read_to_string(folder.path("run.html")).unwrap();
    assert!(page.contains("<figcaption><b>/items/{…}"), "a chart of all");
    assert!(!page.contains("<figcaption><b>/items/1"), "no chart of one");
}

#[test]
fn a_run_that_a_threshold_ended_says_so_and_lists_it_first() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let script = "import http from 'k6/http';
        import { Counter } from 'k6/metrics';
        const seen = new Counter('seen');
        export const options = { vus: 1, duration: '60s', thresholds: {
            http_req_duration: ['p(95)<60000'], seen: [{ threshold: 'count<3', abortOnFail: true }],
        } };
        export default function () { http.get(`${__ENV.BASE}/`); seen.add(1); }";
    let (folder, ran) = run_at(&format!("http://{}", target.addr()), script, &["--card", "card.md"]);
    ran.exits_with(99).stdout_contains(&["ended early by the script's thresholds on seen at "]);
    assert!(!ran.stdout.contains("was interrupted"), "{}", ran.stdout);
    let card = std::fs::read_to_string(folder.path("card.md")).unwrap();
    let [first, other] = ["**seen", "**http"].map(|name| card.find(name).unwrap());
    assert!(first < other, "{card}");
}

#[test]
fn urls_that_differ_in_one_part_are_one_row_of_tables_and_each_its_own_endpoint() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let script = "import http from 'k6/http';
        export const options = { iterations: 30 };
        export default function () { http.get(`${__ENV.BASE}/items/${__ITER}/price`); http.get(`${__ENV.BASE}/all`); }";
    let (folder, ran) = run_at(&format!("http://{}", target.addr()), script, &[]);
    ran.exits_with(0).stdout_contains(&[
        "\n/items/{…}/price (30 URLs)",
        "/items/{…}/price (30 URLs) stands for URLs that differ in one part.",
        "\n/all ",
    ]);
    assert!(!ran.stdout.contains("/items/7/price "), "{}", ran.stdout);
    assert_eq!(folder.json("run.json")["endpoints"].as_array().unwrap().len(), 32, "with whole iterations");
}
