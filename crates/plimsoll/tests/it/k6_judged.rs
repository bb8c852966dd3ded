//! The judge on runs of k6 scripts: thresholds as claims, policies, and what k6 does not say.

use std::time::Duration;

use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::{CommandOutput, TestFolder};
use crate::k6_scripts::folder;

/// Run `script.js` against a target, whose URL is `__ENV.BASE`.
fn run(folder: &TestFolder, target: &Target, more: &[&str]) -> CommandOutput {
    let base = format!("BASE=http://{}", target.addr());
    let mut arguments = [&["run", "script.js", "-e", &base, "--quiet"], more].concat();
    if !more.contains(&"--evidence") {
        arguments.extend(["--evidence", "run.plimsoll"]);
    }
    folder.plimsoll(&arguments)
}

/// The claim of this name in a report.
fn claim<'a>(report: &'a Value, name: &str) -> &'a Value {
    let claims = report["claims"].as_array().unwrap();
    let found = claims.iter().find(|claim| claim["name"] == name);
    found.unwrap_or_else(|| panic!("no claim {name} in {claims:#?}"))
}

/// Iterations of two requests, with thresholds of every kind.
const THRESHOLDS: &str = "
    import http from 'k6/http';
    import { check } from 'k6';
    import { Gauge, Rate, Trend } from 'k6/metrics';
    const size = new Trend('size'), failed = new Rate('failed'), level = new Gauge('level');
    export const options = {
        vus: 2, iterations: 400,
        thresholds: {
            http_req_duration: ['p(50)<60000', 'avg<60000', 'max<60000'],
            'http_req_duration{name:item}': ['p(95)<0.000001'],
            http_req_failed: ['rate<0.2'], checks: ['rate==1'], http_reqs: ['count==800'],
            iteration_duration: ['med<60000'], size: ['p(50)<10'], failed: ['rate<0.001'], level: ['value==7'],
        },
    };
    export default function () {
        const item = http.get(`${__ENV.BASE}/item`, { tags: { name: 'item' } });
        http.get(`${__ENV.BASE}/other`);
        check(item, { 'is 200': (r) => r.status === 200 });
        size.add(2); failed.add(false); level.add(7);
    }";

#[test]
fn an_undecided_script_ends_as_in_k6_unless_it_is_to_fail() {
    let script = "import http from 'k6/http';
        export const options = { vus: 1, iterations: 20, thresholds: { http_req_duration: ['p(99)<60000'] } };
        export default function () { http.get(`${__ENV.BASE}/`); }";
    let (folder, target) = folder(script, Behaviour::ok());
    let note = ["the exit code is 0, as k6's would be (--inconclusive=fail makes it 4)"];
    run(&folder, &target, &["--junit", "run.xml"]).exits_with(0).stderr_contains(&note);
    let again = ["report", "run.plimsoll", "--junit", "report.xml"];
    folder.plimsoll(&again).exits_with(0).stderr_contains(&note);
    for file in ["run.xml", "report.xml"] {
        let junit = folder.read(file);
        assert!(junit.contains("<skipped") && junit.contains("errors=\"0\""), "{file}: {junit}");
    }
    folder.plimsoll(&[&again[..], &["--inconclusive=fail"]].concat()).exits_with(4);
    assert!(folder.read("report.xml").contains("<error"));
    let failing = ["--inconclusive=fail", "--evidence", "again.plimsoll"];
    run(&folder, &target, &failing).exits_with(4).stdout_contains(&["✓ 'p(99)<60000'", "INCONCLUSIVE"]);
    run(&folder, &target, &[&failing[..], &["--k6-exit-codes", "--force"]].concat()).exits_with(0);
}

/// One of twenty is too few to show that more than 4 % are so, and more than 4 % all the same.
#[test]
fn the_report_of_an_undecided_script_does_not_end_with_0_where_k6_would_not() {
    let script = "import { Rate } from 'k6/metrics';
        import exec from 'k6/execution';
        const marked = new Rate('marked');
        export const options = { vus: 1, iterations: 20, thresholds: { marked: ['rate<0.04'] } };
        export default function () { marked.add(exec.scenario.iterationInTest === 0); }";
    let (folder, target) = folder(script, Behaviour::ok());
    run(&folder, &target, &[]).exits_with(99).stdout_contains(&["INCONCLUSIVE", "✗ 'rate<0.04'"]);
    let again = folder.plimsoll(&["report", "run.plimsoll"]);
    again.exits_with(4).stdout_contains(&["k6 ✗"]);
    assert!(!again.stderr.contains("the exit code is 0"), "{}", again.stderr);
}

