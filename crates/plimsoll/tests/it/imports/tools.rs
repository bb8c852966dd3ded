//! Runs of JMeter, Gatling, Locust and oha.

use std::fs;

use super::{fixture, says, with};

#[test]
fn single_requests_of_jmeter_and_gatling_are_judged() {
    for (file, from, endpoint, failed) in [
        ("jmeter.csv", "Imported from JMeter CSV", "buy", "18.4 %"),
        ("jmeter.xml", "Imported from JMeter XML", "buy", "18.4 %"),
        ("gatling.log", "Imported from Gatling log", "checkout / payment / buy", "32.3 %"),
    ] {
        let folder = with(file);
        let asked = ["import", file, "-o", "run.plimsoll", "--ask", "error_rate(all) <= 0%"];
        let ran = folder.plimsoll(&asked);
        ran.exits_with(3);
        says(&ran.stdout, &["FAIL", from, endpoint, failed]);
    }
}

#[test]
fn locusts_files_are_one_run() {
    let folder = with("locust_stats.csv");
    for file in ["locust_stats_history.csv", "locust_failures.csv"] {
        folder.write(file, fs::read(fixture(file)).unwrap());
    }
    let files = ["locust_stats.csv", "locust_stats_history.csv", "locust_failures.csv"];
    let ran =
        folder.plimsoll(&[&["import"][..], &files, &["-o", "run.plimsoll", "--json", "run.json"]].concat());
    ran.exits_with(0);
    says(&ran.stdout, &["MEASURED", "GET list", "error: HTTPError"]);
    assert_eq!(folder.json("run.json")["run"]["started_at"], "2026-11-22T22:00:23.000Z");
}
