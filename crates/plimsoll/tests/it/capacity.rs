//! `plimsoll capacity`: from the file to the answer, and what goes wrong on the way.

mod trouble;

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::{TestFolder, open, refusal};

/// Short probes: of the searches that these tests make, only the sequence of stages is asserted.
const SEARCH: &str = "step = \"1s\"\nwarm_up = \"0s\"\nlevels = 5\nrepeats = 2\nhold = \"0s\"\noverload = \"0s\"\nrest = \"0s\"\n";
/// Far more than stalls of a busy machine.
const SLO: &str = "[slo]\nfast = \"p95(get) < 200ms\"\n";

/// A search of what runs at this address under a plan of 50 requests a second.
fn experiment(address: SocketAddr, search: &str) -> TestFolder {
    let folder = TestFolder::new(&open(address, 1));
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.service]\ntargets = {{ api = \"http://{address}\" }}\n[search]\n\
             {SEARCH}{search}{SLO}"
        ),
    );
    folder
}

/// Answers at once, and beyond 150 requests a second ever later.
fn limited() -> Target {
    testbed::http(Behaviour::capacity(3, Duration::from_millis(20))).unwrap()
}

fn runs(folder: &TestFolder) -> usize {
    let text = fs::read_to_string(folder.path("out.capacity/experiment.json")).unwrap_or_default();
    let list: Value = serde_json::from_str(&text).unwrap_or_default();
    list["runs"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_capacity_is_found_reported_and_judged_alike_again() {
    let target = limited();
    let folder = experiment(target.addr(), "from = \"40/s\"\nto = \"600/s\"\n");
    let ran = folder.plimsoll(&[
        "capacity",
        "ex.toml",
        "-o",
        "out.capacity",
        "--json",
        "r.json",
        "--md",
        "r.md",
        "--junit",
        "r.xml",
        "--html",
        "r.html",
        "--quiet",
        "--overload",
        "2s",
    ]);
    ran.exits_with(0)
        .stdout_contains(&[
            "MEASURED",
            "holds",
            "breaks",
            "arrivals/s, 95 % [",
            "Beyond the capacity",
            "short-probes",
        ])
        .stderr_contains(&[
            "what must hold: p95(get) < 200ms",
            "the generator can sustain",
            "grid:",
            "overload:",
        ]);
    let report = folder.json("r.json");
    assert_eq!(report["schema"], "plimsoll.capacity/1");
    let judgement = &report["judgement"];
    let [holds, breaks] = ["holds", "breaks"].map(|end| judgement[end].as_f64().unwrap());
    // Probes of a second end before the queue is long, so that they flatter.
    assert!((100.0..250.0).contains(&holds) && holds < breaks && breaks < 450.0, "{holds} {breaks}");
    assert_eq!(judgement["slos"][0]["breaks_first"], true);
    assert_eq!(judgement["overload"]["parts"].as_array().unwrap().len(), 5);
    assert!(folder.read("r.md").contains("within the bound by"));
    assert!(folder.read("r.xml").contains("name=\"capacity\""));
    let page = folder.read("r.html");
    assert!(
        page.contains("Load against response time") && page.contains("class=\"line p95 dots\""),
        "{page}"
    );

    let again = folder.plimsoll(&["capacity", "--judge", "out.capacity", "--json", "again.json"]);
    again.exits_with(0);
    assert_eq!(folder.json("again.json")["judgement"], report["judgement"]);
    let [below, above] = [holds * 0.9, breaks * 1.1].map(|level| format!("{level}"));
    folder
        .plimsoll(&["capacity", "--judge", "out.capacity", "--at-least", &below])
        .exits_with(0)
        .stdout_contains(&["PASS"]);
    folder
        .plimsoll(&["capacity", "--judge", "out.capacity", "--at-least", &above])
        .exits_with(3)
        .stdout_contains(&["FAIL"]);
}

#[test]
fn a_target_that_never_breaks_is_inconclusive_and_passes_what_was_asked() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment(target.addr(), "to = \"60/s\"\n");
    let ran = folder.plimsoll(&["capacity", "ex.toml", "-o", "out.capacity", "--quiet"]);
    ran.exits_with(4).stdout_contains(&["holds 60, breaks not shown", "not allowed to try a higher one"]);
    let again = folder.plimsoll(&["capacity", "--judge", "out.capacity", "--at-least", "55/s"]);
    again.exits_with(0).stdout_contains(&["PASS"]);
}

#[test]
fn a_target_beyond_its_objective_at_the_lowest_load_fails() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(400))).unwrap();
    let folder = experiment(target.addr(), "from = \"40/s\"\nto = \"60/s\"\n");
    let ran = folder.plimsoll(&["capacity", "ex.toml", "--quiet"]);
    ran.exits_with(3).stdout_contains(&["FAIL", "violated at 40 arrivals/s, the easiest level"]);
}

