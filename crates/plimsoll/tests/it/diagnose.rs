//! `plimsoll diagnose`: from run files, from levels that it arranges, and what it refuses.

use std::net::SocketAddr;
use std::time::Duration;

use peers::go;
use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::{CommandOutput, TestFolder, open};

/// Answers at once, and beyond 150 requests a second ever later: three are in progress at a time, for 20 ms each.
fn three_at_a_time() -> Target {
    testbed::http(Behaviour::capacity(3, Duration::from_millis(20))).unwrap()
}

/// Levels of load, in a phase each.
fn stairs(address: SocketAddr) -> String {
    let stages: String = [40, 80, 120, 300]
        .map(|rate| {
            format!("  {{ to = \"{rate}/s\", over = \"0s\" }}, {{ to = \"{rate}/s\", over = \"6s\" }},\n")
        })
        .concat();
    format!(
        "version = 1\n[targets.api]\nurl = \"http://{address}\"\n[[scenarios]]\nname = \"s\"\nexecutor = \
         \"ramping-arrival-rate\"\nstart_rate = \"40/s\"\nmax_vus = 2000\nstages = [\n{stages}]\n[[scenarios.steps]]\nname = \"get\"\nget = \
         \"${{api.url}}/\"\n"
    )
}

fn levels(report: &Value) -> Vec<(u64, bool)> {
    let of =
        |level: &Value| (level["offered_per_s"].as_f64().unwrap().round() as u64, level["breaks"] == true);
    report["diagnosis"]["levels"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_run_with_levels_of_load_is_diagnosed_and_its_report_has_the_ledger() {
    let target = three_at_a_time();
    let folder = TestFolder::new(&stairs(target.addr()));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]);
    let ran = folder.plimsoll(&["diagnose", "run.plimsoll", "--json", "d.json", "--html", "d.html"]);
    ran.exits_with(4).stdout_contains(&["UNDETERMINED", "From outside: "]);
    let report = folder.json("d.json");
    assert_eq!(
        (&report["schema"], &report["verdict"]),
        (&"plimsoll.diagnosis/1".into(), &"INCONCLUSIVE".into())
    );
    let breaks: Vec<bool> = levels(&report).iter().map(|(_, breaks)| *breaks).collect();
    assert!(breaks.len() >= 4 && *breaks.last().unwrap() && !breaks[0], "{report:#}");
    assert!(folder.read("d.html").contains("Levels of load"));
}

#[test]
fn one_level_of_load_names_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 7));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
    let ran = folder.plimsoll(&["diagnose", "run.plimsoll"]);
    ran.exits_with(4).stdout_contains(&["one level of load", "`plimsoll diagnose PLAN`"]);
    folder.plimsoll(&["diagnose", "run.plimsoll", "--inconclusive=warn"]).exits_with(0);
    let refused = folder.plimsoll(&["diagnose", "run.plimsoll", "--step", "5s"]);
    refused.exits_with(2).stderr_contains(&["--step is for a load that is offered"]);
}

#[test]
fn levels_are_arranged_for_a_plan_and_their_folder_is_diagnosed_alike_again() {
    let target = three_at_a_time();
    let folder = TestFolder::new(&open(target.addr(), 1));
    let ran = folder.plimsoll(&[
        "diagnose",
        "plan.toml",
        "--step",
        "2s",
        "--quiet",
        "-o",
        "out.capacity",
        "--json",
        "d.json",
    ]);
    ran.exits_with(4).stderr_contains(&["what must hold: goodput(all) >= ", "level: "]);
    let report = folder.json("d.json");
    assert!(levels(&report).len() >= 3 && report["diagnosis"]["range_per_s"].is_array(), "{report:#}");
    folder.plimsoll(&["diagnose", "out.capacity", "--json", "again.json"]).exits_with(4);
    assert_eq!(folder.json("again.json")["diagnosis"], report["diagnosis"]);
}

/// A service with a pool of four that are held for 20 ms each, started by a command; `POOL` says how many there are.
struct Pooled {
    folder: TestFolder,
    start: String,
    /// Its program is in a folder of its own.
    _target: go::Target,
}

impl Pooled {
    fn new() -> Pooled {
        let mut target = go::Target::start(go::Settings::default()).unwrap();
        let (address, program) = (target.address(), target.binary());
        target.end();
        let plan = format!(
            "version = 1\n[targets.web]\nurl = \"http://{address}\"\nprocess = {{ port = {} }}\nobserve.prometheus = \
             \"http://{address}/metrics\"\n[[scenarios]]\nname = \"s\"\nexecutor = \"constant-arrival-rate\"\nrate = \"150/s\"\n\
             duration = \"10s\"\nmax_vus = 1000\n[[scenarios.steps]]\nname = \"get\"\nget = \"${{web.url}}/pool?ms=20\"\n[objectives]\n\
             slow = \"p95(get) < 80ms\"\n",
            address.port()
        );
        // The service ends when nothing holds its input open.
        let start = format!("sleep 600 | {} -listen {address}", program.display());
        Pooled { folder: TestFolder::new(&plan), start, _target: target }
    }

    fn diagnosed(&self, change: &str, name: &str) -> CommandOutput {
        let Pooled { folder, start, .. } = self;
        let (levels, confirmation) =
            (format!("{name}.capacity"), folder.path(&format!("{name}.confirmation")));
        let load =
            ["diagnose", "plan.toml", "--quiet", "--step", "3s", "--start", start, "--confirm", change];
        let files = ["-o", &levels, "--json", "d.json", "--html", "d.html"];
        let mut run = folder.start(&[&load[..], &files[..]].concat());
        run.until("a limit is named", || confirmation.exists());
        run.end()
    }
}

#[test]
fn a_pool_that_limits_is_confirmed_by_a_larger_one_and_not_by_what_changes_nothing() {
    let pooled = Pooled::new();
    let folder = &pooled.folder;
    let ran = pooled.diagnosed("POOL=8", "out");
    ran.exits_with(0).stdout_contains(&["CONFIRMED", "slots of web", "with POOL=8 it holds at"]);
    let confirmation = folder.json("d.json")["confirmation"].clone();
    assert_eq!(confirmation["answer"], "confirmed");
    assert_eq!(confirmation["sizes"], serde_json::json!([4.0, 8.0]));
    assert!(confirmation["moved"][0].as_f64().unwrap() >= 1.15, "{confirmation:#}");
    assert!(folder.read("d.html").contains("with POOL=8"));
    folder.plimsoll(&["diagnose", "out.confirmation", "--json", "again.json"]).exits_with(0);
    assert_eq!(folder.json("again.json")["confirmation"]["because"], confirmation["because"]);

    let nothing = pooled.diagnosed("PUDDLE=8", "nothing");
    nothing.exits_with(4).stdout_contains(&["INCONCLUSIVE", "its size is 4 with PUDDLE=8 too"]);
}

#[test]
fn a_change_without_a_command_that_starts_the_target_is_refused() {
    let folder = TestFolder::new(&open("127.0.0.1:9".parse().unwrap(), 1));
    let refused = folder.plimsoll(&["diagnose", "plan.toml", "--confirm", "POOL=8"]);
    refused.exits_with(2).stderr_contains(&["name the command that starts it, --start './service'"]);
}