#[test]
fn each_threshold_is_a_claim_beside_what_k6_says_of_it() {
    let (folder, target) = folder(THRESHOLDS, Behaviour::ok());
    let ran = run(&folder, &target, &["--json", "run.json"]);
    ran.exits_with(99);
    ran.stdout_contains(&["✗ 'p(95)<0.000001'", "FAIL  http_req_duration{name:item} p(95)<0.000001", "k6 ✗"]);
    let report = folder.json("run.json");
    for (name, verdict, holds) in [
        ("http_req_duration p(50)<60000", "PASS", true),
        ("http_req_duration avg<60000", "MEASURED", true),
        ("http_req_duration max<60000", "MEASURED", true),
        ("http_req_duration{name:item} p(95)<0.000001", "FAIL", false),
        ("http_req_failed rate<0.2", "PASS", true),
        ("checks rate==1", "PASS", true),
        ("http_reqs count==800", "PASS", true),
        ("iteration_duration med<60000", "PASS", true),
        ("size p(50)<10", "PASS", true),
        ("failed rate<0.001", "INCONCLUSIVE", true),
        ("level value==7", "MEASURED", true),
    ] {
        let claim = claim(&report, name);
        assert_eq!((&claim["verdict"], &claim["holds_in_k6"]), (&verdict.into(), &holds.into()), "{claim:#}");
        assert!(claim["reasons"][0].is_string(), "{claim:#}");
    }
    let again = folder.plimsoll(&["report", "run.plimsoll", "--json", "again.json"]);
    again.exits_with(3);
    assert_eq!(folder.json("again.json")["claims"], report["claims"], "the file alone gives the same claims");
}

const PLAIN: &str = "
    import http from 'k6/http';
    export const options = { vus: 1, duration: '3s' };
    export default function () { http.get(`${__ENV.BASE}/item`, { tags: { name: 'item' } }); }";

#[test]
fn a_policy_asks_more_of_a_script_that_stays_as_it_is() {
    let (folder, target) = folder(PLAIN, Behaviour::ok());
    let port = target.addr().port();
    folder.write(
        "policy.toml",
        format!(
            "version = 1
[[phases]]
name = \"warm-up\"
duration = \"1s\"
[[phases]]
name = \"steady\"
[targets.api]
process = {{ port = {port} }}
[objectives]
never = \"p50(item, phase = steady) < 1us\"
errors = \"error_rate(scenario = default) < 50%\"
"
        ),
    );
    let ran = run(&folder, &target, &["--policy", "policy.toml", "--json", "run.json"]);
    ran.exits_with(99);
    ran.stdout_contains(&["Phase steady  1 to 3 s"])
        .stderr_contains(&["objectives of the policy were violated: never"]);
    let report = folder.json("run.json");
    assert_eq!(claim(&report, "never")["verdict"], "FAIL");
    assert_eq!(claim(&report, "errors")["verdict"], "PASS");
    assert!(claim(&report, "never").get("holds_in_k6").is_none(), "k6 does not know it");
}

#[test]
fn a_policy_that_cannot_be_used_names_file_line_and_key() {
    let folder = TestFolder::new("");
    folder.write("script.js", "export default function () {}");
    for (policy, message) in [
        (
            "version = 1\n[objectives]\nfast = \"p95(all, phase = stedy) < 1ms\"",
            "policy.toml:3:26: there is no phase `stedy`",
        ),
        (
            "version = 1\n[objektives]\n",
            "policy.toml:2:2: the policy has no key `objektives`; did you mean `objectives`?",
        ),
        ("version = 2\n", "policy.toml:1:11: only `version = 1` is known"),
        ("[objectives]\nfast = \"p95(all) < 1ms\"", "the policy needs `version`"),
    ] {
        folder.write("policy.toml", policy);
        let ran =
            folder.plimsoll(&["run", "script.js", "--policy", "policy.toml", "--evidence", "run.plimsoll"]);
        ran.exits_with(104).stderr_contains(&[message]);
    }
    let ran = folder.plimsoll(&["run", "script.js", "--policy", "none.toml", "--evidence", "run.plimsoll"]);
    ran.exits_with(104).stderr_contains(&["none.toml: cannot be read"]);
}

