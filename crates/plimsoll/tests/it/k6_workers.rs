//! k6 scripts whose load is offered by other processes: the load of one process, and one summary.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use serde_json::Value;
use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder};

/// An open scenario, one of a number of iterations for each virtual user, and one that all share; with a module, a file, rows
/// that are shared, and metrics.
const SCRIPT: &str = r"
import http from 'k6/http';
import exec from 'k6/execution';
import { SharedArray } from 'k6/data';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
import { base } from './lib/base.js';

const users = new SharedArray('users', () => JSON.parse(open('./users.json')));
const greeting = open('./greeting.txt').trim();
const shares = new Counter('shares');
const numbers = new Trend('numbers');
const odd = new Rate('odd');
const highest = new Gauge('highest');

const to = (exec, startTime) => ({ exec, startTime, gracefulStop: '30s' });
export const options = {
    scenarios: {
        arrivals: {
            executor: 'constant-arrival-rate', rate: 60, timeUnit: '1s', duration: '2s', preAllocatedVUs: 60, ...to('arrive', '0s'),
        },
        each: { executor: 'per-vu-iterations', vus: 12, iterations: 5, ...to('each', '0s') },
        shared: { executor: 'shared-iterations', vus: 6, iterations: 50, ...to('share', '0s') },
    },
    thresholds: {
        shares: ['count>=SHARES'],
        numbers: ['avg>=0', 'max>=MOST'],
        odd: ['rate>0.4'],
        'numbers{half:second}': ['min>=25'],
    },
};

export function setup() {
    http.get(`${base()}/setup`);
    return { token: Math.random().toString(36) };
}

function ask(data, path) {
    http.get(`${base()}/${path}?greeting=${greeting}&kept=${data.token.length > 3}&flag=${__ENV.FLAG}`);
}

export function arrive(data) {
    const number = exec.scenario.iterationInTest;
    ask(data, `arrive/${number}/${users[number % users.length]}`);
}

export function each(data) {
    const vu = exec.vu.idInTest;
    ask(data, `each/${vu}/${__VU}/${exec.vu.iterationInScenario}/${users[vu % users.length]}`);
}

export function share(data) {
    const number = exec.scenario.iterationInTest;
    shares.add(1);
    numbers.add(number, { half: number < 25 ? 'first' : 'second' });
    odd.add(number % 2);
    highest.add(number);
    ask(data, `share/${number}/${exec.scenario.name}`);
}

export function teardown(data) {
    http.get(`${base()}/teardown?kept=${data.token.length > 3}`);
}

export function handleSummary(data) {
    return { 'summary.json': JSON.stringify(data) };
}
";

