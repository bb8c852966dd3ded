//! Arms with a state outside of them, which is as it was left by the run before: what runs leave is said, and is not taken
//! for a difference of the arms. And a target that says what its requests cost.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use testbed::{Behaviour, CannedResponse, Site};

use super::{GATE, experiment, metric};
use crate::command::{CommandOutput, TestFolder};

/// Which arms ran so far, by their letters: the reset of each appends its own.
struct Ran {
    folder: TempDir,
}

impl Ran {
    fn new() -> Ran {
        Ran { folder: TempDir::new().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ran")
    }

    /// What is in the file, for a target that depends on it.
    fn reader(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let file = self.file();
        move || fs::read_to_string(&file).unwrap_or_default()
    }

    /// The same experiment, whose arms write down that they run.
    fn kept_by(&self, folder: &TestFolder) {
        let mut text = folder.read("ex.toml");
        for arm in ["a", "b"] {
            let reset = format!("[arms.{arm}]\nreset = \"printf {arm} >> {}\"\n", self.file().display());
            text = text.replace(&format!("[arms.{arm}]\n"), &reset);
        }
        folder.write("ex.toml", text);
    }
}

/// Eight pairs of two equal arms, whose time to answer, in milliseconds, depends on which arms ran so far. In the order of this seed
/// three pairs begin with another arm than the pair before ended with, and four with the same.
fn eight_pairs(millis: fn(&str) -> f64) -> (CommandOutput, Value) {
    let ran = Ran::new();
    let reader = ran.reader();
    let answer = move || CannedResponse::new(200).after(Duration::from_secs_f64(millis(&reader()) / 1e3));
    let target = testbed::http(Behaviour::computed(answer)).unwrap();
    let folder = experiment([target.addr(); 2], GATE);
    ran.kept_by(&folder);
    let made = folder.plimsoll(&[
        "ab", "ex.toml", "--looks", "8", "--seed", "9", "--json", "r.json", "--quiet", "-o", "out.ab",
    ]);
    assert_eq!(ran.reader()(), "abbabaababbabaab", "the arms in the order in which they ran");
    (made, folder.json("r.json"))
}

/// What the report says under this name of the times.
fn finding(report: &Value, name: &str) -> Option<String> {
    let findings = report["judgement"]["findings"].as_array().unwrap();
    let is_it =
        |finding: &&Value| finding["name"] == name && finding["what"].as_str().unwrap().starts_with("p50: ");
    findings.iter().find(is_it).map(|finding| finding["what"].as_str().unwrap().to_owned())
}

#[test]
fn a_state_that_grows_with_every_run_is_reported_and_favours_no_arm() {
    let (made, report) = eight_pairs(|ran| 30.0 * 1.1_f64.powi(ran.len() as i32));
    made.exits_with(4).stdout_contains(&[
        "session-drift",
        "order-effect",
        "Reset the state before every slot",
    ]);
    let drift = finding(&report, "session-drift").unwrap();
    assert!(drift.contains("both arms differ by +"), "{drift}");
    let order = finding(&report, "order-effect").unwrap();
    assert!(order.contains("the run that comes second in a pair differs from the first by +"), "{order}");
    assert_eq!(finding(&report, "carry-over"), None, "it does not matter which arm ran before");
    assert_eq!(metric(&report, "p50")["verdict"], "INCONCLUSIVE");
    let effect = metric(&report, "p50")["effect"].as_f64().unwrap();
    assert!(effect.abs() < 0.05, "each order is as frequent as the other: {effect}");
}

#[test]
fn an_arm_that_leaves_something_to_the_next_run_is_named() {
    let (made, report) = eight_pairs(|ran| if ran.chars().rev().nth(1) == Some('b') { 120.0 } else { 30.0 });
    made.exits_with(4).stdout_contains(&["inconclusive  carry-over", "What ran before matters"]);
    let what = finding(&report, "carry-over").unwrap();
    assert!(what.contains("p50: a run differs by +") && what.contains("where B ran before it"), "{what}");
    assert!(what.ends_with("One arm leaves something to the next run."), "{what}");
    assert_eq!(finding(&report, "session-drift"), None);
    assert_eq!(metric(&report, "p50")["verdict"], "INCONCLUSIVE");
}

#[test]
fn a_target_that_says_what_it_allocates_is_compared_by_that() {
    let (ran, allocated) = (Ran::new(), Arc::new(AtomicU64::new(0)));
    let (reader, sum) = (ran.reader(), Arc::clone(&allocated));
    let allocate = move || {
        // A tenth more in B.
        sum.fetch_add(if reader().ends_with('b') { 11_000 } else { 10_000 }, Ordering::Relaxed);
        CannedResponse::new(200)
    };
    let page = move || {
        let (name, sum) = ("go_memstats_alloc_bytes_total", allocated.load(Ordering::Relaxed));
        CannedResponse::new(200).body(format!("# TYPE {name} counter\n{name} {sum}\n"))
    };
    let site = Site::new().at("/metrics", Behaviour::computed(page)).otherwise(Behaviour::computed(allocate));
    let target = testbed::http(site).unwrap();
    let address = target.addr();
    let folder = experiment(
        [address; 2],
        "slot = \"3s\"\n[gate]\nallocated = \"allocated_per_request(target = api)\"\n",
    );
    ran.kept_by(&folder);
    let observed = format!(
        "[targets.api.observe]\nprometheus = \"http://{address}/metrics\"\n\
         [[scenarios]]"
    );
    folder.write("plan.toml", folder.read("plan.toml").replacen("[[scenarios]]", &observed, 1));
    let made = folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--json", "r.json", "--quiet"]);
    made.exits_with(3).stdout_contains(&["1 of 2 metrics regressed: allocated"]);
    let report = folder.json("r.json");
    let found = metric(&report, "allocated");
    let [effect, margin] = ["effect", "margin"].map(|name| found[name].as_f64().unwrap());
    assert_eq!((&found["verdict"], &found["unit"], margin), (&"REGRESSED".into(), &"bytes".into(), 0.02));
    assert!((0.05..0.15).contains(&effect), "{effect}");
    let of_a = found["medians"][0].as_f64().unwrap();
    assert!((8_500.0..11_500.0).contains(&of_a), "of each request: {of_a}");

    // Bytes alone do not count allocations.
    let of = "allocated = \"allocations_per_request(target = api)\"";
    let text = folder.read("ex.toml").replacen("allocated = \"allocated_per_request(target = api)\"", of, 1);
    folder.write("ex.toml", text);
    let made = folder.plimsoll(&["ab", "ex.toml", "-o", "none.ab", "--quiet"]);
    made.exits_with(5)
        .stdout_contains(&["could not go on", "`go_memstats_mallocs_total` of api was not observed"])
        .stderr_contains(&["the runs are in none.ab; the first pair would end it again"]);
}
