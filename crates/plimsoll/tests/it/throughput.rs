//! Throughput, goodput and backlog of a target of known capacity, against the target's own log.

use std::collections::BTreeMap;

use serde_json::Value;
use testbed::{Behaviour, Served, Target};

use crate::command::TestFolder;

/// One worker that takes so long serves 195 requests a second, however many are offered.
const SERVICE_US: u64 = 5_128;
const CAPACITY: f64 = 1e6 / SERVICE_US as f64;
const SECONDS: f64 = 16.0;
const FIRST_S: f64 = 6.5;
const RUN: [&str; 6] = ["run", "plan.toml", "-o", "run.plimsoll", "--json=run.json", "--no-precheck"];

fn target() -> Target {
    let service = std::time::Duration::from_micros(SERVICE_US);
    testbed::http(Behaviour::capacity(1, service)).unwrap()
}

/// Two phases of one scenario at a constant rate, the second from 6.5 s on. Few enough virtual users that every connection has a descriptor.
fn plan(target: &Target, rate: u64) -> String {
    format!(
        "version = 1\n[targets.api]\nurl = \"http://{}\"\n\
         [[phases]]\nname = \"first\"\nduration = \"6500ms\"\n\
         [[phases]]\nname = \"second\"\nduration = \"9500ms\"\n\
         [[scenarios]]\nname = \"flood\"\nexecutor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\n\
         phases = [\"first\", \"second\"]\nmax_vus = 1200\ngraceful_stop = \"2s\"\n\
         [[scenarios.steps]]\nname = \"get\"\nget = \"${{api.url}}/\"\ntimeout = \"60s\"\n\
         [objectives]\n\
         held = \"throughput(all) >= 230/s\"\n\
         good = \"goodput(all) >= 230/s\"\n\
         answered = \"throughput(all) >= 180/s\"\n\
         quick = \"p95(all) < 60s\"\n",
        target.addr()
    )
}

/// Requests that the target answered, per second, in the seconds of its own log in which it was busy and load was offered.
fn answered_per_s(log: &[Served], from_s: f64, to_s: f64) -> f64 {
    let first_ns = log.iter().map(|served| served.received_ns).min().unwrap();
    let at_s = |ns: u64| (ns - first_ns) as f64 / 1e9;
    let in_window =
        log.iter().filter_map(|served| served.answered_ns).filter(|ns| (from_s..to_s).contains(&at_s(*ns)));
    in_window.count() as f64 / (to_s - from_s)
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < 0.02, "{found}, the target's log says {expected}");
}

#[test]
fn an_overloaded_target_has_the_throughput_of_its_own_log_at_every_offered_rate() {
    for rate in [260, 500, 2_000] {
        let target = target();
        let folder = TestFolder::new(&plan(&target, rate));
        let ran = folder.plimsoll(&RUN);
        let report = folder.json("run.json");
        let log = target.log();
        let rows: BTreeMap<&str, &Value> = report["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (row["phase"].as_str().unwrap(), row))
            .collect();
        for (phase, from_s, to_s) in [("first", 0.0, FIRST_S), ("second", FIRST_S, SECONDS)] {
            let expected = answered_per_s(&log, from_s, to_s);
            close(&rows[phase]["throughput_per_s"], expected);
            close(&rows[phase]["goodput_per_s"], expected);
            assert!(expected < 1.02 * CAPACITY, "{expected}");
        }
        let verdicts: Vec<&str> = report["claims"]
            .as_array()
            .unwrap()
            .iter()
            .map(|claim| claim["verdict"].as_str().unwrap())
            .collect();
        assert_eq!(verdicts[0], "FAIL", "{rate}: {}", report["claims"]);
        // Where neighbours stalled the generator, it may have kept requests from success, and seconds differ.
        assert!(["FAIL", "INVALID"].contains(&verdicts[1]), "{rate}: {}", report["claims"]);
        assert_ne!(verdicts[2], "FAIL", "{rate}: {}", report["claims"]);
        assert_ne!(verdicts[3], "PASS", "{rate}: the times of a target that does not keep up");
        close(&report["claims"][0]["observed"]["value"], answered_per_s(&log, 0.0, SECONDS));
        live(&ran.stderr);
        ran.exits_with(3);
        if rate == 260 {
            backlog(&report);
        }
        identity(&report);
    }
}

/// The issue of a new user: the live line and the report of one command, which disagreed.
#[test]
fn an_ad_hoc_run_fails_to_show_a_rate_that_its_target_did_not_reach() {
    let target = target();
    let url = format!("http://{}/", target.addr());
    let folder = TestFolder::new("");
    let asked =
        ["-r", "260", "-z", "6s", "--ask", "throughput(all) >= 255/s", "--ask", "goodput(all) >= 255/s"];
    let ran = folder.plimsoll(&[&[url.as_str(), "--json=run.json", "--no-precheck"][..], &asked].concat());
    let report = folder.json("run.json");
    for claim in report["claims"].as_array().unwrap() {
        assert_eq!(claim["verdict"], "FAIL", "{claim}");
        close(&claim["observed"]["value"], answered_per_s(&target.log(), 0.0, 6.0));
    }
    close(&report["headline"]["throughput_per_s"], answered_per_s(&target.log(), 0.0, 6.0));
    live(&ran.stderr);
    ran.exits_with(3);
}

/// No live line shows more than the target can answer.
fn live(stderr: &str) {
    let rate = |piece: &str| {
        let of_both = || piece.split_once("throughput ")?.1.strip_suffix("/s");
        let text = piece.strip_suffix(" req/s").or_else(of_both)?;
        text.replace(',', "").parse::<f64>().ok()
    };
    let shown: Vec<f64> = stderr.lines().flat_map(|line| line.split(" · ")).filter_map(rate).collect();
    assert!(!shown.is_empty(), "{stderr}");
    assert!(shown.iter().all(|rate| *rate < 1.1 * CAPACITY), "{shown:?}");
}

/// What was offered and not answered is waiting, and the finding says so.
fn backlog(report: &Value) {
    let findings = report["findings"].as_array().unwrap();
    let its =
        findings.iter().find(|finding| finding["rule"] == "T7" && finding["scope"]["phase"] == "second");
    let what = its.unwrap_or_else(|| panic!("{findings:?}"))["what"].as_str().unwrap();
    assert!(what.contains("the target does not keep up"), "{what}");
}

/// What was in flight, and what began, ended or was in flight.
fn identity(report: &Value) {
    for phase in report["phases"].as_array().unwrap() {
        let count = |name: &str| phase["requests"][name].as_u64().unwrap();
        assert_eq!(
            count("in_flight_at_begin") + count("begun"),
            count("completed") + count("cancelled") + count("in_flight_at_end"),
            "{phase}"
        );
        assert!(count("in_flight_at_end") > 0, "{phase}");
    }
}
