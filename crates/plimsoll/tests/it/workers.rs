//! Runs whose load is offered by other processes: the same load, and what becomes of a run that loses one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use testbed::{Behaviour, Served, Site, Target};

use crate::command::{Running, TestFolder, checked, open, recorded_seconds, refusal};

/// An open scenario with random arrivals, one of a number of iterations for each virtual user, and one that all share.
const PLAN: &str = r#"version = 1
[targets.api]
url = "http://ADDRESS"
[data.users]
generate = "user-{1..1000}"
pick = "sequential"
PHASES
[[setup]]
name = "begin"
get = "${api.url}/begin"
[[scenarios]]
name = "open"
executor = "constant-arrival-rate"
arrivals = "poisson"
rate = "60/s"
max_vus = 60
[[scenarios.steps]]
name = "open"
get = "${api.url}/open/${users.id}?n=${random(1, 1000000)}"
[[scenarios]]
name = "each"
executor = "per-vu-iterations"
vus = 12
iterations = 5
max_duration = "3s"
[[scenarios.steps]]
name = "each"
get = "${api.url}/each/${users.id}?n=${random(1, 1000000)}"
[[scenarios]]
name = "shared"
executor = "shared-iterations"
vus = 5
iterations = 50
max_duration = "3s"
[[scenarios.steps]]
name = "shared"
get = "${api.url}/shared/${users.id}"
"#;

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

/// Phases so short that most contain one arrival at most, which is then the exchange that the run file keeps of its phase.
const PHASES: usize = 300;
const PHASE_MS: usize = 10;

#[derive(Debug, PartialEq)]
struct OfferedLoad {
    /// Every request that the target has in its log, in alphabetical order.
    requests: Vec<String>,
    /// How many arrivals of the open scenario were due in each second and phase.
    scheduled: BTreeMap<(i64, String), i64>,
    /// When they were due, in nanoseconds of the run, of those that are alone in their phase; by their requests.
    due_ns: BTreeMap<String, i64>,
}

