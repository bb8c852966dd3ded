//! `plimsoll ab`: pairs of runs of two arms, from the file to the verdict, and what goes wrong on the way.

mod carry_over;
mod imported;
mod together;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testbed::{Behaviour, CannedResponse};

use crate::command::{TestFolder, closed, open, refusal};

const GATE: &str = "[gate]\np50 = \"p50(get)\"\n";
/// Long enough to exceed the noise on a busy machine.
const SLOW: Duration = Duration::from_millis(150);

/// An experiment with arms at these addresses, which run already.
fn experiment(addresses: [SocketAddr; 2], more: &str) -> TestFolder {
    let folder = TestFolder::new(&closed(addresses[0], 1));
    let [a, b] = addresses.map(|address| format!("targets = {{ api = \"http://{address}\" }}"));
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.a]\n{a}\n[arms.b]\n{b}\n[design]\nlooks = [5]\n{more}"
        ),
    );
    folder
}

fn metric<'j>(report: &'j Value, name: &str) -> &'j Value {
    let metrics = report["judgement"]["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).unwrap()
}

#[test]
fn a_slower_arm_is_found_reported_and_judged_alike_again() {
    let fast = testbed::http(Behaviour::ok()).unwrap();
    let slow = testbed::http(Behaviour::after(SLOW)).unwrap();
    let folder = experiment([fast.addr(), slow.addr()], GATE);
    let ran = folder.plimsoll(&[
        "ab", "ex.toml", "-o", "out.ab", "--json", "r.json", "--md", "r.md", "--junit", "r.xml", "--quiet",
    ]);
    ran.exits_with(3)
        .stdout_contains(&["FAIL", "REGRESSED", "1 of 2 metrics regressed: p50", "5 pairs"])
        .stderr_contains(&[
            "decided by: p50 (p50(get), margin 5 %); errors (error_rate(all), margin 0.1 %)",
            "pair 5 of 5",
        ]);
    let report = folder.json("r.json");
    assert_eq!(report["schema"], "plimsoll.experiment/1");
    assert_eq!(metric(&report, "p50")["verdict"], "REGRESSED");
    assert!(metric(&report, "p50")["interval"][0].as_f64().unwrap() > 0.05);
    assert_ne!(metric(&report, "errors")["verdict"], "REGRESSED");
    assert!(folder.read("r.md").contains("| p50 | REGRESSED |"));
    assert!(folder.read("r.xml").contains("<failure"));

    let list = folder.json("out.ab/experiment.json");
    let runs = list["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 10);
    let orders: Vec<&Value> = runs.iter().step_by(2).map(|run| &run["order"]).collect();
    assert!(orders.contains(&&Value::from("ab")) && orders.contains(&&Value::from("ba")), "{orders:?}");
    let seed = |run: &Value| {
        let file = format!("out.ab/{}", run["file"].as_str().unwrap());
        let connection = rusqlite::Connection::open(folder.path(&file)).unwrap();
        let query = "SELECT value FROM manifest WHERE name = 'workload'";
        let workload: String = connection.query_row(query, [], |row| row.get(0)).unwrap();
        serde_json::from_str::<Value>(&workload).unwrap()["seed"].as_u64().unwrap()
    };
    assert_eq!(seed(&runs[0]), seed(&runs[1]), "both runs of a pair have the same load");
    assert_ne!(seed(&runs[0]), seed(&runs[2]), "each pair has a load of its own");
    let again = folder.plimsoll(&["ab", "--judge", "out.ab", "--json", "again.json"]);
    again.exits_with(3);
    assert_eq!(folder.json("again.json")["judgement"], report["judgement"]);
}

#[test]
fn runs_made_elsewhere_are_judged_where_their_times_allow_it() {
    let fast = testbed::http(Behaviour::ok()).unwrap();
    let slow = testbed::http(Behaviour::after(SLOW)).unwrap();
    let folder = experiment([fast.addr(), slow.addr()], GATE);
    folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]).exits_with(3);
    let files = |arm: &str| -> Vec<String> {
        (1..=5).map(|pair| format!("out.ab/pair-0{pair}-{arm}.plimsoll")).collect()
    };
    let judge = |from: &[String], against: &[String]| {
        let mut arguments = vec!["ab", "--gate", "p50(get)", "--from"];
        arguments.extend(from.iter().map(String::as_str));
        arguments.push("--against");
        arguments.extend(against.iter().map(String::as_str));
        folder.plimsoll(&arguments)
    };
    judge(&files("a"), &files("b")).exits_with(3).stdout_contains(&["REGRESSED", "were made elsewhere"]);
    judge(&files("a")[..4], &files("b")).exits_with(2).stderr_contains(&["4 runs of A and 5 of B"]);
    judge(&files("a")[..4], &files("b")[..4])
        .exits_with(2)
        .stderr_contains(&["needs at least 5 run files on each side; there are 4"]);
    // All that was made first against all that was made last.
    let mut all: Vec<String> = files("a").into_iter().chain(files("b")).collect();
    all.sort_by_key(|file| folder.path(file).metadata().unwrap().modified().unwrap());
    judge(&all[..5], &all[5..]).exits_with(5).stdout_contains(&["order-confounded"]);
}

