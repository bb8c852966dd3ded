//! k6 scripts, run as they are.

use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::{CommandOutput, TestFolder};

/// A folder with `script.js`, and a target.
pub(crate) fn folder(script: &str, behaviour: Behaviour) -> (TestFolder, Target) {
    let target = testbed::http(behaviour).unwrap();
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    (folder, target)
}

/// Run `script.js` against a target, whose URL is `__ENV.BASE`.
fn run(folder: &TestFolder, target: &Target, more: &[&str]) -> CommandOutput {
    let base = format!("BASE=http://{}", target.addr());
    let fixed =
        ["run", "script.js", "-e", &base, "--evidence", "run.plimsoll", "--summary-export", "summary.json"];
    folder.plimsoll(&[&fixed[..], more].concat())
}

/// The script alone, without a target.
fn run_alone(script: &str) -> CommandOutput {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    folder.plimsoll(&["run", "script.js", "--evidence", "run.plimsoll", "--quiet"])
}

fn metric<'a>(summary: &'a Value, name: &str) -> &'a Value {
    &summary["metrics"][name]
}

#[test]
fn a_script_is_run_from_setup_to_teardown() {
    let script = "
        import http from 'k6/http';
        import { check, group, sleep } from 'k6';
        import { Counter, Trend } from 'k6/metrics';
        const items = new Counter('items'), took = new Trend('took', true);
        export const options = {
            vus: 2, iterations: 6,
            thresholds: { 'http_reqs{name:item}': ['count==6'], items: ['count==12'], checks: ['rate==1'] },
        };
        export function setup() { return { token: http.get(`${__ENV.BASE}/setup`).status }; }
        export default function (data) {
            group('outer', () => group('inner', () => {
                const response = http.get(`${__ENV.BASE}/item/${__ITER}`, { tags: { name: 'item' } });
                check(response, { 'it is 200': (r) => r.status === 200, 'setup came first': () => data.token === 200 });
                took.add(response.timings.duration);
                items.add(2);
            }));
            sleep(0.01);
        }
        export function teardown(data) { console.log(`torn down with ${JSON.stringify(data)}`); }";
    let (folder, target) = folder(script, Behaviour::ok());
    let ran = run(&folder, &target, &[]);
    ran.exits_with(0);
    ran.stdout_contains(&[
        "✓ 'count==6' count=6",
        "✓ it is 200",
        "✓ setup came first",
        "All 3 thresholds are met.",
    ])
    .stderr_contains(&["INFO torn down with {\"token\":200}  source=console"]);
    let summary = folder.json("summary.json");
    assert_eq!(metric(&summary, "http_reqs")["count"], 7, "that of setup is one of them");
    assert_eq!(metric(&summary, "iterations")["count"], 6);
    assert_eq!(metric(&summary, "checks")["passes"], 12);
    assert_eq!(metric(&summary, "items")["count"], 12);
    assert_eq!(
        summary["root_group"]["groups"]["outer"]["groups"]["inner"]["checks"]["it is 200"]["passes"],
        6
    );
    let paths: Vec<String> = target.log().iter().map(|entry| entry.path.clone()).collect();
    assert_eq!((paths.len(), paths[0].as_str()), (7, "/setup"));
}

#[test]
fn a_threshold_that_does_not_hold_is_99_and_each_other_end_has_its_code() {
    let throws = "export default function () {} ";
    for (script, code, message) in [
        (
            "export const options = { iterations: 1, thresholds: { iterations: ['count>1'] } }; export default function () {}",
            99,
            "thresholds on metrics 'iterations' have been crossed",
        ),
        ("export default function () { let = ; }", 107, "SyntaxError: "),
        ("\nundefined.x; export default function () {}", 107, "script.js:2"),
        (
            &format!("{throws} export function setup() {{ throw new Error('no setup'); }}"),
            107,
            "Error: no setup",
        ),
        (&format!("{throws} export function teardown() {{ null.x; }}"), 107, "at teardown"),
        ("import './missing.js'; export default function () {}", 107, "missing.js"),
        (
            "import { browser } from 'k6/browser';\nimport sql from 'k6/x/sql'; export default function () {}",
            107,
            "k6/x/sql at",
        ),
        ("const x = open('./missing.txt'); export default function () {}", 107, "missing.txt"),
        ("export const options = { vus: 'many' }; export default function () {}", 104, "`vus`"),
        (
            "export const options = { thresholds: { nope: ['count>1'] } }; export default function () {}",
            104,
            "nope",
        ),
        (
            "export const options = { executionSegment: '0:1/2', executionSegmentSequence: '0,1/3,1' }; export default function () {}",
            104,
            "executionSegment is not part of executionSegmentSequence",
        ),
        (
            "import exec from 'k6/execution'; export const options = { vus: 2, duration: '1h' }; export default function () { exec.test.abort('enough'); }",
            108,
            "test aborted: enough",
        ),
        ("export const options = {};", 255, "no exported functions in script"),
        (
            "export const options = { scenarios: { a: { executor: 'per-vu-iterations', exec: 'other' } } }; export default function () {}",
            104,
            "function 'other' not found in exports",
        ),
    ] {
        run_alone(script).exits_with(code).stderr_contains(&[message]);
    }
}

