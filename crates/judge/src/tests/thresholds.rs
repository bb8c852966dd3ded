//! Thresholds of scripts as claims.

use std::collections::BTreeMap;

use evidence::metric::{MetricKey, MetricKind};
use evidence::{Key, Metric, Verdict};
use workload::{Comparison, Filter, Measure, MetricMeasure, MetricStatistic, MetricUnit, Objective};

use crate::testing::{Load, SCENARIO, TestRun};

fn key(name: &str, kind: MetricKind) -> MetricKey {
    MetricKey { kind, name: name.into(), tags: BTreeMap::new(), phase: "steady".into() }
}

/// A run of a minute with 100 requests a second, and this metric's values in each of its seconds.
fn with_values(name: &str, kind: MetricKind, values: &[f64]) -> TestRun {
    let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
    for second in 10..70 {
        values.iter().for_each(|value| test_run.run.add_to_metric(&key(name, kind), second, *value));
    }
    test_run
}

/// How a value is compared, and with what.
struct Bound(Comparison, f64);

/// The run with a threshold such as `p(95)<500` of the metric, as k6 calls it.
fn asked(mut test_run: TestRun, name: &str, statistic: MetricStatistic, bound: Bound) -> TestRun {
    let is_time = name.starts_with("http_req_") && statistic != MetricStatistic::NonzeroShare;
    let unit = if is_time { MetricUnit::Milliseconds } else { MetricUnit::Number };
    let measure = MetricMeasure { name: name.to_owned(), tags: BTreeMap::new(), statistic, unit };
    test_run.workload.objectives.push(Objective {
        name: format!("{name} {}", test_run.workload.objectives.len() + 1),
        source: name.to_owned(),
        measure: Measure::Metric(measure),
        filter: Filter::default(),
        comparison: bound.0,
        bound: bound.1,
        abort_after: None,
    });
    test_run
}

fn claims(test_run: &TestRun) -> Vec<(Verdict, Option<bool>)> {
    test_run.judge().claims.iter().map(|claim| (claim.verdict, claim.holds_in_k6)).collect()
}

const P95: MetricStatistic = MetricStatistic::Quantile(0.95);