/// What the target has in its log, and the metrics that are the same however many processes there are.
fn offered(arguments: &[&str], shares: u32, most: u32) -> (Vec<String>, Vec<Value>) {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let script = SCRIPT.replace("SHARES", &shares.to_string()).replace("MOST", &most.to_string());
    folder.write("script.js", script);
    std::fs::create_dir(folder.path("lib")).unwrap();
    folder.write("lib/base.js", "export const base = () => __ENV.BASE;");
    folder.write("users.json", r#"["ann", "ben", "cyd", "dee", "eve", "fay", "gus"]"#);
    folder.write("greeting.txt", "hello\n");
    let base = format!("BASE=http://{}", target.addr());
    let run = ["run", "script.js", "--quiet", "-e", &base, "-e", "FLAG=on", "--evidence", "run.plimsoll"];
    folder.plimsoll(&[&run[..], arguments].concat()).exits_with(0);
    let mut lines: Vec<_> =
        target.log().into_iter().map(|served| format!("{}?{:?}", served.path, served.query)).collect();
    lines.sort();
    let summary = folder.json("summary.json");
    let own = [
        ("shares", &["count"][..]),
        ("numbers", &["min", "max", "avg", "med", "p(95)"]),
        ("odd", &["rate", "passes", "fails"]),
        ("highest", &["min", "max"]),
        ("iterations", &["count"]),
        ("http_reqs", &["count"]),
    ];
    let values = |(metric, names): (&str, &[&str])| {
        let values: Vec<&Value> =
            names.iter().map(|name| &summary["metrics"][metric]["values"][*name]).collect();
        let thresholds = &summary["metrics"][metric]["thresholds"];
        let second = &summary["metrics"][format!("{metric}{{half:second}}")]["thresholds"];
        serde_json::json!([metric, values, thresholds, second])
    };
    (lines, own.into_iter().map(values).collect())
}

#[test]
fn three_workers_of_two_loops_run_the_script_that_six_loops_of_one_process_do() {
    let (one, three) = thread::scope(|scope| {
        let one = scope.spawn(|| offered(&["--loops", "6"], 50, 49));
        (offered(&["--workers", "3", "--loops", "2"], 50, 49), one.join().unwrap())
    });
    assert_eq!(one.0, three.0);
    assert_eq!(one.1, three.1);
    // 120 arrivals, 60 and 50 iterations, setup and teardown.
    assert_eq!(one.0.len(), 232);
    assert_eq!(one.1[5][1][0], 232);
}

#[test]
fn workers_share_the_part_of_a_load_that_an_instance_has() {
    let part = ["--execution-segment", "1/4:3/5", "--execution-segment-sequence", "0,1/4,3/5,1"];
    let offered = |processes: [&str; 4]| offered(&[&part[..], &processes].concat(), 10, 20);
    let (one, two) = thread::scope(|scope| {
        let one = scope.spawn(|| offered(["--loops", "2", "--worker-timeout", "9s"]));
        (offered(["--loops", "1", "--workers", "2"]), one.join().unwrap())
    });
    assert_eq!(one.0, two.0);
    assert!(one.0.len() > 50, "{}", one.0.len());
}

/// Run a script without a target over two workers.
fn over_two(script: &str, more: &[&str]) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let fixed = ["run", "script.js", "--quiet", "--evidence", "run.plimsoll", "--workers", "2"];
    let ran = folder.plimsoll(&[&fixed[..], more].concat());
    (folder, ran)
}

#[test]
fn rows_that_are_drawn_are_the_same_in_every_worker() {
    let (_, ran) = over_two(
        "import exec from 'k6/execution'; import { SharedArray } from 'k6/data'; import { Trend } from 'k6/metrics';
         const rows = new SharedArray('rows', () => [Math.random()]);
         const row = new Trend('row');
         export const options = { scenarios: { all: { executor: 'per-vu-iterations', vus: 8 } } };
         export default () => row.add(rows[0]);
         export const handleSummary = (data) => {
             const { min, max } = data.metrics.row.values;
             return { stdout: `${data.metrics.iterations.values.count} iterations, ${min > 0 && min === max}` };
         };",
        &[],
    );
    ran.exits_with(0).stdout_contains(&["8 iterations, true"]);
}

#[test]
fn what_one_worker_asks_of_the_test_holds_for_all() {
    let aborting = "
        import exec from 'k6/execution'; import { sleep } from 'k6';
        export const options = { vus: 4, duration: '1h' };
        export default () => { if (exec.vu.idInTest === 3) exec.test.abort('enough'); sleep(0.01); };
        export const teardown = () => console.log('torn down');";
    let (_, ran) = over_two(aborting, &[]);
    ran.exits_with(108).stderr_contains(&["enough", "torn down"]);
    let crossed = "
        import exec from 'k6/execution'; import { check, sleep } from 'k6';
        export const options = { vus: 2, duration: '1h', thresholds: { checks: [{ threshold: 'rate>0.9', abortOnFail: true }] } };
        export default () => { check(exec.vu.idInTest, { first: (id) => id === 1 }); sleep(0.05); };";
    over_two(crossed, &[]).1.exits_with(99).stderr_contains(&["thresholds on metrics 'checks' were crossed"]);
    let failing = "
        import exec from 'k6/execution';
        export const options = { scenarios: { all: { executor: 'per-vu-iterations', vus: 2 } } };
        export default () => { if (exec.vu.idInTest === 2) exec.test.fail('marked'); };";
    over_two(failing, &[]).1.exits_with(110);
}

