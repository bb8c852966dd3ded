//! Throughput and goodput: what ended in the window, per second of it.

use evidence::{Outcome, Verdict};

use crate::testing::{Load, TestRun};

const PASS: Verdict = Verdict::Pass;
const FAIL: Verdict = Verdict::Fail;
const OPEN: Verdict = Verdict::Inconclusive;

fn verdict_on(test_run: TestRun, objective: &str) -> Verdict {
    test_run.with_objective("rate", objective).judge().claims.remove(0).verdict
}

fn observed(test_run: TestRun, objective: &str) -> f64 {
    let claim = test_run.with_objective("rate", objective).judge().claims.remove(0);
    (claim.observed.value.unwrap_or_default() * 100.0).round() / 100.0
}

/// All that was offered ended, most of it after the load: a target that answers 195 a second answers no more for that.
#[test]
fn an_overloaded_target_has_the_rate_at_which_it_answers() {
    for offered in [260, 500, 2_000] {
        let of = |objective: &str| verdict_on(TestRun::overloaded(offered, 195), objective);
        assert_eq!(of("throughput(list, phase = steady) >= 230/s"), FAIL, "{offered}");
        assert_eq!(of("goodput(list, phase = steady) >= 230/s"), FAIL, "{offered}");
        assert_eq!(of("throughput(list, phase = steady) >= 190/s"), PASS, "{offered}");
        assert_eq!(of("throughput(list, phase = steady) < 230/s"), PASS, "{offered}");
        let rate = observed(TestRun::overloaded(offered, 195), "throughput(list, phase = steady) > 1/s");
        assert!((rate - 195.0).abs() < 1.0, "{offered}: {rate}");
    }
}

#[test]
fn what_ended_in_a_window_counts_there_whenever_it_was_due() {
    let of = |objective: &str| {
        let mut test_run =
            TestRun::new().offer("warm-up", "list", Load::ok(100)).offer("steady", "list", Load::ok(100));
        test_run.end_from_warm_up(12, 600);
        observed(test_run, objective)
    };
    assert_eq!(of("throughput(list, phase = warm-up) > 1/s"), 100.0);
    assert_eq!(of("throughput(list, phase = steady) > 1/s"), 110.0);
    // They took 3 s.
    assert_eq!(of("goodput(list, phase = steady, within = 1s) > 1/s"), 100.0);
    assert_eq!(of("goodput(list, phase = steady, within = 4s) > 1/s"), 110.0);
    assert_eq!(of("throughput(list) > 1/s"), 108.57);
}

#[test]
fn a_rate_near_its_bound_is_not_shown() {
    let varied = || {
        let mut test_run = TestRun::new();
        (10..70).for_each(|second| {
            test_run.offer_once(second, "list", Load::ok(90 + u64::from(second * 7 % 20)));
        });
        test_run
    };
    let rate = observed(varied(), "throughput(list) > 1/s");
    assert_eq!(rate, 99.5);
    assert_eq!(verdict_on(varied(), "throughput(list) >= 99.4/s"), OPEN);
    assert_eq!(verdict_on(varied(), "throughput(list) >= 97/s"), PASS);
    assert_eq!(verdict_on(varied(), "throughput(list) >= 102/s"), FAIL);
    let claim = varied().with_objective("rate", "throughput(list) >= 99.4/s").judge().claims.remove(0);
    insta::assert_snapshot!(claim.reasons[0].to_string(), @"99.5/s over 5,970 observations: at least 97.7/s and at most 101.3/s, each at 95 % confidence; at least 99.4/s is asked for.");
}

#[test]
fn failures_are_throughput_and_no_goodput() {
    let of = |objective: &str| {
        let load = Load { failed: 10, ..Load::ok(90) };
        observed(TestRun::new().offer("steady", "list", load), objective)
    };
    assert_eq!(of("throughput(list) > 1/s"), 100.0);
    assert_eq!(of("goodput(list) > 1/s"), 90.0);
    // Successes of 10 ms and, one in ten, 10.5 ms: those within the limit are 81 in 100.
    assert_eq!(of("goodput(list, within = 10.2ms) > 1/s"), 81.0);
}

#[test]
fn a_target_that_answers_nothing_has_a_rate_of_zero() {
    let dead = Load { failed: 100, outcome: Outcome::Cancelled, ..Load::ok(0) };
    let of = |objective: &str| verdict_on(TestRun::new().offer("steady", "list", dead), objective);
    assert_eq!(of("throughput(list) >= 10/s"), FAIL);
}

/// What was due in a second is not evidence of when it ended in it: a file of version 5 has the second alone.
#[test]
fn an_older_file_counts_the_second_of_a_boundary_in_proportion_and_says_so() {
    let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
    test_run.workload.phases[0].end = std::time::Duration::from_millis(10_250);
    test_run.workload.phases[1].start = std::time::Duration::from_millis(10_250);
    test_run.edit(|manifest| manifest.schema_version = 5);
    let claim =
        test_run.with_objective("rate", "throughput(list, phase = steady) > 1/s").judge().claims.remove(0);
    assert_eq!(claim.observed.value.map(f64::round), Some(100.0));
    let reason = claim.reasons[0].to_string();
    assert!(reason.contains("a second in which a phase begins or ends counts in proportion"), "{reason}");
}

/// Where the limit on virtual users was reached for long, a stall was not the reason.
#[test]
fn drops_at_the_limit_on_virtual_users_do_not_excuse_a_target_that_does_not_keep_up() {
    let of = |every: usize| {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(70));
        (20..70).step_by(every).for_each(|second| {
            test_run.offer_once(second, "list", Load { dropped_vu_limit: 200, ..Load::ok(0) });
        });
        test_run.stall(10..70, 90_000);
        verdict_on(test_run, "goodput(list) >= 75/s")
    };
    assert_eq!(of(1), FAIL);
    assert_eq!(of(2), Verdict::Invalid, "each after a second without any");
}

/// An arrival that the generator dropped may have been answered, unless the target did not keep up with the others.
#[test]
fn late_drops_leave_a_rate_open_where_the_target_kept_up() {
    let late = Load { dropped_generator_late: 30, ..Load::ok(70) };
    let of = |objective: &str| verdict_on(TestRun::new().offer("steady", "list", late), objective);
    assert_eq!(of("throughput(list) >= 90/s"), Verdict::Invalid);
    assert_eq!(of("throughput(list) >= 110/s"), FAIL);
    let mut busy = TestRun::overloaded(260, 195);
    let dropped = Load { dropped_generator_late: 100, ..Load::ok(0) };
    (10..70).for_each(|second| busy.offer_once(second, "list", dropped));
    assert_eq!(verdict_on(busy, "throughput(list, phase = steady) >= 230/s"), FAIL);
}
