use std::collections::BTreeSet;

use evidence::manifest::{RequestSummary, StatedQuantile, TimesSummary};
use evidence::{
    Claim, Missing, Source, UnknownBasis, UnknownRecords, UnknownSubject, Verdict, Widening, WideningCause,
};

use crate::testing::TestRun;

/// Quantiles of this many times, of which so many are of failures, as (quantile, milliseconds).
fn times(count: u64, failed: u64, quantiles: &[(f64, f64)]) -> TimesSummary {
    let stated = |pair: &(f64, f64)| StatedQuantile { q: pair.0, ms: pair.1 };
    TimesSummary {
        count,
        failed: Some(failed),
        rounding: 0.0,
        quantiles: quantiles.iter().map(stated).collect(),
    }
}

fn summary(requests: u64, failed: u64, times: TimesSummary) -> RequestSummary {
    RequestSummary {
        requests: Some(requests),
        failed: Some(failed),
        per_s: Some(10.0),
        times: vec![times],
        ..RequestSummary::default()
    }
}

/// The claim on `objective` by these figures.
fn claim(summary: &RequestSummary, objective: &str) -> Claim {
    claim_with(summary, Vec::new(), objective)
}

/// The same where figures contradict each other.
fn claim_with(summary: &RequestSummary, unknown: Vec<UnknownRecords>, objective: &str) -> Claim {
    let mut test_run = TestRun::unobserved().with_objective("asked", objective);
    test_run.import(Source {
        tool: "k6".to_owned(),
        missing: BTreeSet::from([Missing::Outcomes, Missing::Distributions]),
        summaries: vec![summary.clone()],
        unknown,
        ..Source::default()
    });
    test_run.judge().claims.remove(0)
}

#[test]
fn requests_that_figures_contradict_may_be_on_either_side() {
    let unknown = |more, doubtful| {
        vec![UnknownRecords {
            of: UnknownSubject::Requests,
            basis: UnknownBasis::Totals,
            scenario: String::new(),
            endpoint: String::new(),
            more: Some(more),
            doubtful,
            why: "Seen in a test.".to_owned(),
        }]
    };
    let fine = summary(10_000, 0, times(10_000, 0, &[(0.99, 40.0), (1.0, 60.0)]));
    for (more, doubtful, objective, verdict) in [
        (0, 0, "error_rate(all) < 1%", Verdict::Pass),
        (500, 0, "error_rate(all) < 1%", Verdict::Inconclusive),
        (0, 500, "error_rate(all) < 1%", Verdict::Inconclusive),
        (0, 500, "error_rate(all) < 10%", Verdict::Pass),
        (0, 0, "p90(all) < 50ms", Verdict::Pass),
        (2_000, 0, "p90(all) < 50ms", Verdict::Inconclusive),
        (0, 0, "max(all) < 100ms", Verdict::Pass),
        (1, 0, "max(all) < 100ms", Verdict::Inconclusive),
        (1, 0, "max(all) < 50ms", Verdict::Fail),
        (0, 1, "max(all) < 50ms", Verdict::Inconclusive),
    ] {
        let claim = claim_with(&fine, unknown(more, doubtful), objective);
        assert_eq!(claim.verdict, verdict, "{more} {doubtful} {objective}: {:?}", claim.reasons);
    }
    let failed = claim_with(&failing(), unknown(100, 50), "error_rate(all) < 1%");
    let share = failed.share.unwrap();
    assert_eq!((failed.verdict, share.arrivals, share.least, share.most), (Verdict::Fail, 2_254, 744, 944));
    assert_eq!(share.widened_by, [Widening { cause: WideningCause::Unread, arrivals: 150 }]);
}

fn verdict(summary: &RequestSummary, objective: &str) -> Verdict {
    claim(summary, objective).verdict
}

/// 794 of 2,154 requests failed, and p95 of all times is 10 s.
fn failing() -> RequestSummary {
    summary(2_154, 794, times(2_154, 794, &[(0.5, 40.0), (0.9, 9_000.0), (0.95, 10_000.0), (1.0, 12_000.0)]))
}

