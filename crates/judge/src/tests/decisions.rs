//! What a run decides although its generator was disturbed, and what too few or clustered arrivals leave open.

use evidence::{Key, Metric, Outcome, SeriesKey, Verdict};

use crate::testing::{Load, TestRun, five_minutes};

fn verdicts(test_run: &TestRun) -> Vec<Verdict> {
    test_run.judge().claims.iter().map(|claim| claim.verdict).collect()
}

/// A second in ten, in which each arrival is under way during a stall and takes this long.
fn perturbed(mut test_run: TestRun, load: Load) -> TestRun {
    for second in (10..70).step_by(10) {
        test_run.offer_once(second, "list", load);
        test_run.perturb(second, "list", load);
    }
    test_run
}

#[test]
fn a_run_far_below_its_bound_passes_beside_neighbours() {
    let late = Load { us: 3_000, lag_us: 3_000, ..Load::ok(1) };
    let mut test_run = TestRun::new()
        .offer("steady", "list", Load { us: 3_000, ..Load::ok(149) })
        .offer("steady", "list", late)
        .with_objective("fast", "p95(list) < 200ms");
    test_run.stall(10..70, 3_000);
    insta::assert_snapshot!(perturbed(test_run, late).verdict(), @r"
    PASS: The objective is met. The run is too short to rule out outages longer than 1.17 s that occur less than once in 23.3 s.
    PASS fast
      3.15 ms over 9,006 observations: 0 of 9,006 failed or took 200 ms or longer; the true share is at most 0.0333 %, and 5 % is allowed (95 % confidence, effective sample size 9,006).
      S9 noisy-host (caution): Other work took the processor: loop 0 was stalled for 30 % of `steady` (longest stall 3 ms).
    ");
}

/// One in ten takes from 21.8 to 24.2 ms.
#[test]
fn a_value_whose_interval_contains_the_bound_is_undecided() {
    let mut test_run = TestRun::new().with_objective("fast", "p95(list) < 23ms");
    for second in 10..70 {
        let slowest_us = 21_820 + u64::from(second * 7 % 25) * 100;
        test_run.offer_once(second, "list", Load { us: slowest_us * 20 / 21, ..Load::ok(100) });
    }
    let claim = test_run.judge().claims.remove(0);
    let p95 = claim.observed.value.unwrap();
    assert!((23.0..23.2).contains(&p95), "{p95}");
    assert_eq!(claim.verdict, Verdict::Inconclusive, "{}", test_run.verdict());
}

#[test]
fn fifty_requests_without_a_failure_do_not_show_a_rate_below_one_in_a_thousand() {
    let mut test_run = TestRun::new().with_objective("errors", "error_rate(list) < 0.1%");
    for second in 10..60 {
        test_run.offer_once(second, "list", Load::ok(1));
    }
    insta::assert_snapshot!(test_run.verdict(), @r"
    INCONCLUSIVE: The objective is not decided: errors. Next: Run for 9 h 59 min or longer at this rate, or offer a higher rate.
    INCONCLUSIVE errors
      50 observations: 0 of 50 failed; the true share is 0 % to 45.1 %, and 0.1 % is allowed (95 % confidence, effective sample size 5).
      S4 too-few-tail-samples (inconclusive): 0 of 50 arrivals missed the bound; the true share may still be up to 45.1 % (95 % confidence), and 0.1 % is allowed. The 50 count as 5 independent ones: 10 arrivals count as one until a run shows how much those that miss the bound cluster. If again none misses it, 9 h 59 min at this rate instead of 1 min (29,950 arrivals) would decide it.
    ");
}

#[test]
fn seven_arrivals_are_fewer_than_one_independent_arrival() {
    let mut test_run = TestRun::new().with_objective("errors", "error_rate(list) < 0.1%");
    for second in 10..17 {
        test_run.offer_once(second, "list", Load::ok(1));
    }
    let verdict = test_run.verdict();
    assert!(verdict.contains("confidence, effective sample size below 1)."), "{verdict}");
    assert!(verdict.contains("The 7 count as one: 10 arrivals count as one"), "{verdict}");
}

#[test]
fn an_outage_of_nine_seconds_does_not_pass() {
    let outage = |second: u32| match second {
        100..109 => Load { failed: 100, ..Load::ok(0) },
        _ => Load::ok(100),
    };
    let test_run = five_minutes(outage).with_objective("fast", "p96(list) < 50ms");
    assert_ne!(test_run.judge().verdict, Verdict::Pass, "{}", test_run.verdict());
}

#[test]
fn a_target_that_answers_only_500_fails_beside_stalls() {
    let failing = Load { failed: 100, outcome: Outcome::Http5xx, ..Load::ok(0) };
    let mut test_run = TestRun::new()
        .offer("steady", "list", failing)
        .with_objective("fast", "p95(list) < 50ms")
        .with_objective("errors", "error_rate(list) < 1%");
    test_run.stall(10..70, 9_000);
    let test_run = perturbed(test_run, failing);
    assert_eq!(test_run.judge().verdict, Verdict::Fail, "{}", test_run.verdict());
    assert_eq!(verdicts(&test_run), [Verdict::Fail; 2]);
}

#[test]
fn a_target_that_answers_only_503_fails_where_undisturbed_requests_show_it() {
    let busy = Load { failed: 100, outcome: Outcome::Http503, ..Load::ok(0) };
    let of = |undisturbed: Load| {
        let mut test_run = TestRun::new()
            .offer("steady", "list", undisturbed)
            .with_objective("errors", "error_rate(list) < 1%");
        test_run.stall(10..70, 9_000);
        perturbed(test_run, busy).judge().claims.remove(0).verdict
    };
    assert_eq!(of(busy), Verdict::Fail);
    // Every 503 follows a stall.
    assert_eq!(of(Load::ok(100)), Verdict::Invalid);
}

/// Five minutes of answers after 10 ms, but `wrong` from second 150 to 170; the generator stalls in each second, for so long.
fn disturbed_outage(wrong: Load, stall_us: u64) -> TestRun {
    let is_out = |second: u32| (150..170).contains(&second);
    let mut test_run = five_minutes(|second| if is_out(second) { wrong } else { Load::ok(100) })
        .with_objective("fast", "p99.5(list) < 500ms")
        .with_objective("errors", "error_rate(list) < 0.5%");
    for second in 0..300 {
        test_run.run.record(&Key::of(Metric::LoopStall), second, stall_us, 1);
    }
    for second in 150..170 {
        test_run.perturb(second, "list", wrong);
    }
    test_run
}

const TIMEOUTS: Load = Load {
    ok: 0,
    failed: 100,
    outcome: Outcome::Timeout,
    dropped_vu_limit: 0,
    dropped_generator_late: 0,
    us: 10_000,
    failed_us: 1_000_000,
    lag_us: 50,
};

#[test]
fn short_stalls_do_not_excuse_timeouts() {
    let outage = disturbed_outage(TIMEOUTS, 3_000);
    assert_eq!(verdicts(&outage), [Verdict::Fail; 2], "{}", outage.verdict());
    let sequence = disturbed_outage(TIMEOUTS, 3_000).sequence();
    assert_eq!(verdicts(&sequence)[1], Verdict::Fail, "nothing follows a request that failed");
    let slow = Load { us: 2_000_000, ..Load::ok(100) };
    assert_eq!(verdicts(&disturbed_outage(slow, 3_000))[0], Verdict::Fail);
}

/// Four seconds of stalls count, eleven times each.
#[test]
fn stalls_excuse_times_that_they_may_have_caused() {
    assert_eq!(verdicts(&disturbed_outage(TIMEOUTS, 5_500)), [Verdict::Fail; 2]);
    let longer = disturbed_outage(TIMEOUTS, 6_000);
    assert_eq!(verdicts(&longer), [Verdict::Fail, Verdict::Invalid], "more than a quarter of the limit");
    assert_eq!(verdicts(&disturbed_outage(TIMEOUTS, 12_000)), [Verdict::Invalid; 2]);
}

#[test]
fn requests_that_stalls_moved_excuse_as_many() {
    let late = Load { lag_us: 3_000, ..TIMEOUTS };
    assert_eq!(verdicts(&disturbed_outage(late, 3_000)), [Verdict::Invalid; 2]);
    assert_eq!(verdicts(&disturbed_outage(TIMEOUTS, 3_000).closed(100))[1], Verdict::Invalid);
    let slow = Load { us: 2_000_000, ..Load::ok(100) };
    assert_eq!(verdicts(&disturbed_outage(slow, 3_000).sequence())[0], Verdict::Invalid);
}

#[test]
fn answers_near_the_time_limit_excuse_timeouts() {
    // Four stalls of 3 ms: 132 ms, and twice as much before the limit.
    let with_answers = |us: u64| disturbed_outage(Load { ok: 100, us, ..TIMEOUTS }, 3_000);
    assert_eq!(verdicts(&with_answers(750_000)), [Verdict::Fail, Verdict::Invalid]);
    assert_eq!(verdicts(&with_answers(600_000)), [Verdict::Fail; 2]);
}

#[test]
fn refusals_may_follow_a_burst_whenever_it_was() {
    let refused = Load { outcome: Outcome::Refused, ..TIMEOUTS };
    assert_eq!(verdicts(&disturbed_outage(refused, 3_000)), [Verdict::Invalid; 2]);
}

#[test]
fn none_of_851_passes_a_p95() {
    let mut test_run = TestRun::new().with_objective("fast", "p95(list) < 50ms");
    for second in 10..33 {
        test_run.offer_once(second, "list", Load::ok(37));
    }
    insta::assert_snapshot!(test_run.verdict(), @r"
    PASS: The objective is met. The run is too short to rule out outages longer than 550 ms that occur less than once in 11 s.
    PASS fast
      10.5 ms over 851 observations: 0 of 851 failed or took 50 ms or longer; the true share is at most 1.05 %, and 5 % is allowed (95 % confidence, effective sample size 284).
    ");
}

#[test]
fn a_run_in_which_nothing_succeeded_fails_whatever_was_asked() {
    let dead = Load { failed: 100, outcome: Outcome::Refused, ..Load::ok(0) };
    let test_run = TestRun::new().offer("steady", "list", dead);
    insta::assert_snapshot!(test_run.verdict(), @"FAIL: Nothing succeeded: all of 6,000 requests failed or were dropped; 6,000 ended in `refused`.");
}

#[test]
fn a_violation_is_not_hidden_by_a_claim_that_the_generator_leaves_open() {
    let slow = Load { us: 80_000, ..Load::ok(100) };
    let test_run = TestRun::new()
        .offer("steady", "list", Load::ok(100))
        .offer("steady", "claim", Load { failed: 10, ..Load::ok(10) })
        .with_objective("fast", "p95(list) < 50ms")
        .with_objective("errors", "error_rate(claim) < 1%");
    let test_run = perturbed(test_run, slow);
    assert_eq!(verdicts(&test_run), [Verdict::Invalid, Verdict::Fail], "{}", test_run.verdict());
    assert_eq!(test_run.judge().verdict, Verdict::Fail);
}

#[test]
fn a_few_late_drops_need_a_target_with_headroom() {
    let of = |dropped: u64, targets: &[(&str, f64)]| {
        let load = Load { dropped_generator_late: dropped, ..Load::ok(400) };
        let mut test_run = TestRun::new()
            .offer("steady", "list", load)
            .with_objective("fast", "p95(list) < 50ms")
            .with_objective("slow", "p95(list) < 5ms");
        test_run.edit(|manifest| {
            manifest.environment.insert("cores".to_owned(), "4".to_owned());
        });
        for (name, value) in targets {
            test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, *value);
        }
        verdicts(&test_run)
    };
    let calm = [("cpu", 1.0), ("db_pool_in_use", 1.0), ("db_pool_max", 10.0)];
    assert_eq!(of(2, &calm), [Verdict::Pass, Verdict::Fail]);
    assert_eq!(of(2, &calm[..1]), [Verdict::Inconclusive, Verdict::Fail]);
    assert_eq!(of(8, &calm), [Verdict::Invalid, Verdict::Fail]);
}

#[test]
fn fewer_completions_because_fewer_requests_were_sent_are_no_violation() {
    let load = Load { dropped_generator_late: 30, ..Load::ok(70) };
    let test_run = TestRun::new()
        .offer("steady", "list", load)
        .with_objective("served", "throughput(list) >= 90/s")
        .with_objective("good", "goodput(list) >= 90/s");
    assert_eq!(verdicts(&test_run), [Verdict::Invalid; 2], "{}", test_run.verdict());
}

/// Arrivals dropped at the limit on virtual users are infinitely slow, unless the limit itself is too low.
#[test]
fn drops_at_an_ample_limit_violate_and_at_a_low_one_do_not() {
    let of = |max_vus: u32| {
        let mut test_run = TestRun::new()
            .offer("steady", "list", Load { dropped_vu_limit: 20, ..Load::ok(80) })
            .with_objective("fast", "p95(list) < 200ms")
            .with_objective("errors", "error_rate(list) < 1%");
        test_run.workload.scenarios[0].max_vus = max_vus;
        verdicts(&test_run)
    };
    assert_eq!(of(600), [Verdict::Fail; 2]);
    // 85.7/s of 0.2 s each are 17 virtual users in the mean.
    assert_eq!(of(18), [Verdict::Invalid, Verdict::Fail]);
}

#[test]
fn what_was_in_flight_at_the_end_took_at_least_its_age() {
    let of = |age_us: u64| {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", "p95(list) < 50ms");
        let key = Key::of(Metric::InFlightAge).scenario("play").phase("steady").endpoint("list");
        test_run.run.record(&key, 69, age_us, 600);
        test_run.count(Metric::Started, "steady", "list", 600);
        test_run.judge().claims.remove(0)
    };
    let (young, old) = (of(10_000), of(80_000));
    assert_eq!(young.share.as_ref().map(|share| (share.least, share.most)), Some((0, 600)));
    assert_eq!(old.share.as_ref().map(|share| (share.least, share.most)), Some((600, 600)));
}

#[test]
fn a_mean_is_decided_where_failures_could_not_change_it() {
    let with = |failed: u64| {
        let test_run = five_minutes(|_| Load { failed, us: 10_000, ..Load::ok(1_000) })
            .with_objective("mean", "avg(list) < 50ms")
            .with_objective("worst", "max(list) < 50ms")
            .with_objective("slow", "avg(list) < 5ms");
        verdicts(&test_run)
    };
    let (pass, fail, open) = (Verdict::Pass, Verdict::Fail, Verdict::Inconclusive);
    assert_eq!(with(0), [pass, pass, fail]);
    // Three of 1,003 failures of up to 10 s each add 30 ms at most.
    assert_eq!(with(3), [pass, open, fail]);
    assert_eq!(with(9), [open, open, fail]);
}

/// Which service times a stall disturbed is not known: of those beyond the bound it may have been any.
#[test]
fn service_times_beyond_the_bound_may_be_those_that_a_stall_disturbed() {
    let of = |disturbed: u64| {
        let mut test_run = TestRun::new()
            .offer("steady", "list", Load { us: 80_000, ..Load::ok(10) })
            .offer("steady", "list", Load::ok(90))
            .with_objective("fast", "service_p95(list) < 50ms");
        test_run.perturb(30, "list", Load::ok(disturbed));
        test_run.judge().claims.remove(0)
    };
    assert_eq!(of(0).verdict, Verdict::Fail);
    assert_eq!(of(100).share.map(|share| share.least), Some(500));
    assert_eq!(of(400).verdict, Verdict::Invalid);
}

#[test]
fn passes_with_many_perturbed_arrivals_say_once_what_they_assume() {
    let mut test_run = TestRun::new()
        .offer("steady", "list", Load::ok(100))
        .with_objective("fast", "p95(list) < 50ms")
        .with_objective("faster", "p95(list) < 40ms");
    let assumes = |test_run: &TestRun| test_run.judge().assumes.unwrap_or_default();
    test_run.perturb(30, "list", Load::ok(100));
    assert_eq!(assumes(&test_run), "");
    for second in 31..35 {
        test_run.perturb(second, "list", Load::ok(100));
    }
    assert!(assumes(&test_run).starts_with("This assumes that no request"), "{}", assumes(&test_run));
    assert!(!test_run.judge().because.contains("assumes"), "{}", test_run.judge().because);
    let violated = test_run.with_objective("fastest", "p95(list) < 1us");
    assert!(assumes(&violated).starts_with("Each pass of fast, faster assumes"), "{}", assumes(&violated));
    let more =
        ["a", "b"].into_iter().fold(violated, |run, name| run.with_objective(name, "p95(list) < 30ms"));
    assert!(assumes(&more).starts_with("Each of 4 passes assumes"), "{}", assumes(&more));
}

#[test]
fn a_maximum_that_a_stall_delayed_is_no_violation() {
    let delayed = Load { us: 80_000, ..Load::ok(1) };
    let test_run =
        TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("worst", "max(list) < 50ms");
    assert_eq!(verdicts(&perturbed(test_run.clone(), delayed)), [Verdict::Invalid]);
    let mut slow = test_run;
    slow.offer_once(35, "list", delayed);
    assert_eq!(verdicts(&slow), [Verdict::Fail]);
}

/// 60 of 6,000 are 1 %: at 95 % that is more than 0.75 %, and for twenty objectives it is not.
#[test]
fn violations_of_many_objectives_are_corrected_where_the_plan_asks_for_it() {
    let of = |objectives: usize, family: Option<f64>| {
        let mut test_run = TestRun::new().offer("steady", "list", Load { failed: 1, ..Load::ok(99) });
        test_run = test_run.with_objective("errors", "error_rate(list) < 0.75%");
        for index in 1..objectives {
            test_run = test_run.with_objective(&format!("fast-{index}"), "p95(list) < 50ms");
        }
        test_run.workload.family = family;
        verdicts(&test_run)[0]
    };
    assert_eq!(of(20, None), Verdict::Fail);
    assert_eq!(of(20, Some(0.95)), Verdict::Inconclusive);
    assert_eq!(of(1, Some(0.95)), Verdict::Fail);
}

/// Versions 1 and 2 of run files do not count which requests a stall disturbed: any of those seconds may have been.
#[test]
fn an_older_file_leaves_open_what_its_stalls_may_have_changed() {
    let of = |us: u64, stalled: bool| {
        let mut test_run = TestRun::new()
            .offer("steady", "list", Load { us, ..Load::ok(100) })
            .with_objective("fast", "p95(list) < 50ms");
        test_run.edit(|manifest| manifest.schema_version = 2);
        if stalled {
            test_run.stall(10..70, 9_000);
        }
        test_run.judge().claims.remove(0)
    };
    assert_eq!(of(80_000, false).verdict, Verdict::Fail);
    assert_eq!(of(10_000, true).verdict, Verdict::Pass);
    let open = of(80_000, true);
    assert_eq!(open.verdict, Verdict::Invalid);
    assert!(
        open.reasons[0].to_string().contains("of up to 6,000 requests that a stall"),
        "{}",
        open.reasons[0]
    );
    assert_eq!(open.share.map(|share| share.perturbed), Some(6_000));
}
