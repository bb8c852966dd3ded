use std::collections::BTreeSet;

use evidence::{
    Metric, Missing, Outcome, Source, SourceFigure, UnknownBasis, UnknownRecords, UnknownSubject, Verdict,
    Widening, WideningCause,
};

use crate::testing::TestRun;

fn source() -> Source {
    let missing = BTreeSet::from([
        Missing::Arrivals,
        Missing::DueTimes,
        Missing::GeneratorLoad,
        Missing::Model,
        Missing::TimeLimits,
    ]);
    Source { tool: "k6".to_owned(), format: "k6 CSV".to_owned(), missing, ..Source::default() }
}

/// Requests and iterations, and nothing that their source did not record.
fn imported() -> TestRun {
    let mut test_run = TestRun::unobserved();
    test_run.import(source());
    for _ in 0..100 {
        test_run.respond("steady", "list", Outcome::Ok, 10);
    }
    test_run.count(Metric::Requests, "steady", "list", 1_000);
    test_run.count(Metric::IterationsDone, "steady", "", 1_000);
    test_run
}

#[test]
fn what_a_source_did_not_record_is_unknown_and_invalidates_nothing() {
    insta::assert_snapshot!(imported().verdict(), @"MEASURED: No objective was set: numbers and cautions, no verdict.");
    let with_objectives = imported()
        .with_objective("fast", "p90(list) < 50ms")
        .with_objective("few", "error_rate(list) < 1%")
        .with_objective("rate", "throughput(list) > 1/s");
    insta::assert_snapshot!(with_objectives.verdict(), @r"
    INCONCLUSIVE: 2 of 3 objectives are not decided: few, rate. 1 is met. The run is too short to rule out outages longer than 1.03 s that occur less than once in 10.3 s. Next: Run for 3 min or longer at this rate, or offer a higher rate. Use an arrival-rate executor, raise `max_vus` (`-c` of a command), or state the objective for a number of virtual users.
    PASS fast
      10 ms over 1,000 observations: 0 of 1,000 failed or took 50 ms or longer; the true share is at most 0.962 %, and 10 % is allowed (95 % confidence, effective sample size 310).
      L1 offered-load-not-reached (caution): k6 did not record how many arrivals were due: whether the planned load was offered is unknown.
      L2 dropped-or-late (caution): k6 did not record when requests were due: start lag is unknown, and waits before requests were sent are in none of these times.
      L3 generator-saturated (caution): k6 did not record its own load: whether the generator was at its limit is unknown.
      Q2 censored-quantile (caution): k6 did not record the time limits of requests: whether this quantile is one of them is unknown.
    INCONCLUSIVE few
      1,000 observations: 0 of 1,000 failed; the true share is 0 % to 2.95 %, and 1 % is allowed (95 % confidence, effective sample size 100).
      L3 generator-saturated (caution): k6 did not record its own load: whether the generator was at its limit is unknown.
      S4 too-few-tail-samples (inconclusive): 0 of 1,000 arrivals missed the bound; the true share may still be up to 2.95 % (95 % confidence), and 1 % is allowed. The 1,000 count as 100 independent ones: 10 arrivals count as one until a run shows how much those that miss the bound cluster. If again none misses it, 3 min at this rate instead of 1 min (2,990 arrivals) would decide it.
    INCONCLUSIVE rate
      16.67/s over 1,000 observations: at least 0/s and at most 83.83/s, each at 95 % confidence; more than 1/s is asked for.
      L3 generator-saturated (caution): k6 did not record its own load: whether the generator was at its limit is unknown.
      L4 closed-loop-or-capped (inconclusive): k6 did not record whether arrivals waited for completions: whether this rate was offered, or set by the target's own speed, is unknown.
    ");
}

#[test]
fn drops_without_a_reason_may_have_been_of_any_endpoint_and_on_either_side() {
    let mut test_run = imported().with_objective("fast", "p90(list) < 50ms");
    test_run.count(Metric::Dropped, "steady", "", 8);
    let share = test_run.judge().claims.remove(0).share.unwrap();
    assert_eq!((share.arrivals, share.least, share.most), (1_008, 0, 8));
    assert_eq!(share.widened_by, [Widening { cause: WideningCause::Dropped, arrivals: 8 }]);
}

#[test]
fn drops_without_a_reason_are_judged_by_their_share() {
    let with = |dropped| {
        let mut test_run = imported();
        test_run.count(Metric::Dropped, "steady", "", dropped);
        test_run.findings_of("L2")
    };
    insta::assert_snapshot!(with(0), @"caution [] k6 did not record when requests were due: start lag is unknown, and waits before requests were sent are in none of these times.");
    insta::assert_snapshot!(with(5), @r"
    caution [] k6 did not record when requests were due: start lag is unknown, and waits before requests were sent are in none of these times.
      
    caution [steady/play] 5 of 1,005 iterations of `play` in `steady` (0.498 %) were dropped; whether the target or the generator was too slow is unknown.
      dropped Some(5.0) 1, dropped share Some(0.4975124378109453) %, threshold Some(0.1) %
    ");
    insta::assert_snapshot!(with(50), @r"
    invalid [steady/play] 50 of 1,050 iterations of `play` in `steady` (4.76 %) were dropped; whether the target or the generator was too slow is unknown.
      dropped Some(50.0) 1, dropped share Some(4.761904761904762) %, threshold Some(1.0) %
    caution [] k6 did not record when requests were due: start lag is unknown, and waits before requests were sent are in none of these times.
    ");
}

#[test]
fn recorded_counts_must_add_up() {
    let with = |requests| {
        let mut test_run = imported();
        test_run.count(Metric::Requests, "steady", "list", requests);
        test_run.findings_of("L6")
    };
    insta::assert_snapshot!(with(0), @"nothing");
    insta::assert_snapshot!(with(1), @r"
    caution [steady/play/list] `list` in `steady` has 1,001 requests and 1,000 times of requests.
      requests Some(1001.0) 1, times Some(1000.0) 1, gap Some(0.0999000999000999) %, threshold Some(0.0) %
    ");
    assert!(with(20).starts_with("caution"), "the requests without a time are in the ranges: {}", with(20));
}

fn unknown(basis: UnknownBasis, more: Option<u64>, doubtful: u64) -> UnknownRecords {
    UnknownRecords {
        of: UnknownSubject::Requests,
        basis,
        scenario: String::new(),
        endpoint: String::new(),
        more,
        doubtful,
        why: "Seen in a test.".to_owned(),
    }
}

/// A thousand requests in 10 ms, a thousand iterations, and what is unknown of them.
fn asked(unknown: Vec<UnknownRecords>, objective: &str) -> (Verdict, Option<(u64, u64, u64)>) {
    let mut test_run = imported().with_objective("asked", objective);
    test_run.import(Source { unknown, ..source() });
    let judgement = test_run.judge();
    let share = judgement.claims[0].share.as_ref();
    (judgement.claims[0].verdict, share.map(|share| (share.arrivals, share.least, share.most)))
}

#[test]
fn requests_without_a_time_may_be_on_either_side() {
    let mut test_run = imported().with_objective("few", "error_rate(list) < 10%");
    test_run.count(Metric::Requests, "steady", "list", 200);
    let claim = test_run.judge().claims.remove(0);
    let share = claim.share.unwrap();
    assert_eq!(
        (claim.verdict, share.arrivals, share.least, share.most),
        (Verdict::Inconclusive, 1_200, 0, 200)
    );
    assert_eq!(share.widened_by, [Widening { cause: WideningCause::Unread, arrivals: 200 }]);
    assert!(share.sentence.contains("200 missing in the import"), "{}", share.sentence);
}

#[test]
fn unknown_records_may_be_on_either_side_of_every_bound() {
    use UnknownBasis::{Records, Totals};
    use Verdict::{Fail, Inconclusive, Pass};
    for (more, doubtful, objective, verdict, counts) in [
        (0, 0, "error_rate(list) < 10%", Pass, Some((1_000, 0, 0))),
        (200, 0, "error_rate(list) < 10%", Inconclusive, Some((1_200, 0, 200))),
        (0, 200, "error_rate(list) < 10%", Inconclusive, Some((1_000, 0, 200))),
        (200, 0, "error_rate(list) < 40%", Pass, Some((1_200, 0, 200))),
        (200, 0, "p90(list) < 50ms", Inconclusive, Some((1_200, 0, 200))),
        (200, 0, "p90(list) < 5ms", Fail, Some((1_200, 1_000, 1_200))),
        (0, 950, "p90(list) < 5ms", Inconclusive, Some((1_000, 50, 1_000))),
        (1, 0, "max(list) < 50ms", Inconclusive, None),
        (1, 0, "max(list) < 5ms", Fail, None),
        (0, 1, "max(list) < 5ms", Inconclusive, None),
        (1, 0, "avg(list) < 50ms", Inconclusive, None),
    ] {
        for basis in [Records, Totals] {
            let unknown = vec![unknown(basis, Some(more), doubtful)];
            assert_eq!(asked(unknown, objective), (verdict, counts), "{more} {doubtful} {objective}");
        }
    }
}

#[test]
fn nothing_is_decided_by_a_part_that_nothing_limits_except_what_more_cannot_change() {
    let open = || vec![unknown(UnknownBasis::Records, None, 0)];
    for (objective, verdict) in [
        ("p90(list) < 5ms", Verdict::Inconclusive),
        ("max(list) < 5ms", Verdict::Fail),
        ("error_rate(list) <= 0%", Verdict::Inconclusive),
    ] {
        assert_eq!(asked(open(), objective).0, verdict, "{objective}");
    }
    // A total limits it.
    let limited = vec![unknown(UnknownBasis::Records, None, 0), unknown(UnknownBasis::Totals, Some(3), 0)];
    assert_eq!(asked(limited, "p90(list) < 5ms").0, Verdict::Fail);
}

#[test]
fn that_nothing_succeeded_is_not_known_where_records_are_missing() {
    let verdict = |unknown| {
        let mut test_run = TestRun::unobserved();
        test_run.import(Source { unknown, ..source() });
        test_run.respond("steady", "list", Outcome::Http5xx, 10);
        test_run.count(Metric::Requests, "steady", "list", 10);
        test_run.judge().verdict
    };
    assert_eq!(verdict(Vec::new()), Verdict::Fail);
    assert_eq!(verdict(vec![unknown(UnknownBasis::Totals, Some(20), 0)]), Verdict::Measured);
}

#[test]
fn what_is_unknown_is_a_caution_with_its_numbers() {
    let mut test_run = imported();
    test_run.import(Source { unknown: vec![unknown(UnknownBasis::Totals, Some(7), 2)], ..source() });
    insta::assert_snapshot!(test_run.findings_of("L6"), @r"
    caution [] Seen in a test.
      missing or unreadable Some(7.0) 1, contradicted Some(2.0) 1, threshold Some(0.0) 1
    ");
}

#[test]
fn figures_of_the_source_are_compared_with_each_other() {
    let with = |figures: &[(&str, f64)]| {
        let figure = |(name, value): &(&str, f64)| SourceFigure {
            of: "http_req_duration".to_owned(),
            name: (*name).to_owned(),
            value: *value,
            unit: "ms".to_owned(),
        };
        let mut test_run = TestRun::unobserved();
        test_run.import(Source { figures: figures.iter().map(figure).collect(), ..source() });
        test_run.findings_of("Q4")
    };
    insta::assert_snapshot!(with(&[("avg", 2.0), ("p50", 1.8), ("p95", 4.0), ("max", 9.0)]), @"nothing");
    insta::assert_snapshot!(with(&[("avg", 48.4), ("p95", 34.9)]), @"caution [] `http_req_duration`: mean 48.4 ms above p95 34.9 ms: the slowest 5 % average at least 305 ms.");
    insta::assert_snapshot!(with(&[("p95", 4.0), ("p99", 3.0)]), @"invalid [] `http_req_duration`: p95 4 ms above p99 3 ms is impossible.");
}

#[test]
fn a_source_without_outcomes_and_distributions_decides_no_objective() {
    let mut test_run =
        imported().with_objective("few", "error_rate(list) < 1%").with_objective("fast", "p90(claim) < 50ms");
    test_run.import(Source {
        missing: BTreeSet::from([Missing::Outcomes, Missing::Distributions]),
        malformed: 3,
        first_malformed: Some("line 7 of k6.csv: 3 columns, the header has 19".to_owned()),
        ..source()
    });
    let judgement = test_run.judge();
    assert!(judgement.claims.iter().all(|claim| claim.verdict == Verdict::Inconclusive));
    let few = &judgement.claims[0];
    assert_eq!(
        (few.observed.value, few.samples),
        (None, 0),
        "an outcome that is not known is not an observation"
    );
    insta::assert_snapshot!(test_run.findings_of("L6"), @r"
    caution [] 3 records of the k6 CSV could not be read; the first is line 7 of k6.csv: 3 columns, the header has 19.
      records not read Some(3.0) 1, threshold Some(0.0) 1
    ");
}