#[test]
fn an_iteration_that_throws_is_logged_and_the_next_one_runs() {
    let ran = run_alone(
        "import { fail } from 'k6';
        export const options = { iterations: 3, thresholds: { iterations: ['count==3'] } };
        export default function () {
            if (__ITER === 0) fail('on purpose');
            if (__ITER === 1) (function deep() { deep(); })();
            Promise.resolve(7).then((x) => console.log(`after the end: ${x}`));
        }",
    );
    ran.exits_with(0).stderr_contains(&[
        "ERRO Error: on purpose",
        "script.js:4",
        "RangeError: Maximum call stack size exceeded",
        "INFO after the end: 7",
    ]);
}

#[test]
fn what_an_iteration_leaves_behind_ends_with_it() {
    let script = "
        import http from 'k6/http';
        export const options = { vus: 2, iterations: 40, thresholds: { iterations: ['count==40'], http_reqs: ['count==80'] } };
        const forever = () => Promise.resolve().then(forever);
        export default function () {
            http.asyncRequest('GET', `${__ENV.BASE}/a`).then(() => { throw new Error('not called'); });
            http.asyncRequest('GET', `${__ENV.BASE}/b`);
            setTimeout(() => console.log('not fired'), 3600 * 1000);
            forever();
            throw new Error('early');
        }";
    let (folder, target) = folder(script, Behaviour::ok());
    let ran = run(&folder, &target, &["--no-thresholds"]);
    // Every iteration threw.
    ran.exits_with(3).stderr_contains(&["ERRO Error: early"]);
    assert!(!ran.stderr.contains("not "), "{}", ran.stderr);
    assert_eq!(metric(&folder.json("summary.json"), "iterations")["count"], 40);
}

#[test]
fn an_endless_loop_ends_with_its_scenario_and_delays_no_other() {
    let ran = run_alone(
        "import { sleep } from 'k6';
        export const options = { scenarios: {
            busy: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s', exec: 'busy' },
            other: { executor: 'per-vu-iterations', vus: 1, iterations: 5, exec: 'other' } },
            thresholds: { 'iterations{scenario:other}': ['count==5'], 'iterations{scenario:busy}': ['count==0'] } };
        export function busy() { try { for (;;) {} } catch (e) { console.log('caught'); } }
        export function other() { sleep(0.05); }",
    );
    ran.exits_with(0);
    assert!(!ran.stderr.contains("caught"), "{}", ran.stderr);
}

#[test]
fn requests_of_a_batch_and_of_promises_are_in_flight_together() {
    let script = "
        import http from 'k6/http';
        export const options = { iterations: 1, thresholds: { http_reqs: ['count==9'], http_req_failed: ['rate>0.33', 'rate<0.34'] } };
        export default async function () {
            const url = `${__ENV.BASE}/x`;
            const [a, b] = http.batch([['POST', url, { a: 1, b: 'ä &' }], url]);
            const named = http.batch({ one: { method: 'PUT', url, body: 'raw' } });
            console.log(a.status, b.request.method, named.one.request.method, a.request.body);
            const both = await Promise.all([http.asyncRequest('GET', url), http.asyncRequest('DELETE', url)]);
            console.log(both.map((r) => r.request.method).join());
            const refused = http.get('http://127.0.0.1:1/');
            console.log(refused.status, refused.error_code, refused.body);
            try { http.get('http://127.0.0.1:1/', { throw: true }); } catch (e) { console.log('thrown'); }
            const form = http.post(url, JSON.stringify({ n: [1, { m: 2 }] }), { headers: { 'Content-Type': 'application/json' } });
            console.log(form.request.headers['Content-Type'][0], typeof form.timings.waiting, form.headers['Content-Length']);
            console.log(http.get('nonsense').error);
        }";
    let (folder, target) = folder(script, Behaviour::ok());
    run(&folder, &target, &[]).exits_with(0).stderr_contains(&[
        "INFO 200 GET PUT a=1&b=%C3%A4+%26",
        "INFO GET,DELETE",
        "INFO 0 1212 null",
        "INFO thrown",
        "WARN Request Failed",
        "INFO application/json number",
        "unsupported protocol scheme",
    ]);
}