#[test]
fn arms_that_answer_differently_are_not_compared() {
    let one = testbed::http(Behaviour::from(CannedResponse::new(200).body("x".repeat(200)))).unwrap();
    let other = testbed::http(Behaviour::from(CannedResponse::new(200).body("x".repeat(400)))).unwrap();
    let folder = experiment([one.addr(), other.addr()], GATE);
    let ran = folder.plimsoll(&["ab", "ex.toml", "--quiet"]);
    ran.exits_with(5).stdout_contains(&["INVALID", "C2 workload-mismatch: In 5 of 5 pairs"]);
}

#[test]
fn an_interrupted_experiment_keeps_its_pairs_and_goes_on() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(); 2], GATE);
    let mut run = folder.start(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]);
    let runs = || {
        let text = fs::read_to_string(folder.path("out.ab/experiment.json")).unwrap_or_default();
        let list: Value = serde_json::from_str(&text).unwrap_or_default();
        list["runs"].as_array().map_or(0, Vec::len)
    };
    run.until("a pair and a half were made", || runs() >= 3);
    run.signal(Signal::INT);
    run.end().exits_with(4).stdout_contains(&["It was interrupted"]).stderr_contains(&["--resume out.ab"]);
    assert!(runs() < 10);

    let changed = folder.plimsoll(&["ab", "ex.toml", "--resume", "out.ab", "--seed", "9", "--quiet"]);
    changed.exits_with(2).stderr_contains(&["have changed since it began"]);
    let resumed = folder.plimsoll(&["ab", "ex.toml", "--resume", "out.ab", "--quiet"]);
    assert!(matches!(resumed.code, Some(0 | 4)), "{resumed:?}");
    resumed.stderr_contains(&["resumed with 1 pairs"]).stdout_contains(&["5 pairs"]);
    assert_eq!(runs(), 10);
}

#[test]
fn an_arm_that_does_not_start_ends_the_experiment_and_leaves_nothing_behind() {
    let refused = refusal();
    let folder = TestFolder::new(&closed(refused.addr(), 1));
    let start = "echo no such database >&2; sleep 1000 & echo $! > one; \
                 setsid sh -c 'echo $$ > two; exec sleep 1000' & sleep 0.3; exit 7";
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.a]\nstart = \"{start}\"\n[arms.b]\nstart = \"{start}\"\n{GATE}"
        ),
    );
    let ran = folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]);
    ran.exits_with(2).stderr_contains(&[
        "of pair 1 could not be made ready, 3 times",
        "exit status: 7",
        "no such database",
    ]);
    for file in ["one", "two"] {
        let pid = folder.read(file);
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{file} is left");
    }
}

#[test]
fn an_arm_that_stops_to_be_ready_leaves_the_experiment_invalid() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(); 2], GATE);
    let text = folder.read("ex.toml");
    let reset = "reset = \"echo x >> count; test $(wc -l < count) -lt 3\"\n[design]";
    folder.write("ex.toml", text.replace("[design]", reset));
    let ran = folder.plimsoll(&["ab", "ex.toml", "--quiet"]);
    ran.exits_with(5)
        .stdout_contains(&["could not go on", "arm b of pair 3 could not be made ready, 3 times"]);
}

#[test]
fn a_baseline_that_fails_ends_after_the_first_pair() {
    let target = testbed::http(Behaviour::status(500)).unwrap();
    let folder = experiment([target.addr(); 2], GATE);
    let ran = folder.plimsoll(&["ab", "ex.toml", "--quiet"]);
    ran.exits_with(5).stdout_contains(&["`p50` (p50(get)) has no value in the first pair", "1 pairs"]);
}

#[test]
fn a_candidate_that_fails_fails_the_experiment_and_its_pairs_without_a_time_are_counted() {
    let [target, failing] = [Behaviour::ok(), Behaviour::status(500)].map(|of| testbed::http(of).unwrap());
    let folder = experiment([target.addr(), failing.addr()], GATE);
    let ran = folder.plimsoll(&["ab", "ex.toml", "--quiet", "--json", "r.json"]);
    ran.exits_with(3).stdout_contains(&["1 of 2 metrics regressed: errors", "5 pairs"]);
    assert_eq!(metric(&folder.json("r.json"), "p50")["without_value"], serde_json::json!([0, 5]));
}

