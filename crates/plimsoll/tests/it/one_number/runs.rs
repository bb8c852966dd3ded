//! The runs: each in all five forms, with what plain SQL finds in its file.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use peers::go::{Settings, Target as GoTarget};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;
use testbed::{Behaviour, CannedResponse, Target};

use super::archive_page::{self, Answered};
use super::shown::Numbers;
use super::sql;
use crate::command::{TestFolder, closed, recorded_seconds};
use crate::imports::fixture;

/// A run in every form.
pub(super) struct ReportedRun {
    pub(super) name: &'static str,
    pub(super) report: Value,
    pub(super) terminal: String,
    pub(super) html: String,
    pub(super) markdown: String,
    pub(super) junit: String,
    /// What plain SQL finds in the run file.
    pub(super) in_file: Numbers,
    /// What the queries of `docs/archive.md` find in it.
    pub(super) queries: Vec<Answered>,
}

const FILE: &str = "run.plimsoll";
/// Nothing is wrapped, and no column left out.
const WIDE: &str = "export COLUMNS=2000";

/// Every run. They are made once, beside each other.
pub(super) fn all() -> &'static [ReportedRun] {
    static RUNS: OnceLock<Vec<ReportedRun>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let shop = GoTarget::start(Settings::default()).unwrap();
        let (shop, api, slow) = (&shop, &failing_target(), &slow_target());
        thread::scope(|scope| {
            let native = [
                scope.spawn(|| ("ordinary", ran(&ordinary(shop, api)))),
                scope.spawn(|| ("short", ran(&short(shop)))),
                scope.spawn(|| ("one endpoint", ran(&one_endpoint(api)))),
                scope.spawn(|| ("a hundred endpoints", ran(&a_hundred_endpoints(api)))),
                scope.spawn(|| ("dropped", ran(&dropped(slow)))),
                scope.spawn(|| ("killed", killed(api))),
                scope.spawn(|| ("interrupted", interrupted())),
            ];
            let imports =
                ["k6.ndjson", "ghz.json", "vegeta-results.json", "ten.hlog", "k6-summary.json", "ghz.txt"];
            let imported = imports.map(|file| scope.spawn(move || (file, imported(file))));
            let made: Vec<(&str, TestFolder)> =
                native.into_iter().chain(imported).map(|run| run.join().unwrap()).collect();
            let mut runs: Vec<ReportedRun> =
                made.iter().map(|(name, folder)| reported(name, folder)).collect();
            change(&made[0].1);
            runs.push(reported("changed", &made[0].1));
            runs
        })
    })
}

fn reported(name: &'static str, folder: &TestFolder) -> ReportedRun {
    let outputs = ["--json", "r.json", "--html", "r.html", "--md", "r.md", "--junit", "r.xml"];
    let shown = folder.plimsoll_after(WIDE, &[&["report", FILE, "-v"], &outputs[..]].concat());
    assert!(shown.stderr.is_empty() && shown.code.is_some(), "{name}: {shown:?}");
    let report = folder.json("r.json");
    let file = Connection::open(folder.path(FILE)).unwrap();
    ReportedRun {
        name,
        in_file: sql::numbers(&file, &report),
        queries: archive_page::answered(&file),
        report,
        terminal: shown.stdout,
        html: folder.read("r.html"),
        markdown: folder.read("r.md"),
        junit: folder.read("r.xml"),
    }
}

/// Fails every seventh request.
fn failing_target() -> Target {
    let failing = Box::new(Behaviour::status(500));
    let answer = CannedResponse::new(200).after(Duration::from_millis(2));
    testbed::http(Behaviour::EveryNth { nth: 7, failing, otherwise: Box::new(answer.into()) }).unwrap()
}

fn slow_target() -> Target {
    testbed::http(Behaviour::after(Duration::from_millis(300))).unwrap()
}

fn ran(plan: &str) -> TestFolder {
    let folder = TestFolder::new(plan);
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", FILE]);
    assert!(ran.code.is_some_and(|code| code != 1 && code != 2), "{ran:?}");
    folder
}

fn imported(file: &str) -> TestFolder {
    let folder = TestFolder::new("");
    folder.write(file, std::fs::read(fixture(file)).unwrap());
    folder.plimsoll(&["import", file, "-o", FILE]).exits_with(0);
    folder
}

const STOPPED: [&str; 4] = ["run", "plan.toml", "-o", FILE];
const HELD: &str = "[objectives]\nheld = \"throughput(all) > 1/s\"\n";

/// A run of 60 s that was killed in its third second.
fn killed(api: &Target) -> TestFolder {
    let folder = TestFolder::new(&(closed(api.addr(), 60) + HELD));
    let mut run = folder.start(&STOPPED);
    let path = folder.path(FILE);
    run.until("seconds are recorded", || recorded_seconds(&path) >= 2);
    run.signal(Signal::KILL);
    run.end();
    folder
}

/// A run of 60 s that was interrupted, and again while it waited for requests without an answer: these are cancelled.
fn interrupted() -> TestFolder {
    let (failing, otherwise) = (Box::new(Behaviour::never()), Box::new(Behaviour::ok()));
    let target = testbed::http(Behaviour::EveryNth { nth: 40, failing, otherwise }).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 60) + HELD));
    let mut run = folder.start(&STOPPED);
    let path = folder.path(FILE);
    run.until("seconds are recorded", || recorded_seconds(&path) >= 2);
    run.signal(Signal::INT);
    run.until("it drains", || folder.read("stderr.txt").contains("stopping"));
    run.signal(Signal::INT);
    run.end();
    folder
}