#[test]
fn a_script_makes_its_own_summary() {
    let script = |body: &str| {
        format!(
            "import {{ check }} from 'k6';
            import {{ textSummary }} from 'https://jslib.k6.io/k6-summary/0.0.2/index.js';
            export const options = {{ iterations: 2 }};
            export default function () {{ check(1, {{ one: (n) => n === 1 }}); }}
            export function handleSummary(data) {{ {body} }}"
        )
    };
    let folder = TestFolder::new("");
    let run = |body: &str| {
        folder.write("script.js", script(body));
        folder.plimsoll(&["run", "script.js", "--evidence", "run.plimsoll", "--force", "--quiet"])
    };
    let ran = run("return { stdout: textSummary(data, { indent: '>' }), 'out.json': JSON.stringify(data),
            'raw.bin': new Uint8Array([1, 2, 255]).buffer, stderr: 'said\\ntwice\\n' };");
    ran.exits_with(0).stdout_contains(&[">    ✓ one"]).stderr_contains(&["said\ntwice\n"]);
    assert!(!ran.stdout.contains("TOTAL RESULTS"), "{}", ran.stdout);
    let data = folder.json("out.json");
    assert_eq!(data["metrics"]["iterations"]["values"]["count"], 2);
    assert_eq!(data["root_group"]["checks"][0]["passes"], 2);
    assert_eq!(std::fs::read(folder.path("raw.bin")).unwrap(), [1, 2, 255]);
    run("throw new Error('no summary');")
        .exits_with(0)
        .stderr_contains(&["handleSummary() failed: Error: no summary"])
        .stdout_contains(&["TOTAL RESULTS"]);
    run("return { x: 7 };").stderr_contains(&["'x' is neither a text nor an ArrayBuffer"]);
}

#[test]
fn files_and_shared_data_are_read_once_and_found_beside_the_file_that_asks() {
    let folder = TestFolder::new("");
    std::fs::create_dir(folder.path("lib")).unwrap();
    folder.write("lib/users.json", "[{\"name\":\"ada\"},{\"name\":\"bob\"}]");
    folder.write(
        "lib/users.js",
        "import { SharedArray } from 'k6/data';
        export const users = new SharedArray('users', () => JSON.parse(open('./users.json')));",
    );
    folder.write(
        "script.js",
        "import { users } from './lib/users.js';
        export const options = { vus: 2, iterations: 2 };
        export default function () {
            let refused = 0;
            try { users[0] = 1; } catch (e) { refused++; }
            try { users[1].name = 'x'; } catch (e) { refused++; }
            console.log(users.length, users[1].name, [...users].map((u) => u.name).join('+'), refused);
        }",
    );
    let ran = folder.plimsoll(&["run", "script.js", "--evidence", "run.plimsoll", "--quiet"]);
    ran.exits_with(0).stderr_contains(&["INFO 2 bob ada+bob 2  source=console"]);
    let confined =
        folder.plimsoll(&["run", "script.js", "--files-under", "other", "--evidence", "two.plimsoll"]);
    confined.exits_with(107).stderr_contains(&["as --files-under asks"]);
}

#[test]
fn virtual_users_and_dropped_iterations_are_metrics() {
    let ran = run_alone(
        "import { sleep } from 'k6';
        export const options = { scenarios: {
            few: { executor: 'constant-arrival-rate', rate: 50, duration: '2s', preAllocatedVUs: 3, gracefulStop: '3s' } },
            thresholds: { dropped_iterations: ['count>=90', 'count<=97'], 'dropped_iterations{scenario:few}': ['count>0'],
                iterations: ['count>=3', 'count<=10'], vus: ['value<=3'], vus_max: ['value==3'] } };
        export default function () { sleep(1); }",
    );
    ran.exits_with(0).stdout_contains(&["dropped_iterations..", "vus_max..............: 3"]);
}