#[test]
fn iterations_that_were_never_begun_are_counted_by_cause_and_leave_thresholds_open() {
    let script = "
        import { sleep } from 'k6';
        import { Rate } from 'k6/metrics';
        const bad = new Rate('bad');
        export const options = {
            scenarios: { open: { executor: 'constant-arrival-rate', rate: 100, timeUnit: '1s', duration: '3s', preAllocatedVUs: 2, maxVUs: 2 } },
            thresholds: { bad: ['rate<0.5'] },
        };
        export default function () { bad.add(false); sleep(0.1); }";
    let (folder, target) = folder(script, Behaviour::ok());
    let ran = run(&folder, &target, &["--json", "run.json"]);
    ran.exits_with(5);
    ran.stdout_contains(&[
        "✓ 'rate<0.5'",
        "INVALID  bad rate<0.5",
        "What k6 does not say",
        "were never begun",
    ]);
    let report = folder.json("run.json");
    let never_begun = &report["beside_k6"]["never_begun"];
    let count = |name: &str| never_begun[name].as_u64().unwrap();
    assert_eq!(count("due"), 300);
    let (users, late) = (count("users_busy") + count("users_held_up"), count("generator_late"));
    assert!(users > 150, "{never_begun}");
    let arrivals = &report["accounting"]["arrivals"];
    assert_eq!(
        (arrivals["dropped_cap"].as_u64(), arrivals["dropped_late"].as_u64()),
        (Some(users), Some(late))
    );
    run(&folder, &target, &["--force", "--k6-exit-codes"]).exits_with(0);
}

#[test]
fn an_objective_of_a_policy_counts_requests_of_iterations_that_were_never_begun() {
    let script = "
        import http from 'k6/http';
        export const options = {
            scenarios: { open: { executor: 'constant-arrival-rate', rate: 100, timeUnit: '1s', duration: '3s', preAllocatedVUs: 2, maxVUs: 2 } },
        };
        export default function () { http.get(`${__ENV.BASE}/item`, { tags: { name: 'item' } }); }";
    let slow = Behaviour::after(Duration::from_millis(50));
    let (folder, target) = folder(script, slow);
    folder.write(
        "policy.toml",
        "version = 1\n[objectives]\nfast = \"p50(item) < 60s\"\nmost = \"error_rate(all) < 50%\"",
    );
    let ran = run(&folder, &target, &["--policy", "policy.toml", "--json", "run.json"]);
    ran.exits_with(5).stdout_contains(&["dropped: VU limit"]);
    let report = folder.json("run.json");
    for name in ["fast", "most"] {
        assert_eq!(claim(&report, name)["verdict"], "INVALID", "{}", claim(&report, name));
    }
}

#[test]
fn two_runs_of_one_script_are_compared_and_a_slower_target_shows() {
    let script = "
        import http from 'k6/http';
        export const options = {
            scenarios: { open: { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: '3s', preAllocatedVUs: 20, maxVUs: 20 } },
            thresholds: { http_req_duration: ['p(50)<60000'] },
        };
        export default function () { http.get(`${__ENV.BASE}/item`, { tags: { name: 'item' } }); }";
    let (folder, fast) = folder(script, Behaviour::ok());
    let slow = testbed::http(Behaviour::after(Duration::from_millis(200))).unwrap();
    run(&folder, &fast, &["--evidence", "a.plimsoll"]);
    run(&folder, &slow, &["--evidence", "b.plimsoll"]);
    let ran = folder.plimsoll(&["compare", "a.plimsoll", "b.plimsoll", "-v", "--json", "compared.json"]);
    ran.stdout_contains(&["A  a.plimsoll", "B  b.plimsoll", "item of open"]);
    let p50 = |file: &str| {
        folder.plimsoll(&["report", file, "--json", "one.json"]);
        folder.json("one.json")["beside_k6"]["times"][0]["from_due"]["p50_ms"].as_f64().unwrap()
    };
    assert!(p50("b.plimsoll") > p50("a.plimsoll") + 100.0);
}

