//! `plimsoll diagnose`: from run files, from levels that it arranges, and what it refuses.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::{TestFolder, open};

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
