//! How a script's run ends before its planned end: signals, `exec.test.abort`, objectives of a policy. The archive is sealed,
//! the claims are judged, and the exit code is k6's.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::{CommandOutput, HANG, Running, TestFolder, recorded_seconds};

/// `script.js` started in a folder of its own, with the target as `__ENV.BASE`.
struct Started {
    folder: TestFolder,
    target: Target,
    running: Running,
}

fn start(script: &str, behaviour: Behaviour) -> Started {
    let target = testbed::http(behaviour).unwrap();
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let base = format!("BASE=http://{}", target.addr());
    let fixed = ["run", "script.js", "--quiet", "--evidence", "run.plimsoll", "--json", "run.json"];
    let running = folder.start(&[&fixed[..], &["-e", &base, "--summary-export", "summary.json"]].concat());
    Started { folder, target, running }
}

impl Started {
    /// Wait for so many requests.
    fn until_requested(&self, count: usize) {
        assert!(self.target.wait_for(HANG, |log| log.len() >= count));
    }

    /// Send Ctrl-C, and wait until it is answered so.
    fn interrupt_until(&mut self, answer: &str) {
        self.running.signal(Signal::INT);
        let folder = &self.folder;
        self.running.until(answer, || folder.read("stderr.txt").contains(answer));
    }
}

fn claim<'a>(report: &'a Value, name: &str) -> &'a Value {
    let claims = report["claims"].as_array().unwrap();
    claims
        .iter()
        .find(|claim| claim["name"] == name)
        .unwrap_or_else(|| panic!("no claim {name}: {claims:#?}"))
}

/// Run a script without a target to its end.
fn run_alone(script: &str, more: &[&str]) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    folder.write(
        "policy.toml",
        "version = 1\n[objectives.strict]\nis = \"error_rate(all) < 45%\"\nabort_on = \"fail\"\nabort_after = \"1s\"\n",
    );
    let fixed = ["run", "script.js", "--quiet", "--evidence", "run.plimsoll", "--json", "run.json"];
    let ran = folder.plimsoll(&[&fixed[..], more].concat());
    (folder, ran)
}

/// Why and when it stopped, as the file has it.
fn stop_notice(folder: &TestFolder) -> String {
    let file = rusqlite::Connection::open(folder.path("run.plimsoll")).unwrap();
    file.query_row("SELECT text FROM notices WHERE kind = 'stopped'", [], |row| row.get(0)).unwrap()
}

/// Two users with a request each, which the target answers late or never.
const LONG: &str = "
    import http from 'k6/http';
    import exec from 'k6/execution';
    export const options = { vus: 2, duration: '1h', thresholds: { http_reqs: ['count>1000000', 'count>0'] } };
    export default function () { exec.test.fail('marked'); http.get(`${__ENV.BASE}/item`); }
    export function teardown() { console.log('torn down'); }";

#[test]
fn an_interrupted_script_ends_its_iterations_and_is_torn_down() {
    let mut started = start(LONG, Behaviour::after(Duration::from_millis(300)));
    started.until_requested(3);
    let path = started.folder.path("run.plimsoll");
    started.running.until("a second is recorded", || recorded_seconds(&path) >= 1);
    started.interrupt_until("stopping: no new arrivals");
    let Started { folder, target, running } = started;
    let ran = running.end();
    ran.exits_with(105).stdout_contains(&["✗ 'count>1000000'"]).stderr_contains(&["INFO torn down"]);
    assert!(!ran.stderr.contains("have been crossed"), "{}", ran.stderr);
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "interrupted");
    assert_eq!(report["accounting"]["ok"].as_u64(), Some(target.requests()), "what was in flight ended");
    let total = claim(&report, "http_reqs count>1000000");
    assert_eq!(
        (&total["verdict"], &total["holds_in_k6"]),
        (&"INCONCLUSIVE".into(), &false.into()),
        "{total}"
    );
    assert_eq!(claim(&report, "http_reqs count>0")["verdict"], "INCONCLUSIVE");
    assert_eq!(stop_notice(&folder), "interrupted by a signal");
    assert!(folder.files("-wal").is_empty(), "a sealed run is one file");
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(4).stdout_contains(&["interrupted at "]);
}

#[test]
fn a_second_interrupt_ends_iterations_at_once_and_calls_teardown() {
    let mut started = start(LONG, Behaviour::never());
    started.until_requested(2);
    started.interrupt_until("stopping: no new arrivals");
    started.interrupt_until("ending at once");
    let Started { folder, running, .. } = started;
    running.end().exits_with(105).stderr_contains(&["INFO torn down"]);
    assert_eq!(folder.json("run.json")["accounting"]["cancelled"], 2);
}