fn offered(arguments: &[&str]) -> OfferedLoad {
    let target = target();
    let phase = |number| format!("[[phases]]\nname = \"p{number}\"\nduration = \"{PHASE_MS}ms\"\n");
    let phases: String = (0..PHASES).map(phase).collect();
    let address = target.addr().to_string();
    let folder = TestFolder::new(&PLAN.replace("ADDRESS", &address).replace("PHASES\n", &phases));
    let run = ["run", "plan.toml", "--quiet", "--no-precheck", "-o", "run.plimsoll"];
    folder.plimsoll(&[&run[..], arguments].concat()).exits_with(0);
    let path_of = |served: Served| format!("{}?{}", served.path, served.query);
    let mut requests: Vec<_> = target.log().into_iter().map(path_of).collect();
    requests.sort();
    let file = Connection::open(folder.path("run.plimsoll")).unwrap();
    let rows = |query: &str| -> Vec<(i64, String, i64)> {
        let mut statement = file.prepare(query).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let scheduled = rows(
        "SELECT second, phase, sum(value) FROM counts JOIN keys USING (key) \
         WHERE metric = 'scheduled' AND scenario = 'open' GROUP BY 1, 2",
    );
    let kept = rows(
        "SELECT due_ns, request, sum(value) FROM exemplars JOIN keys USING (scenario, phase) JOIN counts USING (key) \
         WHERE metric = 'scheduled' AND scenario = 'open' GROUP BY exemplar HAVING sum(value) = 1",
    );
    let of_log = |request: String| request.rsplit_once(&address).unwrap().1.to_owned();
    OfferedLoad {
        requests,
        scheduled: scheduled.into_iter().map(|(second, phase, count)| ((second, phase), count)).collect(),
        due_ns: kept.into_iter().map(|(due_ns, request, _)| (of_log(request), due_ns)).collect(),
    }
}

#[test]
fn three_workers_of_two_loops_offer_what_one_process_of_six_does() {
    let one = offered(&["--loops", "6"]);
    assert!(one.requests.len() > 200, "{}", one.requests.len());
    assert_eq!(offered(&["--workers", "3", "--loops", "2"]), one);
    // 180 arrivals are expected, and more than half of them alone in their phase.
    assert!(one.due_ns.len() > 60, "{:?}", one.due_ns);
    for request in one.due_ns.keys() {
        assert_eq!(one.requests.iter().filter(|served| *served == request).count(), 1, "{request}");
    }
}

/// What the run file at `path` says of the workers.
fn workers_in(path: &Path) -> Vec<serde_json::Value> {
    let file = Connection::open(path).unwrap();
    let question = "SELECT value FROM manifest WHERE name = 'workers'";
    let workers: String = file.query_row(question, [], |row| row.get(0)).unwrap();
    serde_json::from_str(&workers).unwrap()
}

/// The processes of the workers, by the run file at `path`.
pub(crate) fn worker_pids(path: &Path) -> Vec<Pid> {
    let pid = |worker: &serde_json::Value| Pid::from_raw(worker["pid"].as_i64().unwrap() as i32).unwrap();
    workers_in(path).iter().map(pid).collect()
}

/// Wait until the run file has so many seconds, and return what it says of the workers.
fn described(run: &mut Running, folder: &TestFolder, seconds: i64) -> Vec<serde_json::Value> {
    let path = folder.path("run.plimsoll");
    run.until("seconds are recorded", || recorded_seconds(&path) >= seconds);
    workers_in(&path)
}

/// The same, and return the processes of the workers.
fn workers_of(run: &mut Running, folder: &TestFolder, seconds: i64) -> Vec<Pid> {
    described(run, folder, seconds);
    worker_pids(&folder.path("run.plimsoll"))
}

/// The same, and return how far their clocks are ahead, in nanoseconds.
fn clocks_of(run: &mut Running, folder: &TestFolder) -> Vec<i64> {
    let ahead = |worker: &serde_json::Value| worker["clock_offset_ns"].as_i64().unwrap();
    described(run, folder, 1).iter().map(ahead).collect()
}

const RUN: [&str; 8] =
    ["run", "plan.toml", "--quiet", "--workers", "2", "-o", "run.plimsoll", "--json=run.json"];

#[test]
fn the_arrivals_of_a_killed_worker_are_dropped_by_the_generator() {
    let target = target();
    let objectives = "[objectives]\nfew = \"error_rate(all) < 50%\"\nfast = \"p95(all) < 5s\"\n";
    let folder = TestFolder::new(&(open(target.addr(), 6) + objectives));
    let mut run = folder.start(&RUN);
    let workers = workers_of(&mut run, &folder, 2);
    kill_process(workers[1], Signal::KILL).unwrap();
    // The report lists both, since they were not alike.
    let ran = run.end();
    ran.stdout_contains(&[
        "W1",
        "worker 2",
        "started/s",
        "\nworker 1 (127.0.0.1:",
        "  vanished  loops",
        "  at ",
        "∞ (of successes alone ",
        " that the generator dropped count as infinitely slow), limit",
    ]);
    assert!(!ran.stdout.contains("free core"), "{}", ran.stdout);
    let said = folder.json("run.json")["claims"][1].to_string();
    assert!(said.contains("arrivals have no result, because worker 2 (127.0.0.1:"), "{said}");
    let arrivals = &folder.json("run.json")["accounting"]["arrivals"];
    let count = |name: &str| arrivals[name].as_u64().unwrap();
    assert_eq!(count("scheduled"), 300);
    assert_eq!(count("started") + count("dropped_late"), 300, "{arrivals}");
    assert!((25..=125).contains(&count("dropped_late")), "{arrivals}");
}

/// k6's own answer would be 99: the threshold on dropped iterations is crossed.
#[test]
fn a_script_whose_worker_was_killed_is_invalid_and_its_target_is_not_blamed() {
    let target = target();
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        format!(
            "import http from 'k6/http';
            export const options = {{
                scenarios: {{ all: {{ executor: 'constant-arrival-rate', rate: 50, duration: '6s', preAllocatedVUs: 20 }} }},
                thresholds: {{ dropped_iterations: ['count<5'] }},
            }};
            export default () => http.get('http://{}/');",
            target.addr()
        ),
    );
    for (more, code) in [(&[][..], 5), (&["--k6-exit-codes"], 99)] {
        let run = ["run", "script.js", "--quiet", "--workers", "2", "-o", "run.plimsoll", "--force"];
        let mut run = folder.start(&[&run[..], more].concat());
        let workers = workers_of(&mut run, &folder, 2);
        kill_process(workers[1], Signal::KILL).unwrap();
        run.end().exits_with(code).stdout_contains(&["✗ 'count<5'", "W1"]);
        std::fs::remove_file(folder.path("run.plimsoll")).unwrap();
    }
}

