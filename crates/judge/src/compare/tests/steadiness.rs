//! T1, T2 and S9 of two runs.

use super::between;
use crate::testing::{Load, TestRun, five_minutes};

fn slow_until(end: u32, slow_us: u64, us: u64) -> TestRun {
    five_minutes(|second| Load { us: if second < end { slow_us } else { us }, ..Load::ok(50) })
}

#[test]
fn both_are_cut_where_the_later_reaches_steady_state() {
    let (quick, slow) = (slow_until(20, 30_000, 10_000), slow_until(45, 30_000, 12_000));
    insta::assert_snapshot!(between("T1", &quick, &slow), @r"
    invalid [0, 1] `list` in `steady`: both are cut at 45 s, the later of 20 s and 45 s. From there on p50 is 10 ms against 12 ms, p95 10.5 ms against 12.6 ms; the tables include the warm-up.
    caution [0] `list` in `steady` reaches steady state after 20 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
    caution [1] `list` in `steady` reaches steady state after 45 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 12.6 ms.
    refusals: 1
    ");
    let hardly = slow_until(10, 30_000, 10_000);
    insta::assert_snapshot!(between("T1", &hardly, &hardly), @r"
    caution [0, 1] `list` in `steady` reaches steady state after 10 s of 300 s (p50 last). With its warm-up p95 is 10.5 ms, without 10.5 ms.
    info [0, 1] `list` in `steady`: both are cut at 10 s, the later of 10 s and 10 s. From there on p50 is 10 ms against 10 ms, p95 10.5 ms against 10.5 ms.
    refusals: 0
    ");
    let flat = slow_until(0, 0, 10_000);
    assert_eq!(between("T1", &flat, &flat), "nothing");
}

#[test]
fn an_endpoint_without_steady_state_makes_differences_inconclusive() {
    let late = five_minutes(|second| Load { us: if second < 220 { 10_000 } else { 14_000 }, ..Load::ok(50) });
    let flat = slow_until(0, 0, 10_000);
    insta::assert_snapshot!(between("T2", &flat, &late), @r"
    inconclusive [1] `list` in `steady`: p50 rose by 40 % at 220 s of 300 s and stayed there, too late for a warm-up.
    refusals: 0
    ");
    assert_eq!(between("T1", &flat, &late), "nothing", "one side has no steady state");
    assert_eq!(between("T2", &flat, &flat), "nothing");
}

#[test]
fn a_phase_too_short_for_steady_state_is_info() {
    let short = TestRun::new().offer("warm-up", "list", Load::ok(50)).offer("steady", "list", Load::ok(50));
    insta::assert_snapshot!(between("T2", &short, &short), @r"
    info [0, 1] Whether endpoints were steady is unknown in phases shorter than 60 s: `warm-up`.
    refusals: 0
    ");
    let mut imported = short.clone();
    imported.import(evidence::Source { tool: "k6".to_owned(), ..Default::default() });
    insta::assert_snapshot!(between("T2", &slow_until(0, 0, 10_000), &imported), @r"
    info [0, 1] Whether endpoints were steady is unknown: the load planned for k6 is not in its files.
    refusals: 0
    ");
}

#[test]
fn steal_on_either_side_is_stated_and_refuses_nothing() {
    let stolen = |share: f64| {
        let mut test_run = slow_until(0, 0, 10_000);
        test_run.observe(&evidence::SeriesKey::new("host_steal", "host", "1"), 0..300, share);
        test_run
    };
    let (calm, noisy) = (stolen(0.001), stolen(0.03));
    insta::assert_snapshot!(between("S9", &calm, &noisy), @r"
    inconclusive [0, 1] Only the machine of `run` was noisy: other work may be the cause of a difference. Other work took the processor: other machines on the same hardware took 3 % of its processor time on average, and 3 % in the worst 10 s.
    caution [1] Other work took the processor: other machines on the same hardware took 3 % of its processor time on average, and 3 % in the worst 10 s.
    refusals: 0
    ");
    insta::assert_snapshot!(between("S9", &noisy, &noisy), @r"
    caution [0, 1] Other work took the processor: other machines on the same hardware took 3 % of its processor time on average, and 3 % in the worst 10 s.
    caution [0, 1] Both machines were noisy: other work may be the cause of a difference.
    refusals: 0
    ");
    insta::assert_snapshot!(between("S9", &calm, &slow_until(0, 0, 10_000)), @r"
    info [0, 1] Whether other processes slowed a machine down is unknown: it was not observed on both sides.
    refusals: 0
    ");
    assert_eq!(between("S9", &calm, &calm), "nothing");
}

#[test]
fn a_busy_loop_beside_neighbours_refuses_differences_of_its_phase() {
    let noisy = |cores: f64| {
        let mut test_run = TestRun::unobserved().offer("steady", "list", Load::ok(100));
        test_run.loop_cpu(0, [(0..10, 0.2), (10..70, cores)]);
        test_run.observe(&evidence::SeriesKey::new("host_steal", "host", "1"), 0..70, 0.06);
        test_run
    };
    insta::assert_snapshot!(between("S9", &noisy(0.2), &noisy(0.97)), @r"
    invalid [1] Other work took the processor: other machines on the same hardware took 6 % of its processor time on average, and 6 % in the worst 10 s; loop 0 used 97 % of a core over 10 s of `steady`.
    caution [0] Other work took the processor: other machines on the same hardware took 6 % of its processor time on average, and 6 % in the worst 10 s.
    caution [0, 1] Both machines were noisy: other work may be the cause of a difference.
    refusals: 1
    ");
}