#[test]
fn every_executor_offers_its_load() {
    let ran = run_alone(
        "import { sleep } from 'k6';
        const scenario = (executor, rest) => ({ executor, exec: 'one', gracefulStop: '1s', ...rest });
        export const options = { scenarios: {
            shared: scenario('shared-iterations', { vus: 2, iterations: 7 }),
            each: scenario('per-vu-iterations', { vus: 2, iterations: 3 }),
            rate: scenario('constant-arrival-rate', { rate: 20, duration: '1s', preAllocatedVUs: 5 }),
            ramp: scenario('ramping-arrival-rate', { startRate: 10, stages: [{ target: 30, duration: '1s' }], preAllocatedVUs: 5 }),
            constant: scenario('constant-vus', { vus: 1, duration: '1s' }),
            ramping: scenario('ramping-vus', { stages: [{ target: 2, duration: '1s' }] }) },
            thresholds: {
                'iterations{scenario:shared}': ['count==7'], 'iterations{scenario:each}': ['count==6'],
                'iterations{scenario:rate}': ['count>=18', 'count<=21'], 'iterations{scenario:ramp}': ['count>=18', 'count<=21'],
                'iterations{scenario:constant}': ['count>=1'], 'iterations{scenario:ramping}': ['count>=1'] } };
        export function one() { sleep(0.02); }",
    );
    ran.exits_with(0);
}

#[test]
fn a_run_without_a_whole_iteration_is_said_to_be_too_short() {
    const TOO_SHORT: &str =
        "WARN No script iterations fully finished, consider making the test duration longer";
    let scenario = |seconds: u32| {
        format!(
            "import {{ sleep }} from 'k6';
            export const options = {{ scenarios: {{ one: {{ executor: 'per-vu-iterations', maxDuration: '1s', gracefulStop: '0s' }} }} }};
            export default function () {{ sleep({seconds}); }}"
        )
    };
    run_alone(&scenario(60)).exits_with(0).stderr_contains(&[TOO_SHORT]);
    let whole = run_alone(&scenario(0));
    whole.exits_with(0);
    assert!(!whole.stderr.contains(TOO_SHORT), "{}", whole.stderr);
}

/// Of functions that no load without scenarios would call, and of more than one request to an endpoint.
#[test]
fn once_calls_the_function_of_each_scenario_and_shows_every_exchange() {
    let script = "
        import http from 'k6/http';
        export const options = { scenarios: {
            browse: { executor: 'constant-arrival-rate', rate: 50, duration: '1h', preAllocatedVUs: 5, exec: 'browse' },
            buy: { executor: 'constant-vus', vus: 9, duration: '1h', startTime: '20m', exec: 'buy', env: { ITEM: 'shoe' } },
        } };
        export function setup() { http.get(`${__ENV.BASE}/setup`); }
        export function browse() { for (const page of [1, 2]) http.get(`${__ENV.BASE}/list?page=${page}`, { tags: { name: 'list' } }); }
        export function buy() { http.post(`${__ENV.BASE}/cart`, __ENV.ITEM); }
        export function teardown() { http.del(`${__ENV.BASE}/setup`); }";
    let (folder, target) = folder(script, Behaviour::ok());
    let base = format!("BASE=http://{}", target.addr());
    let ran = folder.plimsoll(&["run", "script.js", "--once", "-e", &base]);
    ran.exits_with(0).stderr_contains(&["--once: 5 exchanges, 0 failed\n"]);
    let shown = |line: &str| ran.stdout.lines().filter(|shown| shown.ends_with(line)).count();
    let asked = ["/setup", "/list?page=1", "/list?page=2", "/cart"].map(shown);
    assert_eq!(asked, [2, 1, 1, 1], "{}", ran.stdout);
    assert_eq!(shown("  | shoe"), 1, "{}", ran.stdout);
    let heads = ran.stdout.lines().filter_map(|line| line.strip_prefix("── "));
    let heads: Vec<&str> = heads.filter_map(|head| head.split_once(" / ")).map(|(of, _)| of).collect();
    assert_eq!((heads[0], heads[4]), ("setup", "teardown"), "{}", ran.stdout);
    assert_eq!(target.requests(), 5);
    let refused = folder.plimsoll(&["run", "script.js", "--once", "--workers", "2", "-e", &base]);
    refused
        .exits_with(255)
        .stderr_contains(&["--once makes its iterations in this process: leave out the workers"]);
}
