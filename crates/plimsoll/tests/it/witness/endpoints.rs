//! A load of several endpoints: each has a row, and all of them together.

use std::time::Duration;

use testbed::{Behaviour, Site};

use super::load::{PaperLoad, PaperPhase, offer, plan_of};
use super::table::{assert_throughput_of_log, assert_witnessed};

const STEPS: [&str; 3] = ["list", "search", "order"];

/// One endpoint is fast, one slow, and of the third every fifth request fails: percentiles of all are those of none.
#[test]
fn all_requests_of_a_phase_are_reported_as_the_target_saw_them() {
    let failing = Box::new(Behaviour::status(503));
    let otherwise = Box::new(Behaviour::after(Duration::from_millis(4)));
    let site = Site::new()
        .at("/list", Behaviour::after(Duration::from_millis(1)))
        .at("/search", Behaviour::after(Duration::from_millis(30)))
        .at("/order", Behaviour::EveryNth { nth: 5, failing, otherwise });
    let target = testbed::http(site).unwrap();
    let phase = |name: &str| format!("[[phases]]\nname = \"{name}\"\nduration = \"1500ms\"\n");
    let scenario = format!(
        "{}{}[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nphases = [\"early\", \"late\"]\n\
         rate = \"200/s\"\nmax_vus = 200",
        phase("early"),
        phase("late")
    );
    let paper = PaperLoad {
        steps: &STEPS,
        phases: vec![
            PaperPhase { name: "early", from_ms: 0, to_ms: 1_500 },
            PaperPhase { name: "late", from_ms: 1_500, to_ms: 3_000 },
        ],
        ..PaperLoad::constant(200, Duration::from_secs(3), 200)
    };
    let run = offer(&target, &plan_of(&target, &scenario, &STEPS, ""), paper);
    assert_witnessed("several endpoints", &run);
    assert_throughput_of_log(&run);
    assert_eq!(run.report["totals"].as_array().unwrap().len(), 2, "one for each phase");
}