#[test]
fn a_count_of_failures_fails_an_error_rate_and_a_quantile() {
    let rate = claim(&failing(), "error_rate(all) < 1%");
    assert_eq!((rate.verdict, rate.samples), (Verdict::Fail, 2_154));
    insta::assert_snapshot!(rate.reasons[0], @"By the figures of k6, 794 of 2,154 requests failed (36.9 %). How they cluster is unknown. With 10 counted as one, as many as there were in a second and ten at least, that is 31.4 % to 42.6 % at 95 %; the objective is less than 1 %. The answer is the same with up to 979 counted as one.");
    let share = rate.share.unwrap();
    assert_eq!((share.arrivals, share.least, share.most, share.allowed), (2_154, 794, 794, 0.01));
    assert_eq!((share.observed, share.design_effect), (794.0 / 2_154.0, 10.0));
    assert!((0.31..0.32).contains(&share.lower) && (0.42..0.43).contains(&share.upper), "{share:?}");
    assert_eq!(share.sentence, rate.reasons[0].to_string());
    let p95 = claim(&failing(), "p95(all) < 200ms");
    assert_eq!(p95.verdict, Verdict::Fail);
    let share = p95.share.as_ref().unwrap();
    assert_eq!((share.least, share.most, share.allowed), (794, 1_871, 1.0 - 0.95));
    assert!(
        p95.reasons[0]
            .to_string()
            .contains("between 794 and 1,871 of 2,154 requests failed or took 200 ms or longer"),
        "{}",
        p95.reasons[0]
    );
}

#[test]
fn a_quantile_decides_beyond_what_sampling_explains() {
    // p95 of 10 s alone: 5 % took as long, which 5 % may. With p90 of 9 s, 10 % took longer than 200 ms.
    let only_p95 = summary(20_000, 0, times(20_000, 0, &[(0.95, 10_000.0)]));
    assert_eq!(verdict(&only_p95, "p95(all) < 200ms"), Verdict::Inconclusive);
    let with_p90 = summary(20_000, 0, times(20_000, 0, &[(0.9, 9_000.0), (0.95, 10_000.0)]));
    assert_eq!(verdict(&with_p90, "p95(all) < 200ms"), Verdict::Fail);
    let of_few = summary(100, 0, times(100, 0, &[(0.9, 9_000.0), (0.95, 10_000.0)]));
    assert_eq!(verdict(&of_few, "p95(all) < 200ms"), Verdict::Inconclusive);
}

#[test]
fn a_pass_needs_a_quantile_above_the_asked_one_and_enough_requests() {
    let quantiles = [(0.5, 20.0), (0.95, 40.0), (0.99, 90.0), (1.0, 300.0)];
    let sound = |requests, failed| summary(requests, failed, times(requests - failed, 0, &quantiles));
    // At most 1 % took longer than 90 ms.
    assert_eq!(verdict(&sound(20_000, 0), "p95(all) < 200ms"), Verdict::Pass);
    insta::assert_snapshot!(claim(&sound(20_000, 0), "p95(all) < 200ms").reasons[0], @"By the figures of k6, between 1 and 200 of 20,000 requests failed or took 200 ms or longer (0.005 % to 1 %). How they cluster is unknown. With 10 counted as one, as many as there were in a second and ten at least, that is <0.0001 % to 1.45 % at 95 %; the objective is at most 5 %. The answer is the same with up to 223 counted as one.");
    assert_eq!(verdict(&sound(500, 0), "p95(all) < 200ms"), Verdict::Inconclusive);
    // p99 says only that 1 % may be beyond 200 ms, which is what p99 asks.
    assert_eq!(verdict(&sound(20_000, 0), "p99(all) < 200ms"), Verdict::Inconclusive);
    // 5 % failed: with the 1 % above p99 more than 5 % may be beyond.
    assert_eq!(verdict(&sound(20_000, 1_000), "p95(all) < 200ms"), Verdict::Inconclusive);
    assert_eq!(verdict(&sound(20_000, 2_000), "p95(all) < 200ms"), Verdict::Fail);
}