#[test]
fn percentiles_and_rates_are_decided_by_their_shares() {
    let times = [20.0; 100];
    let run = with_values("http_req_duration", MetricKind::Trend, &times);
    let run = asked(run, "http_req_duration", P95, Bound(Comparison::Below, 50.0));
    let run = asked(run, "http_req_duration", P95, Bound(Comparison::Below, 10.0));
    let mut run =
        asked(run, "http_req_failed", MetricStatistic::NonzeroShare, Bound(Comparison::Below, 0.01));
    for second in 10..70 {
        for _ in 0..100 {
            run.run.add_to_metric(&key("http_req_failed", MetricKind::Rate), second, 0.0);
        }
    }
    let run = asked(run, "http_req_failed", MetricStatistic::NonzeroShare, Bound(Comparison::Equal, 0.0));
    insta::assert_snapshot!(run.verdict(), @r"
    FAIL: 1 of 4 thresholds is violated: http_req_duration 2 (http_req_duration, measured 20 ms). 3 are met. The run is too short to rule out outages longer than 1.17 s that occur less than once in 23.3 s. Next: Look at the parts of a request and the slowest exchanges in the HTML report; if it is the load that makes it slow, `plimsoll diagnose` names what limits it.
    PASS http_req_duration 1
      20 ms over 6,000 observations: 0 of 6,000 took 50 ms or longer; the true share is at most 0.427 %, and 5 % is allowed (95 % confidence, effective sample size 700).
    FAIL http_req_duration 2
      20 ms over 6,000 observations: 6,000 of 6,000 took 10 ms or longer; the true share is at least 99.6 %, and 5 % is allowed (95 % confidence, effective sample size 700).
    PASS http_req_failed 3
      6,000 observations: 0 of 6,000 failed; the true share is at most 0.498 %, and 1 % is allowed (95 % confidence, effective sample size 600).
    PASS http_req_failed 4
      6,000 observations: 0 of 6,000 failed, and none is allowed; a true share of up to 0.498 % is not ruled out (95 % confidence, effective sample size 600).
    ");
}

#[test]
fn a_share_that_the_sample_cannot_decide_is_inconclusive_where_k6_says_yes_or_no() {
    let mut run = asked(
        TestRun::new().offer("steady", "list", Load::ok(100)),
        "errors",
        MetricStatistic::NonzeroShare,
        Bound(Comparison::Below, 0.05),
    );
    for at in 0..40 {
        let is_error = at % 20 == 0;
        run.run.add_to_metric(
            &key("errors", MetricKind::Rate),
            10 + at,
            f64::from(u8::from(is_error && at > 0)),
        );
    }
    assert_eq!(claims(&run), [(Verdict::Inconclusive, Some(true))], "1 of 40");
    let run = asked(run, "errors", MetricStatistic::NonzeroShare, Bound(Comparison::Below, 0.02));
    assert_eq!(claims(&run)[1], (Verdict::Inconclusive, Some(false)));
}

#[test]
fn what_has_no_interval_has_no_verdict_and_a_reason() {
    let run = with_values("took", MetricKind::Trend, &[1.0, 2.0, 3.0]);
    let run = asked(run, "took", MetricStatistic::Max, Bound(Comparison::Below, 10.0));
    let run = asked(run, "took", P95, Bound(Comparison::Equal, 3.0));
    let run = asked(run, "vus", MetricStatistic::Last, Bound(Comparison::Above, 0.0));
    insta::assert_snapshot!(run.verdict(), @r"
    MEASURED: No threshold can have a verdict: numbers and cautions, no verdict.
    MEASURED took 1
      No verdict: the lowest and the highest of one run's values have no interval; ask for a percentile.
    MEASURED took 2
      No verdict: no sample shows that a value is exactly a number, or that it is not.
    MEASURED vus 3
      No verdict: a gauge's last value is a single one, which has no interval.
    ");
}

#[test]
fn tags_that_no_value_has_ask_for_nothing_unless_they_are_of_responses() {
    let selected = |name: &str, tag: &str, value: &str| {
        let mut run = with_values("http_req_duration", MetricKind::Trend, &[20.0; 10]);
        run = asked(run, name, P95, Bound(Comparison::Below, 50.0));
        let Measure::Metric(measure) = &mut run.workload.objectives[0].measure else { unreachable!() };
        measure.tags.insert(tag.to_owned(), value.to_owned());
        run
    };
    let nothing = selected("http_req_duration", "name", "nothing");
    assert_eq!(claims(&nothing), [(Verdict::Invalid, Some(true))]);
    insta::assert_snapshot!(nothing.verdict(), @r"
    INVALID: The threshold has no valid result: http_req_duration 1.
    INVALID http_req_duration 1
      No value has the tags that it selects (name:nothing), and 600 values of http_req_duration have others, so it asks for nothing; k6 takes it as met. Correct the tags, or let the script set them.
    ");
    for (name, tag, value) in [
        // What fails in no run is as it should be.
        ("http_req_duration", "expected_response", "false"),
        ("http_req_duration", "status", "500"),
        // A script may add values of its own to a metric only where something is wrong.
        ("failures", "kind", "timeout"),
    ] {
        assert_eq!(claims(&selected(name, tag, value)), [(Verdict::Inconclusive, Some(true))], "{tag}");
    }
    assert_eq!(
        claims(&nothing.interrupted()),
        [(Verdict::Inconclusive, Some(true))],
        "the rest might have had it"
    );
}

#[test]
fn a_mean_is_decided_by_six_batches() {
    let run = with_values("took", MetricKind::Trend, &[1.0, 2.0, 3.0]);
    let mean = |run, bound| asked(run, "took", MetricStatistic::Mean, Bound(Comparison::Below, bound));
    let run = mean(mean(run, 2.5), 1.5);
    assert_eq!(claims(&run), [(Verdict::Pass, Some(true)), (Verdict::Fail, Some(false))]);
    let mut short = TestRun::new().offer("steady", "list", Load::ok(100));
    (10..40).for_each(|second| short.run.add_to_metric(&key("took", MetricKind::Trend), second, 2.0));
    assert_eq!(claims(&mean(short, 2.5)), [(Verdict::Measured, Some(true))]);
}

#[test]
fn a_counter_is_exact_and_one_to_which_nothing_was_added_is_zero() {
    let run = with_values("items", MetricKind::Counter, &[2.0, 0.5]);
    let run = asked(run, "items", MetricStatistic::Sum, Bound(Comparison::Equal, 150.0));
    let run = asked(run, "items", MetricStatistic::SumPerSecond, Bound(Comparison::Above, 3.0));
    let run = asked(run, "never", MetricStatistic::Sum, Bound(Comparison::Below, 1.0));
    let run = asked(run, "never_rated", MetricStatistic::NonzeroShare, Bound(Comparison::Below, 1.0));
    assert_eq!(
        claims(&run),
        [
            (Verdict::Pass, Some(true)),
            (Verdict::Fail, Some(false)),
            (Verdict::Pass, Some(true)),
            (Verdict::Inconclusive, Some(true)),
        ]
    );
}

#[test]
fn a_total_of_a_run_that_ended_early_is_too_high_and_never_too_low() {
    let bounds = [
        (Bound(Comparison::Above, 1_000.0), Verdict::Inconclusive),
        (Bound(Comparison::Equal, 1_000.0), Verdict::Inconclusive),
        (Bound(Comparison::NotEqual, 150.0), Verdict::Inconclusive),
        (Bound(Comparison::Equal, 100.0), Verdict::Fail),
        (Bound(Comparison::Below, 100.0), Verdict::Fail),
        (Bound(Comparison::Above, 100.0), Verdict::Inconclusive),
    ];
    for (bound, verdict) in bounds {
        let text = format!("{:?} {}", bound.0, bound.1);
        let run = with_values("items", MetricKind::Counter, &[2.0, 0.5]);
        let mut run = asked(run, "items", MetricStatistic::Sum, bound);
        run = run.interrupted();
        assert_eq!(claims(&run)[0].0, verdict, "{text}");
    }
}

#[test]
fn times_that_stalls_may_have_lengthened_leave_a_threshold_open() {
    let mut slow = vec![20.0; 90];
    slow.extend([60.0; 10]);
    let mut run = asked(
        with_values("http_req_duration", MetricKind::Trend, &slow),
        "http_req_duration",
        P95,
        Bound(Comparison::Below, 50.0),
    );
    assert_eq!(claims(&run), [(Verdict::Fail, Some(false))]);
    run.stall(10..70, 5_000);
    for second in 10..70 {
        run.perturb(second, "list", Load { us: 60_000, ..Load::ok(10) });
    }
    assert_eq!(
        claims(&run),
        [(Verdict::Invalid, Some(false))],
        "each of them may have been faster without stalls"
    );
}

#[test]
fn a_bound_that_no_share_can_meet_is_violated() {
    let run = with_values("errors", MetricKind::Rate, &[0.0; 100]);
    let run = asked(run, "errors", MetricStatistic::NonzeroShare, Bound(Comparison::Below, 0.0));
    assert_eq!(claims(&run), [(Verdict::Fail, Some(false))]);
}

#[test]
fn iterations_that_were_never_begun_leave_a_threshold_open_that_k6_takes_as_met() {
    let dropped = Load { dropped_vu_limit: 40, ..Load::ok(60) };
    let mut run = TestRun::new().offer("steady", "list", dropped);
    for second in 10..70 {
        (0..60)
            .for_each(|_| run.run.add_to_metric(&key("http_req_duration", MetricKind::Trend), second, 20.0));
    }
    let run = asked(run, "http_req_duration", P95, Bound(Comparison::Below, 50.0));
    let run = asked(run, "http_req_duration", P95, Bound(Comparison::Below, 10.0));
    insta::assert_snapshot!(run.verdict(), @r"
    FAIL: 1 of 2 thresholds is violated: http_req_duration 2 (http_req_duration, measured 20 ms). 1 has no valid result: http_req_duration 1. Next: Look at the parts of a request and the slowest exchanges in the HTML report; if it is the load that makes it slow, `plimsoll diagnose` names what limits it.
    INVALID http_req_duration 1
      20 ms over 3,600 observations: 0 of 3,600 took 50 ms or longer; the true share is 0 % to 42.4 %, and 5 % is allowed (95 % confidence, effective sample size 1,167; 2,400 dropped: VU limit count as unknown).
      No valid result: as observed it is met, but requests that the generator may have slowed down, made fail or never sent could reverse that (2,400 dropped: VU limit). Raise the VU limit (`maxVUs` of a script, `max_vus` of a plan, `-c` of a command), and run again.
    FAIL http_req_duration 2
      20 ms over 3,600 observations: 3,600 of 3,600 took 10 ms or longer; the true share is at least 57.6 %, and 5 % is allowed (95 % confidence, effective sample size 1,167; 2,400 dropped: VU limit count as met: even so it is violated).
    ");
}

/// A busy scenario without the metric would hide what a small one did not begin, if all iterations were averaged.
#[test]
fn a_dropped_iteration_counts_as_the_values_of_its_own_scenario() {
    let dropped = Load { dropped_vu_limit: 40, ..Load::ok(60) };
    let mut run = TestRun::new().offer("steady", "list", dropped);
    let busy = |metric| Key::of(metric).scenario("ping").phase("steady");
    let waits = key("waits", MetricKind::Trend);
    let tags = [(MetricKey::SCENARIO.into(), SCENARIO.into())].into();
    let waits = MetricKey { tags, ..waits };
    for second in 10..70 {
        for metric in [Metric::Scheduled, Metric::Started] {
            run.run.add(&busy(metric), second, 5_000);
        }
        (0..60).for_each(|_| run.run.add_to_metric(&waits, second, 20.0));
    }
    let run = asked(run, "waits", P95, Bound(Comparison::Below, 50.0));
    let judgement = run.judge();
    assert_eq!(judgement.claims[0].verdict, Verdict::Invalid);
    let sentence = &judgement.claims[0].share.as_ref().unwrap().sentence;
    assert!(sentence.contains("2,400 dropped: VU limit count as unknown"), "{sentence}");
}

#[test]
fn dropped_iterations_are_counted_though_no_metric_has_them() {
    let dropped = Load { dropped_vu_limit: 2, ..Load::ok(98) };
    let run = TestRun::new().offer("steady", "list", dropped);
    let run = asked(run, "dropped_iterations", MetricStatistic::Sum, Bound(Comparison::Below, 121.0));
    let run = asked(run, "dropped_iterations", MetricStatistic::Sum, Bound(Comparison::Below, 120.0));
    assert_eq!(claims(&run), [(Verdict::Pass, Some(true)), (Verdict::Fail, Some(false))]);
    assert_eq!(run.judge().claims[0].samples, 120);
}

/// Requests that failed are in k6's times as any other value, and those that were never sent as 0 ms.
#[test]
fn times_of_failed_requests_do_not_meet_a_threshold() {
    let run = |succeeded: usize, failed: usize| {
        let mut run = TestRun::new().offer("steady", "list", Load::ok(100));
        let key = |expected: &str| MetricKey {
            tags: BTreeMap::from([("expected_response".into(), expected.into())]),
            ..key("http_req_duration", MetricKind::Trend)
        };
        for second in 10..70 {
            (0..succeeded).for_each(|_| run.run.add_to_metric(&key("true"), second, 20.0));
            (0..failed).for_each(|_| run.run.add_to_metric(&key("false"), second, 0.0));
        }
        let run = asked(run, "http_req_duration", P95, Bound(Comparison::Below, 50.0));
        asked(run, "http_req_duration", MetricStatistic::Mean, Bound(Comparison::Below, 50.0))
    };
    assert_eq!(claims(&run(99, 0)), [(Verdict::Pass, Some(true)); 2]);
    assert_eq!(claims(&run(99, 1))[0], (Verdict::Pass, Some(true)), "as infinitely slow they are 1 % of 5 %");
    insta::assert_snapshot!(run(2, 98).verdict(), @r"
    INVALID: 1 of 2 thresholds has no valid result: http_req_duration 1. 1 is not decided: http_req_duration 2. Next: Find out why requests fail, bound them with a threshold on `http_req_failed` (`rate<0.01`), and select the times of the others: `http_req_duration{expected_response:true}`.
    INVALID http_req_duration 1
      0 µs over 6,000 observations: 0 of 6,000 took 50 ms or longer; the true share is 0 % to 98.8 %, and 5 % is allowed (95 % confidence, effective sample size 700; 5,880 values of failed requests count as unknown).
      No valid result: as observed it is met, but requests that the generator may have slowed down, made fail or never sent could reverse that (5,880 values of failed requests). Find out why requests fail, and run again.
      Q3 survivors-only (invalid): 5,880 of 6,000 values of `http_req_duration` are of requests that failed, which k6 counts with the time until they failed: 0 where nothing was sent.
    INCONCLUSIVE http_req_duration 2
      400 µs over 6,000 observations: between 400 µs and 58.8 s, against < 50 ms.
    ");
}

#[test]
fn a_script_of_which_no_request_was_sent_fails() {
    let mut run = TestRun::new();
    for second in 10..70 {
        run.run.add_to_metric(&key("http_req_failed", MetricKind::Rate), second, 1.0);
        run.run.add_to_metric(&key("http_req_duration", MetricKind::Trend), second, 0.0);
    }
    let said = "FAIL: Nothing succeeded: none of 60 requests of the script could be sent.";
    assert_eq!(run.verdict().lines().next(), Some(said));
    let run = asked(run, "http_req_duration", P95, Bound(Comparison::Below, 50.0));
    assert_eq!(run.verdict().lines().next(), Some(said));
    let sent = TestRun::new().offer("steady", "list", Load { failed: 1, ..Load::ok(0) });
    assert!(!sent.verdict().contains("could be sent"), "{}", sent.verdict());
}