#[test]
fn values_of_every_iteration_are_not_to_be_had_from_workers() {
    let (folder, ran) = over_two("export default () => {};", &["-o", "json=values.json"]);
    ran.exits_with(255).stderr_contains(&["-o writes every single value"]);
    assert!(folder.files(".plimsoll").is_empty());
}

/// Hands everything on between a coordinator and a worker, and keeps what the coordinator sends: without keys it is in the clear.
fn relay(worker: String) -> (String, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let relaying = thread::spawn(move || {
        let (mut coordinator, _) = listener.accept().unwrap();
        let mut worker = TcpStream::connect(worker).unwrap();
        let (mut back, mut from) = (coordinator.try_clone().unwrap(), worker.try_clone().unwrap());
        let answers = thread::spawn(move || std::io::copy(&mut from, &mut back));
        let (mut sent, mut part) = (Vec::new(), vec![0; 1 << 16]);
        while let Ok(read @ 1..) = coordinator.read(&mut part) {
            sent.extend_from_slice(&part[..read]);
            worker.write_all(&part[..read]).unwrap();
        }
        let _ = worker.shutdown(Shutdown::Write);
        let _ = answers.join();
        sent
    });
    (address, relaying)
}

/// What a coordinator with these variables sends to its worker, and how the run ended.
fn sent_to_worker(script: &str, flags: &[&str]) -> (String, CommandOutput) {
    let folder = TestFolder::new("");
    folder.write("token", "the token of these tests\n");
    folder.write("script.js", script);
    let mut worker = folder.start(&["worker", "--listen", "127.0.0.1:0", "--token-file", "token"]);
    worker.until("it listens", || folder.read("stdout.txt").contains('\n'));
    let address = folder.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned();
    let coordinator = TestFolder::new("");
    coordinator.write("token", "the token of these tests\n");
    coordinator.write("script.js", script);
    let (relayed, sent) = relay(address);
    let variables = "export UNNAMED_SECRET=unnamed-5ecret K6_CLOUD_TOKEN=cloud-5ecret K6_USER_AGENT=own/1.0";
    let run =
        ["run", "script.js", "-i", "1", "--quiet", "--worker", &relayed, "--worker-token-file", "token"];
    let ran = coordinator.plimsoll_after(variables, &[&run[..], flags].concat());
    let sent = String::from_utf8_lossy(&sent.join().unwrap()).into_owned();
    assert!(sent.contains("K6_USER_AGENT") && sent.contains("own/1.0"), "{sent}");
    (sent, ran)
}

#[test]
fn workers_get_the_variables_that_a_script_names_and_no_others() {
    let names = "export default () => console.log('named', __ENV.TOKEN);";
    let (sent, ran) = sent_to_worker(names, &[]);
    ran.exits_with(0);
    assert!(sent.contains("env-5ecret-value") && sent.contains("UNNAMED_SECRET"), "{sent}");
    assert!(!sent.contains("unnamed-5ecret") && !sent.contains("cloud-5ecret"), "{sent}");

    let (sent, ran) = sent_to_worker(names, &["--include-system-env-vars=false", "-e", "OTHER=given-value"]);
    ran.exits_with(0);
    assert!(sent.contains("given-value"), "{sent}");
    for absent in ["env-5ecret-value", "unnamed-5ecret", "cloud-5ecret", "UNNAMED_SECRET"] {
        assert!(!sent.contains(absent), "{absent}: {sent}");
    }
}

#[test]
fn a_variable_that_workers_do_not_get_throws_where_it_is_read() {
    let hidden = "export default () => { throw new Error(['UNNAMED', 'SECRET'].map((a, n, all) => __ENV[all.join('_')]).join()); };";
    let folder = TestFolder::new("");
    folder.write("script.js", hidden);
    let run = ["run", "script.js", "-i", "1", "--quiet", "--workers", "1", "--evidence", "run.plimsoll"];
    let ran = folder.plimsoll_after("export UNNAMED_SECRET=unnamed-5ecret", &run);
    ran.stderr_contains(&[
        "workers do not get the environment variable UNNAMED_SECRET",
        "__ENV.UNNAMED_SECRET",
    ]);
    assert!(!ran.stderr.contains("unnamed-5ecret"), "{}", ran.stderr);
}