#[test]
fn what_is_not_known_of_failures_or_drops_prevents_a_pass() {
    let quantiles = [(0.95, 40.0), (0.99, 90.0)];
    let unknown = RequestSummary { failed: None, ..summary(20_000, 0, times(20_000, 0, &quantiles)) };
    assert_eq!(verdict(&unknown, "p95(all) < 200ms"), Verdict::Inconclusive);
    assert_eq!(verdict(&unknown, "error_rate(all) < 1%"), Verdict::Inconclusive);
    let dropped = RequestSummary { dropped: 2_000, ..summary(20_000, 0, times(20_000, 0, &quantiles)) };
    assert_eq!(verdict(&dropped, "p95(all) < 200ms"), Verdict::Inconclusive);
}

#[test]
fn failures_among_the_times_are_not_counted_twice() {
    // 6 % failed slowly: p95 of all times is theirs.
    let slow_failures = summary(20_000, 1_200, times(20_000, 1_200, &[(0.94, 50.0), (0.95, 5_000.0)]));
    assert_eq!(verdict(&slow_failures, "p90(all) < 200ms"), Verdict::Inconclusive);
    assert_eq!(verdict(&slow_failures, "p99(all) < 200ms"), Verdict::Fail);
}

#[test]
fn no_failure_of_few_requests_proves_no_error_rate() {
    let none_of = |requests| summary(requests, 0, times(requests, 0, &[(0.95, 40.0)]));
    assert_eq!(verdict(&none_of(50), "error_rate(all) < 0.1%"), Verdict::Inconclusive);
    assert_eq!(verdict(&none_of(50_000), "error_rate(all) < 0.1%"), Verdict::Pass);
}

#[test]
fn a_rounded_quantile_decides_nothing_near_the_bound() {
    let rounded = |ms| TimesSummary { rounding: 0.05, ..times(20_000, 0, &[(0.99, ms)]) };
    assert_eq!(verdict(&summary(20_000, 0, rounded(190.0)), "p95(all) < 200ms"), Verdict::Pass);
    assert_eq!(verdict(&summary(20_000, 0, rounded(195.0)), "p95(all) < 200ms"), Verdict::Inconclusive);
}

#[test]
fn a_maximum_is_compared_as_it_is() {
    let run = summary(20_000, 3, times(19_997, 0, &[(1.0, 300.0)]));
    assert_eq!(verdict(&run, "max(all) < 400ms"), Verdict::Pass);
    let slow = claim(&run, "max(all) < 200ms");
    assert_eq!(slow.verdict, Verdict::Fail);
    assert_eq!(
        slow.reasons[0].to_string(),
        "By the figures of k6, the slowest of 19,997 requests took 300 ms."
    );
    let with_failures = summary(20_000, 3, times(20_000, 3, &[(1.0, 300.0)]));
    assert_eq!(verdict(&with_failures, "max(all) < 200ms"), Verdict::Inconclusive);
}

#[test]
fn checks_are_a_share_and_other_endpoints_and_measures_are_not_decided() {
    let run = RequestSummary { checks_passed: Some(9_000), checks_failed: Some(1_000), ..failing() };
    assert_eq!(verdict(&run, "check_rate(all) > 99%"), Verdict::Fail);
    assert_eq!(verdict(&run, "check_rate(all) > 80%"), Verdict::Pass);
    assert_eq!(verdict(&run, "avg(all) < 1s"), Verdict::Inconclusive);
    let other = claim(&run, "p95(list) < 200ms");
    assert_eq!(other.verdict, Verdict::Inconclusive);
    assert_eq!(
        other.reasons[0].to_string(),
        "k6 states no figures of these requests alone; it states those of all requests."
    );
}

#[test]
fn an_objective_that_allows_no_failure_asks_whether_there_was_one() {
    let sound = |failed| summary(200, failed, times(200, failed, &[(1.0, 40.0)]));
    assert_eq!(verdict(&sound(0), "error_rate(all) <= 0%"), Verdict::Pass);
    assert_eq!(verdict(&sound(1), "error_rate(all) <= 0%"), Verdict::Fail);
}