/// Changes counts and samples of a sealed file by hand, everywhere alike.
fn change(folder: &TestFolder) {
    let file = Connection::open(folder.path(FILE)).unwrap();
    let changes = "UPDATE counts SET value = value + 1 WHERE key IN (SELECT key FROM keys WHERE metric = 'requests');
         UPDATE rollups SET total = (SELECT sum(value) FROM counts WHERE counts.key = rollups.key)
         WHERE key IN (SELECT key FROM keys WHERE metric = 'requests');
         UPDATE samples SET value = 2 * value WHERE series IN (SELECT series FROM series WHERE name = 'cpu');";
    file.execute_batch(changes).unwrap();
}

/// Two phases, an open mix and two closed sequences of which two endpoints have one name, checks, objectives, and a
/// process that is observed.
fn ordinary(shop: &GoTarget, api: &Target) -> String {
    format!(
        r#"version = 1
precheck = false
name = "ordinary"
[targets.shop]
url = "http://{shop}"
process = {{ pid = {pid} }}
[targets.api]
url = "http://{api}"
[[phases]]
name = "warm-up"
duration = "1s"
[[phases]]
name = "steady"
duration = "1400ms"
[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
phases = ["warm-up", "steady"]
rate = "120/s"
max_vus = 100
[[scenarios.steps]]
name = "list"
weight = 9
get = "${{shop.url}}/work?ms=1"
expect = {{ status = 200 }}
[[scenarios.steps]]
name = "search"
weight = 1
get = "${{api.url}}/search"
expect = {{ status = 200, body_contains = "status" }}
[[scenarios]]
name = "buy"
executor = "constant-vus"
phases = ["steady"]
vus = 2
[[scenarios.steps]]
name = "list"
get = "${{api.url}}/list"
expect = {{ status = 200 }}
[[scenarios.steps]]
name = "pay"
post = "${{api.url}}/pay"
body = "{{}}"
think = "15ms"
[[scenarios]]
name = "sell"
executor = "constant-vus"
phases = ["steady"]
vus = 1
[[scenarios.steps]]
name = "offer"
post = "${{api.url}}/offer"
body = "{{}}"
[[scenarios.steps]]
name = "confirm"
get = "${{shop.url}}/order"
think = "15ms"
[objectives]
fast = "p95(search, phase = steady) < 50ms"
few_errors = "error_rate(all) < 0.1%"
held = "throughput(scenario = browse) > 10/s"
cpu = "mean(cpu, target = shop) < 0.95"
"#,
        shop = shop.address(),
        pid = shop.pid(),
        api = api.addr(),
    )
}

fn short(shop: &GoTarget) -> String {
    format!(
        "version = 1\nprecheck = false\nname = \"short\"\n[targets.shop]\nurl = \"http://{}\"\nprocess = {{ pid = {} }}\n{}\n\
         name = \"get\"\nget = \"${{shop.url}}/work?ms=2\"\n[objectives]\nheld = \"throughput(all) > 10/s\"\n",
        shop.address(),
        shop.pid(),
        "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"60/s\"\nmax_vus = 50\n\
         duration = \"500ms\"\n[[scenarios.steps]]",
    )
}

/// Is over when its iterations are done, in the middle of a second.
fn one_endpoint(api: &Target) -> String {
    format!(
        "version = 1\nprecheck = false\nname = \"one\"\n[targets.api]\nurl = \"http://{}\"\n[[scenarios]]\nname = \"load\"\n\
         executor = \"per-vu-iterations\"\nvus = 3\niterations = 50\nmax_duration = \"60s\"\n[[scenarios.steps]]\n\
         name = \"get\"\nget = \"${{api.url}}/x\"\nthink = \"20ms\"\n[objectives]\n\
         held = \"throughput(all) > 10/s\"\n",
        api.addr()
    )
}

fn a_hundred_endpoints(api: &Target) -> String {
    let step =
        |n: usize| format!("[[scenarios.steps]]\nname = \"step {n:03}\"\nget = \"${{api.url}}/{n}\"\n");
    let steps: String = (1..=100).map(step).collect();
    format!(
        "version = 1\nprecheck = false\nname = \"hundred\"\n[targets.api]\nurl = \"http://{}\"\n[[scenarios]]\nname = \"load\"\n\
         executor = \"constant-vus\"\nvus = 3\nduration = \"1500ms\"\n{steps}",
        api.addr()
    )
}

/// One virtual user and a slow target: nearly all arrivals are dropped, of some endpoints all.
fn dropped(api: &Target) -> String {
    let step = |n: usize| {
        format!("[[scenarios.steps]]\nname = \"step {n}\"\nweight = 1\nget = \"${{api.url}}/{n}\"\n")
    };
    let steps: String = (1..=12).map(step).collect();
    format!(
        "version = 1\nprecheck = false\nname = \"dropped\"\n[targets.api]\nurl = \"http://{}\"\n[[scenarios]]\nname = \"load\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"80/s\"\nmax_vus = 1\nduration = \"1400ms\"\n{steps}",
        api.addr()
    )
}