#[test]
fn a_worker_that_was_stopped_for_a_while_is_late_and_stays() {
    let target = target();
    let folder =
        TestFolder::new(&(open(target.addr(), 6) + "[objectives]\nfew = \"error_rate(all) < 50%\"\n"));
    let mut run = folder.start(&RUN);
    let workers = workers_of(&mut run, &folder, 2);
    kill_process(workers[0], Signal::STOP).unwrap();
    // The stop itself is what is tested: until the other worker has had two more seconds.
    workers_of(&mut run, &folder, 5);
    kill_process(workers[0], Signal::CONT).unwrap();
    run.end();
    let report = folder.json("run.json");
    let arrivals = &report["accounting"]["arrivals"];
    let count = |name: &str| arrivals[name].as_u64().unwrap();
    assert_eq!((count("scheduled"), count("started")), (300, target.requests()), "{arrivals}");
    assert!(count("dropped_late") > 10, "{arrivals}");
    let is_w1 = |finding: &serde_json::Value| finding["rule"] == "W1";
    assert!(!report["findings"].as_array().unwrap().iter().any(is_w1));
}

#[test]
fn workers_end_with_a_killed_coordinator_and_its_file_is_readable() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 60));
    let mut run = folder.start(&RUN);
    let workers = workers_of(&mut run, &folder, 2);
    run.signal(Signal::KILL);
    run.end();
    let report = || folder.plimsoll(&["report", "run.plimsoll"]);
    report().stdout_contains(&["killed at second"]);
    let have_ended = || workers.iter().all(|worker| rustix::process::test_kill_process(*worker).is_err());
    // A report takes longer than a look at the workers, so that this waits for some seconds at most.
    assert!((0..500).any(|_| have_ended() || report().code.is_none()), "a worker outlives its coordinator");
}

#[test]
fn an_interrupted_run_drains_its_workers() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(200))).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 60));
    let mut run = folder.start(&RUN);
    workers_of(&mut run, &folder, 1);
    run.signal(Signal::INT);
    run.end();
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "interrupted");
    assert_eq!(report["accounting"]["requests_in_flight"], 0);
    assert_eq!(report["accounting"]["ok"].as_u64(), Some(target.requests()));
}

#[test]
fn a_worker_that_is_not_there_leaves_no_run() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 1));
    let refused = testbed::refuse().unwrap().addr().to_string();
    folder.write("token", "a token of this test, long enough");
    let worker = ["--worker", &refused, "--worker-token-file", "token", "--worker-timeout", "3s"];
    let ran = folder.plimsoll(&[&["run", "plan.toml", "--quiet"], &worker[..]].concat());
    let waiting = format!("waiting for worker {refused}, up to 3 s\n");
    ran.exits_with(2).stderr_contains(&[
        &waiting,
        &format!("worker 1 ({refused}): nothing listens there: start a worker"),
        "the run was not started",
    ]);
    assert!(folder.files(".plimsoll").is_empty());
    assert_eq!(target.requests(), 0);
    folder
        .plimsoll(&["run", "plan.toml", "--worker", &refused])
        .exits_with(2)
        .stderr_contains(&["PLIMSOLL_WORKER_TOKEN"]);
}

#[test]
fn a_worker_that_is_killed_before_the_load_is_named_and_leaves_no_run() {
    // Both workers are connected while the run's setup waits for its answer.
    let site = Site::new().at("/begin", Behaviour::after(Duration::from_secs(4))).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let phase = "[[phases]]\nname = \"all\"\nduration = \"3s\"\n";
    let folder =
        TestFolder::new(&PLAN.replace("ADDRESS", &target.addr().to_string()).replace("PHASES\n", phase));
    folder.write("token", "a token of this test, long enough");
    let mut workers = ["one", "two"].map(|name| {
        let own = TestFolder::new("");
        own.write("token", folder.read("token"));
        let worker = own.start(&["worker", "--listen", "127.0.0.1:0", "--token-file", "token"]);
        (name, own, worker)
    });
    let addresses = workers.each_mut().map(|(name, own, worker)| {
        worker.until(&format!("worker {name} listens"), || own.read("stdout.txt").contains('\n'));
        own.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned()
    });
    let listed = ["--worker", &addresses[0], "--worker", &addresses[1], "--worker-token-file", "token"];
    let run = folder.start(&[&["run", "plan.toml", "--quiet"], &listed[..]].concat());
    assert!(target.wait_for(Duration::from_secs(60), |log| !log.is_empty()), "the setup has begun");
    workers[1].2.signal(Signal::KILL);
    let named = format!("worker 2 ({})", addresses[1]);
    run.end().exits_with(2).stderr_contains(&[&named, "the run was not started"]);
    assert!(folder.files(".plimsoll").is_empty());
    // The steps that are sent once before the load, of 160 and more that it has.
    assert!(target.requests() < 10, "{} requests", target.requests());
}

