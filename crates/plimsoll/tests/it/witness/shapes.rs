//! Loads that change, and targets that do: a ramp through the knee, and a stall across the end of the load.

use std::time::Duration;

use testbed::{Behaviour, Site};

use super::load::{Arrivals, PaperLoad, PaperPhase, offer, plan};
use super::table::{assert_throughput_of_log, assert_witnessed};

/// From 50 to 350 arrivals a second within 4 s: number n is due when 50 t + 37.5 t² is n.
fn ramp() -> PaperLoad {
    let due_ns = |n: u32| ((-50.0 + (2_500.0 + 150.0 * f64::from(n)).sqrt()) / 75.0 * 1e9).round() as u64;
    let phases = vec![
        PaperPhase { name: "below", from_ms: 0, to_ms: 2_000 },
        PaperPhase { name: "beyond", from_ms: 2_000, to_ms: 4_000 },
    ];
    PaperLoad {
        arrivals: Arrivals::At((0..800).map(due_ns).collect()),
        phases,
        highest_rate: 350.0,
        ..PaperLoad::closed(1_000, Duration::from_secs(4))
    }
}

/// The target can do what the ramp offers half-way.
#[test]
fn a_ramp_through_the_knee_is_reported_as_the_target_saw_it() {
    let target = testbed::http(Behaviour::capacity(1, Duration::from_millis(5))).unwrap();
    let scenario = "[[phases]]\nname = \"below\"\nduration = \"2s\"\n[[phases]]\nname = \"beyond\"\nduration = \"2s\"\n\
                    [[scenarios]]\nname = \"load\"\nexecutor = \"ramping-arrival-rate\"\nphases = [\"below\", \"beyond\"]\n\
                    start_rate = \"50/s\"\nstages = [{ to = \"350/s\", over = \"4s\" }]\nmax_vus = 1000";
    let objectives = "[objectives]\nbelow = \"goodput(phase = below, within = 50ms) >= 50/s\"\n\
                      beyond = \"throughput(phase = beyond) >= 250/s\"\n";
    let run = offer(&target, &plan(&target, scenario, objectives), ramp());
    assert_witnessed("a ramp", &run);
    assert_throughput_of_log(&run);
}

/// The target stalls from 22.6 s to 24.2 s, and the load ends at 23.2 s.
#[test]
fn a_stall_across_the_end_of_the_load_is_reported_as_the_target_saw_it_and_its_run_is_sound() {
    let site = Site::from(Behaviour::after(Duration::from_millis(20)));
    let (period, length) = (Duration::from_millis(24_200), Duration::from_millis(1_600));
    let target = testbed::http(site.freeze(period, length)).unwrap();
    let scenario = "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"100/s\"\n\
                    duration = \"23200ms\"\nmax_vus = 500";
    let objectives = "[objectives]\nheld = \"throughput(all) >= 50/s\"\n";
    let paper = PaperLoad::constant(100, Duration::from_millis(23_200), 500);
    let run = offer(&target, &plan(&target, scenario, objectives), paper);
    assert_witnessed("a stall", &run);
    assert_throughput_of_log(&run);
    let findings = run.report["findings"].as_array().unwrap();
    let is_of_accounting = |finding: &&serde_json::Value| finding["rule"] == "L5" || finding["rule"] == "L6";
    assert_eq!(findings.iter().find(is_of_accounting), None);
    assert_eq!(run.report["verdict"], "PASS", "{}", run.report["because"]);
}