#[test]
fn an_interrupt_in_teardown_is_noted_and_a_second_one_ends_it() {
    let script = "
        import http from 'k6/http';
        export const options = { iterations: 1, thresholds: { iterations: ['count==1'] } };
        export default function () {}
        export function teardown() { http.get(`${__ENV.BASE}/end`, { timeout: '1h' }); }";
    let mut started = start(script, Behaviour::never());
    started.until_requested(1);
    started.interrupt_until("stopping: waiting for teardown");
    started.running.signal(Signal::INT);
    let Started { folder, running, .. } = started;
    running.end().exits_with(105).stderr_contains(&["ending at once"]);
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0).stdout_contains(&["PASS", "completed"]);
}

#[test]
fn an_interrupt_in_setup_leaves_no_file() {
    let script = "
        import http from 'k6/http';
        export function setup() { http.get(`${__ENV.BASE}/begin`, { timeout: '1h' }); }
        export default function () {}";
    let started = start(script, Behaviour::never());
    started.until_requested(1);
    started.running.signal(Signal::INT);
    let Started { folder, running, .. } = started;
    running.end().exits_with(105).stderr_contains(&["stopped before the load; nothing was recorded"]);
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn a_script_that_aborts_itself_is_judged_by_what_there_was() {
    let (folder, ran) = run_alone(
        "import exec from 'k6/execution';
        export const options = { vus: 1, duration: '1h', thresholds: { iterations: ['count>1000', 'count<1'] } };
        export default function () { if (__ITER === 3) { exec.test.fail('marked'); exec.test.abort('enough'); } }
        export function teardown() { console.log('torn down'); }",
        &[],
    );
    ran.exits_with(108).stderr_contains(&["INFO torn down", "test aborted: enough"]);
    let report = folder.json("run.json");
    assert_eq!(claim(&report, "iterations count>1000")["verdict"], "INCONCLUSIVE", "it was not its end");
    assert_eq!(claim(&report, "iterations count<1")["verdict"], "FAIL", "it is too many already");
    assert_eq!(stop_notice(&folder), "ended early by the script");
}

/// Every other request fails, and the objective of the policy is too near to that to be decided.
#[test]
fn a_policy_that_ended_a_run_fails_it_though_its_verdict_is_open() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let base = format!("BASE=http://{}", target.addr());
    let (folder, ran) = run_alone(
        "import http from 'k6/http';
        import { sleep } from 'k6';
        export const options = { vus: 1, duration: '1h' };
        export default function () { http.get('http://127.0.0.1:1/'); http.get(__ENV.BASE); sleep(0.05); }
        export function teardown() { console.log('torn down'); }",
        &["--policy", "policy.toml", "-e", &base],
    );
    ran.exits_with(99)
        .stderr_contains(&["stopping: strict: error_rate(all) < 45% does not hold", "torn down"]);
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "stopped");
    assert_eq!(claim(&report, "strict")["verdict"], "INCONCLUSIVE");
}

#[test]
fn the_rate_of_a_counter_is_the_same_in_the_summary_and_in_the_claim() {
    let script = "
        import http from 'k6/http';
        export const options = {
            scenarios: { open: { executor: 'constant-arrival-rate', rate: 20, duration: '1500ms', preAllocatedVUs: 5 } },
            thresholds: { http_reqs: ['rate>1'] },
        };
        export default function () { http.get(`${__ENV.BASE}/item`); }";
    let Started { folder, running, target: _target } =
        start(script, Behaviour::after(Duration::from_millis(150)));
    running.end();
    let (summary, report) = (folder.json("summary.json"), folder.json("run.json"));
    let shown = summary["metrics"]["http_reqs"]["rate"].as_f64().unwrap();
    let claimed = claim(&report, "http_reqs rate>1")["observed"]["value"].as_f64().unwrap();
    assert_eq!(shown, claimed);
}

#[test]
fn what_a_setup_prints_before_it_throws_is_printed_to_its_end() {
    let script = "
        export function setup() {
            for (let i = 0; i < 5000; i++) console.log(`line ${i}`);
            throw new Error('no setup');
        }
        export default function () {}";
    let (_, ran) = run_alone(script, &[]);
    ran.exits_with(107).stderr_contains(&["no setup"]);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("INFO line ")).count(), 5000);
}