#[test]
fn workers_with_keys_serve_the_coordinator_that_has_them() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 1));
    for keys in ["run.pem", "other.pem"] {
        folder.plimsoll(&["worker", "--make-keys", keys]).exits_with(0);
    }
    let mut worker = folder.start(&["worker", "--listen", "127.0.0.1:0", "--keys", "run.pem"]);
    worker.until("it listens", || folder.read("stdout.txt").contains('\n'));
    let address = folder.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned();
    let other = TestFolder::new(&open(target.addr(), 1));
    for keys in ["run.pem", "other.pem"] {
        other.write(keys, folder.read(keys));
    }
    let run =
        |keys| other.plimsoll(&["run", "plan.toml", "--quiet", "--worker", &address, "--worker-keys", keys]);
    run("other.pem").exits_with(2).stderr_contains(&["worker 1"]);
    run("run.pem").exits_with(0);
    assert_eq!(target.requests(), 50);
    worker.end().exits_with(0).stderr_contains(&[
        "connected from 127.0.0.1:",
        "it is worker 1 of the run, with 1 loop\n",
        "the load begins\n",
        "finished: 50 requests\n",
    ]);
}

#[test]
fn a_worker_that_other_machines_reach_is_told_of_keys_before_it_listens() {
    let folder = TestFolder::new("");
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let ran = folder.plimsoll(&["worker", "--listen", listen]);
        ran.exits_with(2).stderr_contains(&[listen, "--make-keys run.pem", "--worker-keys run.pem"]);
        assert!(ran.stdout.is_empty() && !ran.stderr.contains("PLIMSOLL_WORKER_TOKEN"), "{}", ran.stderr);
    }
}

#[test]
fn local_workers_leave_it_to_the_run_to_say_why_it_did_not_start() {
    let folder = TestFolder::new(&checked(&open(refusal().addr(), 1)));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "--workers", "3"]);
    ran.exits_with(2);
    assert!(!ran.stderr.contains("coordinator") && ran.stderr.lines().count() < 4, "{}", ran.stderr);
}

#[test]
fn that_every_worker_is_lost_is_said_once() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 60));
    let loud = RUN.iter().copied().filter(|word| *word != "--quiet").collect::<Vec<_>>();
    let mut run = folder.start(&loud);
    for worker in workers_of(&mut run, &folder, 1) {
        kill_process(worker, Signal::KILL).unwrap();
    }
    let ran = run.end();
    ran.exits_with(1).stderr_contains(&["every worker has vanished"]);
    assert_eq!(ran.stderr.matches("vanished").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_worker_whose_clock_is_days_ahead_offers_its_part_when_it_is_due() {
    // A namespace of its own, in which the monotonic clock is that of a machine that was started earlier.
    let ahead = "exec unshare --map-root-user --time --monotonic 259200 --fork \"$@\"";
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 2));
    folder.write("token", "a token of this test, long enough");
    let listen = ["worker", "--listen", "127.0.0.1:0", "--token-file", "token"];
    let mut worker = folder.start_after(ahead, &listen);
    worker.until("it listens", || folder.read("stdout.txt").contains('\n'));
    let address = folder.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned();
    let own = TestFolder::new(&open(target.addr(), 2));
    own.write("token", folder.read("token"));
    let asked = ["--worker", &address, "--worker-token-file", "token", "--json=run.json"];
    let mut run = own.start(&[&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"][..], &asked].concat());
    let clocks = clocks_of(&mut run, &own);
    run.end().exits_with(0);
    worker.end().exits_with(0);
    let report = own.json("run.json");
    assert_eq!(report["accounting"]["arrivals"]["started"], 100);
    let is_w2 = |finding: &serde_json::Value| finding["rule"] == "W2";
    assert!(!report["findings"].as_array().unwrap().iter().any(is_w2), "{}", report["findings"]);
    assert!(
        clocks.iter().all(|ahead_ns| ahead_ns.abs_diff(259_200_000_000_000) < 1_000_000_000),
        "{clocks:?}"
    );
}

#[test]
fn workers_end_with_a_coordinator_whose_disk_is_full() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 60));
    let mut run = folder.start_after("trap '' XFSZ; ulimit -f 300", &RUN);
    let workers = workers_of(&mut run, &folder, 1);
    run.end().exits_with(1).stderr_contains(&["not recorded to its end"]);
    assert!(workers.iter().all(|worker| rustix::process::test_kill_process(*worker).is_err()));
}