#[test]
fn a_budget_that_does_not_reach_the_first_look_is_refused_before_anything_is_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(); 2], "budget = \"10s\"\n");
    let ran = folder.plimsoll(&["ab", "ex.toml"]);
    ran.exits_with(2).stderr_contains(&[
        "a budget of 10 s is enough for 1 pair of 6 s, and the first look is after 5, which takes 30 s: `--budget 1m`\n",
    ]);
    let longer = folder.plimsoll(&["ab", "ex.toml", "--slot", "20s", "--budget", "100s"]);
    longer.exits_with(2).stderr_contains(&["which takes 3.67 min: `--budget 4m`, or `--slot 8s`"]);
    assert_eq!(target.requests(), 0);
    assert!(folder.files(".ab").is_empty());
}

#[test]
fn what_no_pairs_can_pass_is_said_before_the_first_one() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 24));
    let arm = "start = \"exit 7\"\nready_within = \"1s\"\n";
    folder.write("ex.toml", format!("version = 1\nplan = \"plan.toml\"\n[arms.a]\n{arm}[arms.b]\n{arm}"));
    let ran = folder.plimsoll(&["ab", "ex.toml"]);
    ran.exits_with(2).stderr_contains(&[
        "warning: cannot-pass: with 1200 requests a run, 16 pairs do not exclude that errors is worse by its margin of 0.1 pp",
        "to 1731 requests a run, or the margin wider than 0.14 pp",
    ]);
    assert_eq!(target.requests(), 0);
    let longer = folder.plimsoll(&["ab", "ex.toml", "--slot", "36s"]);
    longer.exits_with(2);
    assert!(!longer.stderr.contains("cannot-pass"), "{}", longer.stderr);
}

#[test]
fn an_unusable_file_is_refused_with_line_and_key() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(); 2], GATE);
    let text = folder.read("ex.toml");
    for (from, to, message) in [
        ("[arms.b]", "[arms.c]", "`arms` needs `b`"),
        ("looks = [5]", "looks = [5, 6]", "there are no constants for looks after [5, 6] pairs"),
        ("looks = [5]", "lokks = [5]", "has no key `lokks`; did you mean `looks`?"),
        ("looks = [5]", "slot = \"0s\"", "`slot` is longer than 0"),
        ("p50(get)", "p50(got)", "there is no endpoint `got`; did you mean `get`?"),
        ("p50(get)", "p50(get) < 5ms", "nothing follows the `)`"),
        ("p50(get)", "cpu_per_request(target = db)", "there is no target `db`"),
        ("targets = { api", "targets = { db", "the plan has no target `db`; there are `api`"),
        ("plan = \"plan.toml\"", "plan = \"none.toml\"", "none.toml: cannot be read"),
        (
            "[gate]",
            "[gate]\nbad_starts = \"10%\"",
            "`bad_starts` of at most 10 % takes 29 pairs of which none is bad, and the last look is after 5; set `looks = [29]`",
        ),
        ("[gate]", "[gate]\nbad_starts = { worse_by = \"100%\" }", "`bad_starts` needs `at_most`"),
        ("[gate]", "[profiles]\ntarget = \"api\"\n[gate]", "target `api` cannot be profiled"),
        ("[gate]", "[profiles]\nshare = \"200%\"\n[gate]", "`share` is a share of the pairs"),
    ] {
        folder.write("ex.toml", text.replacen(from, to, 1));
        folder.plimsoll(&["ab", "ex.toml"]).exits_with(2).stderr_contains(&[message]);
    }
    assert_eq!(target.requests(), 0);
}

#[test]
fn a_list_that_cannot_be_read_is_refused() {
    let folder = TestFolder::new("");
    fs::create_dir(folder.path("out.ab")).unwrap();
    for (list, message) in [
        ("{", "is not a list of the runs of an experiment"),
        ("{\"version\": 1}", "is not a list of the runs of an experiment"),
    ] {
        folder.write("out.ab/experiment.json", list);
        folder.plimsoll(&["ab", "--judge", "out.ab"]).exits_with(2).stderr_contains(&[message]);
    }
}

#[test]
fn an_arm_that_dies_under_load_leaves_the_experiment_invalid_with_its_pairs() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mortal = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(), mortal.addr()], GATE);
    let looks = ["--looks", "8", "-o", "out.ab", "--quiet", "--html", "r.html"];
    let mut run = folder.start(&[&["ab", "ex.toml"], &looks[..]].concat());
    let seventh = |arm: &str| folder.path(&format!("out.ab/pair-07-{arm}.plimsoll"));
    run.until("the seventh pair began", || seventh("a").exists() || seventh("b").exists());
    drop(mortal);
    let ran = run.end();
    ran.exits_with(5).stdout_contains(&["INVALID"]);
    let pairs = ran.stdout.contains("6 pairs;") || ran.stdout.contains("has no value");
    assert!(pairs, "{}", ran.stdout);
    assert!(folder.read("r.html").contains("<svg class=\"plot dots\""));
}