#[test]
fn a_url_needs_no_plan_and_no_experiment() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/list?page=2", target.addr());
    let search =
        ["--objective", "p95 < 200ms", "--step", "1s", "--to", "260/s", "--levels", "5", "-o", "out"];
    let ran = folder.plimsoll(&[&["capacity", &url], &search[..]].concat());
    // How far it gets depends on what the generator can sustain beside other tests.
    ran.exits_with(4).stdout_contains(&["Objectives are met up to", "breaks not shown"]);
    ran.stderr_contains(&["what must hold: p95 < 200ms", "probes of 1 s, no hold (--hold 10m)"]);
    assert!(target.requests() > 200, "{}", target.requests());
    let without = folder.plimsoll(&["capacity", &url]);
    without.exits_with(2).stderr_contains(&["name what must hold: --objective 'p95 < 50ms'"]);
}

#[test]
fn a_budget_that_is_too_short_is_refused_before_anything_is_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment(target.addr(), "to = \"60/s\"\nbudget = \"20s\"\n");
    let ran = folder.plimsoll(&["capacity", "ex.toml"]);
    ran.exits_with(2).stderr_contains(&["a budget of 20s is too short: 28 probes of 1 s"]);
    assert_eq!(target.requests(), 0);
    assert!(folder.files(".capacity").is_empty());
}

#[test]
fn an_arm_that_does_not_start_ends_the_search() {
    let refused = refusal();
    let folder = TestFolder::new(&open(refused.addr(), 1));
    let start = "start = \"echo no such database at ${level} >&2; exit 7\"";
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.service]\n{start}\n[search]\n{SEARCH}from = 4\nto = 16\n\
             better = \"higher\"\n{SLO}"
        ),
    );
    let ran = folder.plimsoll(&["capacity", "ex.toml", "--quiet"]);
    // The number in the middle is tried first.
    ran.exits_with(2).stderr_contains(&[
        "the arm of probe 1 could not be made ready, 3 times",
        "exit status: 7",
        "no such database at 8",
    ]);
}

#[test]
fn an_unusable_search_is_refused_with_line_and_key() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment(target.addr(), "to = \"60/s\"\n");
    let text = folder.read("ex.toml");
    for (from, to, message) in [
        ("[search]", "[arms.other]\nstart = \"x\"\n[search]", "a capacity is that of one arm"),
        ("repeats", "repeat", "has no key `repeat`; did you mean `repeats`?"),
        ("to = \"60/s\"", "from = \"70/s\"\nto = \"60/s\"", "`to` is above `from`"),
        ("to = \"60/s\"", "better = \"higher\"", "more load is never better"),
        ("to = \"60/s\"", "what = \"number\"", "`number` belongs to `${level}`"),
        ("to = \"60/s\"", "what = \"speed\"", "`what` takes `\"rate\"`, `\"users\"` or `\"number\"`"),
        ("p95(get) < 200ms", "p95(got) < 200ms", "there is no endpoint `got`; did you mean `get`?"),
        ("p95(get) < 200ms", "error_rate(get) <= 0%", "no number of requests shows 0 %"),
        ("[slo]\nfast = \"p95(get) < 200ms\"", "", "name what must hold"),
    ] {
        folder.write("ex.toml", text.replacen(from, to, 1));
        folder.plimsoll(&["capacity", "ex.toml"]).exits_with(2).stderr_contains(&[message]);
    }
    folder
        .plimsoll(&["capacity", "plan.toml", "--running"])
        .exits_with(2)
        .stderr_contains(&["name what must hold"]);
    folder
        .plimsoll(&["capacity", "plan.toml", "--start", "x ${level}", "--slo", "p95(get) < 1s"])
        .exits_with(2)
        .stderr_contains(&["name the highest"]);
    assert_eq!(target.requests(), 0);
}

#[test]
fn a_list_of_probes_from_others_names_no_file_elsewhere() {
    let folder = TestFolder::new("");
    fs::create_dir(folder.path("out.capacity")).unwrap();
    let search = r#"{"searched": "rate", "from": null, "to": null, "is_more_better": false, "step": null, "warm_up": null,
        "spacing": 0.04, "levels": 9, "repeats": 3, "hold": {"secs": 0, "nanos": 0}, "overload": {"secs": 0, "nanos": 0},
        "rest": {"secs": 0, "nanos": 0}, "budget": null, "seed": 1, "at_least": null}"#;
    let resolved = r#"{"easiest": 1, "hardest": 9, "start": 3, "ceiling": "asked", "plan_level": 3, "proven_per_s": 9,
        "per_s": [], "step_s": 1, "warm_up_s": 0}"#;
    let list = |kind: &str, file: &str, level: &str| {
        format!(
            r#"{{"version": 1, "kind": "{kind}", "name": "x", "arm": "a", "started_at": "", "definition": "",
            "search": {search}, "slos": [], "resolved": {resolved}, "end": null, "judgement": null, "runs": [{{"number": 1,
            "stage": "grid", "level": {level}, "file": "{file}", "digest": "", "started_at": ""}}]}}"#
        )
    };
    for (list, message) in [
        ("{".to_owned(), "is not a list of the runs of a capacity search"),
        (list("ab", "a.plimsoll", "1"), "a list of kind `ab`"),
        (list("capacity", "../plan.toml", "1"), "cannot be one of its runs"),
        (list("capacity", "a.plimsoll", "-1"), "a level is above 0"),
    ] {
        folder.write("out.capacity/experiment.json", list);
        folder.plimsoll(&["capacity", "--judge", "out.capacity"]).exits_with(2).stderr_contains(&[message]);
    }
}
