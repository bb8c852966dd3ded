//! The objectives of a plan that a search holds.

use super::*;

#[test]
fn a_search_holds_the_objectives_of_the_measured_phase_on_times_failures_and_checks() {
    let plan = good(&valid_with(
        r#"
[[phases]]
name = "warm-up"
duration = "2s"
[[phases]]
name = "steady"
duration = "8s"
[objectives]
fast = "p95(list) < 50ms"
steady = "p99(list, phase = steady) < 90ms"
warm = "p95(list, phase = warm-up) < 200ms"
sound = "error_rate(all) < 1%"
never = "error_rate(all) <= 0%"
rate = "throughput(all) > 5/s"
idle = "mean(cpu, target = shop) < 0.5"
"#,
    ));
    let held: Vec<_> = slos_of(&plan).into_iter().map(|of| (of.name, of.filter.phase.unwrap())).collect();
    let steady = |name: &str| (name.to_owned(), "steady".to_owned());
    assert_eq!(held, ["fast", "steady", "sound"].map(steady));
    assert_eq!(slos_of(&good(HEAD)), []);
}