#[test]
fn a_report_shows_times_beside_those_of_k6_and_what_the_script_cost() {
    let (folder, target) = folder(PLAIN, Behaviour::ok());
    let files = ["--json", "run.json", "--html", "run.html", "--md", "run.md"];
    run(&folder, &target, &files).exits_with(0).stdout_contains(&["the same, from the due instant"]);
    let report = folder.json("run.json");
    let beside = &report["beside_k6"];
    let [requests, iterations] = beside["times"].as_array().unwrap().as_slice() else { panic!("{beside:#}") };
    assert_eq!(
        (&requests["metric"], &iterations["metric"]),
        (&"http_req_duration".into(), &"iteration_duration".into())
    );
    for pair in [requests, iterations] {
        assert_eq!(pair["in_k6"]["count"], pair["from_due"]["count"], "{pair:#}");
        let p99 = |which: &str| pair[which]["p99_ms"].as_f64().unwrap();
        assert!(p99("from_due") >= p99("in_k6") * 0.99, "from the due instant it takes no less: {pair:#}");
    }
    let cpu = &beside["script_cpu"];
    assert!(
        cpu["cpu_seconds"].as_f64().unwrap() > 0.0 && cpu["per_iteration_us"].as_f64().unwrap() > 0.0,
        "{cpu}"
    );
    let share = cpu["share_of_loops"].as_f64().unwrap();
    assert!(share > 0.0 && share <= 1.0, "{cpu}");
    for file in ["run.html", "run.md"] {
        let text = folder.read(file);
        assert!(
            text.contains("What k6 does not say") && text.contains("the same, from the due instant"),
            "{file}"
        );
    }
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0).stdout_contains(&["What k6 does not say"]);
}

/// The script measures its own work, and how long its calls take.
#[test]
fn the_time_of_a_script_is_part_of_its_iteration_and_of_no_request() {
    let script = "
        import http from 'k6/http';
        import { check } from 'k6';
        import { Trend } from 'k6/metrics';
        const tail = new Trend('tail');
        const big = JSON.stringify(Array.from({ length: 20000 }, (_, i) => ({ id: i, name: `n${i}` })));
        export const options = { vus: 1, iterations: 30, thresholds: { checks: ['rate==1'] } };
        export default function () {
            JSON.parse(big);
            const before = Date.now();
            const { timings } = http.get(`${__ENV.BASE}/item`);
            const after = Date.now();
            check(timings, { 'a request waits within its call': (t) => t.blocked <= after - before + 1 });
            JSON.parse(big);
            tail.add(Date.now() - after);
        }";
    let (folder, target) = folder(script, Behaviour::ok());
    let ran = run(&folder, &target, &["--json", "run.json", "--summary-export", "summary.json"]);
    ran.exits_with(0);
    let report = folder.json("run.json");
    let iterations = &report["beside_k6"]["times"][1];
    for quantile in ["p50_ms", "p95_ms", "p99_ms", "max_ms"] {
        let value = |which: &str| iterations[which][quantile].as_f64().unwrap();
        assert!(value("from_due") >= value("in_k6") * 0.998, "{quantile}: {iterations:#}");
    }
    let tail_ms = folder.json("summary.json")["metrics"]["tail"]["min"].as_f64().unwrap();
    assert!(iterations["from_due"]["p50_ms"].as_f64().unwrap() >= tail_ms, "{tail_ms} {iterations:#}");
    let findings = report["findings"].as_array().unwrap();
    let is_about_the_script = |finding: &&Value| finding["rule"] == "L3";
    let what = findings.iter().find(is_about_the_script).unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(what["what"].as_str().unwrap().to_lowercase().contains("the script held"), "{what:#}");
}

/// k6 counts the times of requests that failed as any other, and passes. Plimsoll gives no verdict on such times.
#[test]
fn times_of_refused_requests_do_not_pass_a_threshold() {
    let refusing = crate::command::refusal();
    let script = format!(
        "import http from 'k6/http';
         export const options = {{ iterations: 400, vus: 4, thresholds: {{ http_req_duration: ['p(95)<20000'] }} }};
         export default function () {{ http.get(`${{__ENV.BASE}}/a`); http.get('http://{}/b'); }}",
        refusing.addr()
    );
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let base = format!("BASE=http://{}", target.addr());
    let ran = folder.plimsoll(&["run", "script.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll"]);
    ran.exits_with(0).stdout_contains(&["INCONCLUSIVE", "400 values of failed requests count as unknown"]);
    let refusals = ran.stderr.matches("WARN Request Failed").count();
    assert_eq!(refusals, 11, "ten, and one with the number of the others: {}", ran.stderr);
    ran.stderr_contains(&["and 390 more like this"]);
    folder.plimsoll(&["report", "run.plimsoll", "--json", "again.json"]);
    assert_eq!(folder.json("again.json")["verdict"], "INCONCLUSIVE");
}
