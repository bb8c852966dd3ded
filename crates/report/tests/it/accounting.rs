//! The counts of the summary are those of the run, and they add up.

use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::{
    Claim, ClaimShare, Figure, Histogram, Judgement, Key, Metric, Outcome, Quantile, SeriesKey, Verdict,
    Widening, WideningCause,
};
use report::summary::{Arrivals, Row, RunEndState, Times};
use report::{Detail, Style, Summary};
use workload::{Flow, Step};

use crate::{forms, sample_run};

fn key(metric: Metric) -> Key {
    Key::of(metric).scenario("play").phase("gameplay")
}

fn summary(run: &MemoryRun) -> Summary {
    Summary::of(run, &sample_run::workload(), &sample_run::judgement()).expect("memory can be read")
}

#[test]
fn the_counts_of_the_sample_run_add_up() {
    let summary = summary(&sample_run::run(105, None));
    let arrivals = summary.arrivals.expect("counted");
    assert_eq!(arrivals.scheduled, arrivals.started + arrivals.dropped());
    let outcomes = &summary.outcomes;
    assert_eq!(outcomes.requests, [outcomes.ok(), outcomes.failed(), outcomes.cancelled()].into_iter().sum());
    assert_eq!(summary.rows.iter().map(|r| r.outcomes.completed()).sum::<u64>(), outcomes.completed());
    assert_eq!(summary.scenarios.iter().map(|s| s.outcomes.failed()).sum::<Option<u64>>(), outcomes.failed());
    assert_eq!(summary.timeline.ok.iter().sum::<f64>(), outcomes.ok().expect("known") as f64);
    assert_eq!(
        summary.timeline.arrivals.expect("counted").offered.iter().sum::<f64>(),
        arrivals.scheduled as f64
    );
    assert_eq!(summary.header.end, RunEndState::Killed);
}

#[test]
fn a_sequence_counts_arrivals_for_whole_iterations_and_requests_by_step() {
    let mut run = MemoryRun::new(sample_run::manifest());
    run.add(&key(Metric::Scheduled), 40, 10);
    run.add(&key(Metric::Started), 40, 8);
    run.add(&key(Metric::DroppedLate), 40, 2);
    run.record(&key(Metric::IterationTime), 41, 30_000, 8);
    run.add(&key(Metric::Requests).endpoint("claim"), 40, 8);
    run.record(&key(Metric::ResponseTime).endpoint("claim").outcome(Outcome::Ok), 41, 20_000, 7);
    run.record(&key(Metric::ResponseTime).endpoint("claim").outcome(Outcome::Cancelled), 41, 20_000, 1);
    let summary = summary(&run);
    let claim = summary.rows.iter().find(|r| r.endpoint == "claim").expect("a row");
    let whole = summary.rows.iter().find(|r| r.endpoint.is_empty()).expect("a row");
    assert_eq!((claim.arrivals, claim.outcomes.completed(), claim.outcomes.cancelled()), (None, 7, Some(1)));
    assert_eq!(whole.arrivals, Some(Arrivals { scheduled: 10, started: 8, dropped_cap: 0, dropped_late: 2 }));
    assert_eq!((whole.outcomes.requests, whole.iteration_time.count), (None, 8));
    assert!(forms::terminal(&summary, Style::Plain, 100, Detail::Full).contains("(whole iteration)"));
}

/// Iterations that are one request and nothing else: a row of their own would repeat that of the request.
#[test]
fn a_single_step_has_one_row_which_has_the_arrivals() {
    let mut workload = sample_run::workload();
    let Flow::Mix(steps) = workload.scenarios[0].flow.clone() else { panic!("the sample is a mix") };
    let step = |name: &str| Step { name: name.to_owned(), ..steps[0].step.clone() };
    let mut run = MemoryRun::new(sample_run::manifest());
    run.add(&key(Metric::Scheduled), 40, 10);
    run.add(&key(Metric::Started), 40, 8);
    run.add(&key(Metric::DroppedCap), 40, 2);
    run.add(&key(Metric::IterationsDone), 41, 8);
    run.record(&key(Metric::IterationTime), 41, 20_000, 8);
    run.add(&key(Metric::Requests).endpoint("claim"), 40, 8);
    run.record(&key(Metric::ResponseTime).endpoint("claim").outcome(Outcome::Ok), 41, 20_000, 8);
    let judgement = sample_run::judgement();
    let mut rows = |steps: Vec<Step>| {
        workload.scenarios[0].flow = Flow::Sequence(steps);
        let summary = Summary::of(&run, &workload, &judgement).expect("memory can be read");
        assert_eq!(summary.scenarios[0].iterations_done, Some(8));
        let row = |row: &Row| (row.endpoint.clone(), row.arrivals.map(|a| (a.scheduled, a.dropped())));
        summary.rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows(vec![step("claim")]), [("claim".to_owned(), Some((10, 2)))]);
    let thinking = Step { think: Duration::from_secs(1).into(), ..step("claim") };
    for steps in [vec![thinking], vec![step("claim"), step("list")]] {
        let of_both = rows(steps);
        assert!(of_both.contains(&(String::new(), Some((10, 2)))), "{of_both:?}");
        assert!(of_both.contains(&("claim".to_owned(), None)), "{of_both:?}");
    }
}

#[test]
fn failures_are_listed_by_status_and_counted_by_reason() {
    let mut run = MemoryRun::new(sample_run::manifest());
    for (status, reason, n) in [("404", "not there", 5), ("410", "gone", 1), ("404", "never was", 2)] {
        let outcome = Outcome::Http4xx;
        let result = key(Metric::Results).endpoint("claim").outcome(outcome);
        run.add(&result.tag(Key::STATUS, status).tag(Key::REASON, reason), 40, n);
        run.record(&key(Metric::ResponseTime).endpoint("claim").outcome(outcome), 40, 20_000, n);
    }
    let summary = summary(&run);
    let kinds = summary.failures.iter().map(|kind| {
        let reasons = kind.reasons.iter().map(|of| (of.reason.as_deref().unwrap_or(""), of.count));
        (kind.ended.status.as_deref().unwrap_or(""), kind.ended.count, reasons.collect::<Vec<_>>())
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [("404", 7, vec![("not there", 5), ("never was", 2)]), ("410", 1, vec![("gone", 1)])]
    );
    let terminal = forms::terminal(&summary, Style::Plain, 100, Detail::Brief);
    for line in [
        "7  status 404  not there",
        "5 × not there",
        "2 × never was",
        "1  status 410  gone",
        "404 × 7 · 410 × 1",
    ] {
        assert!(terminal.contains(line), "{line} in {terminal}");
    }
    let html = forms::html(&summary);
    assert!(html.contains("Requests by the status") && html.contains("5 × not there"));
}

#[test]
fn plots_have_endpoints_in_the_order_of_the_plan_however_busy_they_are() {
    let labels = |list: u64, claim: u64| {
        let mut run = MemoryRun::new(sample_run::manifest());
        for (endpoint, count) in [("list challenges", list), ("claim", claim)] {
            run.record(&key(Metric::ResponseTime).endpoint(endpoint).outcome(Outcome::Ok), 1, 1_000, count);
        }
        let timeline = summary(&run).timeline;
        timeline.endpoints.into_iter().map(|endpoint| endpoint.label).collect::<Vec<_>>()
    };
    assert_eq!(labels(10, 20), ["list challenges", "claim"]);
    assert_eq!(labels(20, 10), ["list challenges", "claim"]);
}

#[test]
fn a_bin_of_two_seconds_has_the_percentiles_of_their_merged_histograms() {
    let mut run = MemoryRun::new(sample_run::manifest());
    let response = key(Metric::ResponseTime).endpoint("claim").outcome(Outcome::Ok);
    let mut both = Histogram::new();
    for (second, us) in [(0, 1_000), (1, 900_000)] {
        run.record(&response, second, us, 50);
        both.record_us(us, 50);
    }
    run.add(&key(Metric::Scheduled).endpoint("claim"), 599, 1);
    let summary = summary(&run);
    let Quantile::Finite(p95_us) = both.quantile(0.95) else { panic!("there are values") };
    assert_eq!(summary.timeline.bin_s, 2);
    assert_eq!(summary.timeline.endpoints[0].p95_ms[0], Some(p95_us / 1_000.0));
    assert_eq!(summary.timeline.ok[0], 50.0);
    assert_eq!(summary.timeline.endpoints[0].p95_ms[1], None);
}

#[test]
fn cpu_that_was_not_measured_is_not_zero() {
    let mut run = MemoryRun::new(sample_run::manifest());
    run.record(&key(Metric::ResponseTime).endpoint("claim").outcome(Outcome::Ok), 9, 1_000, 2_000);
    for second in 0..3 {
        run.observe(&SeriesKey::new("cpu", SeriesKey::GENERATOR, "cores"), second, 0.5);
    }
    let partly = summary(&run);
    assert!(partly.cpu[0].cpu_seconds.is_some_and(|s| (s - 1.5).abs() < 1e-6));
    assert_eq!(
        (partly.cpu[0].per_1000_requests_s, partly.cpu[0].note.as_str()),
        (None, "measured for 3 of 10 s only")
    );
    assert_eq!((partly.cpu[1].target.as_str(), partly.cpu[1].cpu_seconds), ("challenge", None));
    for second in 3..10 {
        run.observe(&SeriesKey::new("cpu", SeriesKey::GENERATOR, "cores"), second, 0.5);
    }
    let wholly = summary(&run);
    let per_1000 = wholly.cpu[0].per_1000_requests_s.expect("measured");
    assert!((per_1000 - 2.5).abs() < 1e-6, "{per_1000}");
}

#[test]
fn a_quantile_among_failures_is_infinite_and_one_without_samples_is_not_measured() {
    let claim = |samples| Claim {
        name: "list_fast".to_owned(),
        text: "p95(list challenges, phase = gameplay) < 50ms".to_owned(),
        verdict: Verdict::Fail,
        observed: Figure::new("observed", f64::INFINITY, "ms"),
        bound: Figure::new("bound", 50.0, "ms"),
        interval: Some((41.0, None)),
        samples,
        share: None,
        rate: None,
        holds_in_k6: None,
        reasons: Vec::new(),
    };
    let judgement = Judgement { claims: vec![claim(100), claim(0)], ..sample_run::judgement() };
    let run = sample_run::run(12, None);
    let summary = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read");
    let texts = summary.claims.iter().map(|c| (c.observed(), c.bound(), c.interval()));
    let interval = Some("≥ 41.0 ms".to_owned());
    let expected = ["∞", "–"].map(|observed| (observed.to_owned(), "< 50 ms".to_owned(), interval.clone()));
    assert_eq!(texts.collect::<Vec<_>>(), expected);
}

#[test]
fn a_quantile_with_nineteen_samples_above_it_is_rough() {
    let times = |count| Times { count, ..Times::default() };
    assert!(times(1_999).is_rough(0.99) && !times(2_000).is_rough(0.99) && !times(0).is_rough(0.99));
}

#[test]
fn every_report_has_the_requests_that_were_sent_again_and_json_the_waits_for_a_connection() {
    let mut run = MemoryRun::new(sample_run::manifest());
    let of = |metric| Key { metric, ..key(Metric::Requests).endpoint("watch") };
    run.add(&of(Metric::Requests), 40, 3_000);
    run.record(&of(Metric::ResponseTime).outcome(Outcome::Ok), 41, 90_000, 3_000);
    run.add(&of(Metric::Retried), 41, 1_234);
    run.record(&of(Metric::PlaceWait).tag("limit", "streams"), 41, 7_000, 5);
    run.record(&of(Metric::PlaceWait).tag("limit", "unread"), 41, 9_000, 1);
    let with = summary(&run);
    let json: serde_json::Value = serde_json::from_str(&forms::json(&with)).unwrap();
    assert_eq!(
        (&json["accounting"]["retried"], &json["endpoints"][0]["retried"]),
        (&1_234.into(), &1_234.into())
    );
    assert_eq!(json["endpoints"][0]["place_wait"]["count"], 6);
    for text in
        [forms::terminal(&with, Style::Plain, 100, Detail::Full), forms::markdown(&with), forms::html(&with)]
    {
        assert!(text.contains("1,234 sent again"), "{text}");
    }
    let without = summary(&sample_run::run(105, None));
    for name in ["retried", "place_wait", "sent again"] {
        assert!(!forms::json(&without).contains(name) && !forms::html(&without).contains(name), "{name}");
    }
}

#[test]
fn every_report_of_a_run_with_streams_has_their_messages() {
    let mut run = MemoryRun::new(sample_run::manifest());
    let call = key(Metric::Requests).endpoint("watch");
    let of = |metric| Key { metric, ..call.clone() };
    run.add(&of(Metric::Requests), 40, 3);
    run.record(&of(Metric::ResponseTime).outcome(Outcome::Ok), 41, 90_000, 3);
    run.record(&of(Metric::FirstMessageTime).outcome(Outcome::Ok), 41, 7_000, 3);
    run.record(&of(Metric::FirstMessageTime).outcome(Outcome::Timeout), 41, 999_000, 1);
    run.add(&of(Metric::MessagesIn), 41, 1_234);
    run.add(&of(Metric::MessagesOut), 41, 3);
    let with = summary(&run);
    let streams = with.rows[0].streams.as_ref().expect("messages were counted");
    assert_eq!((streams.messages_sent, streams.messages_received), (3, 1_234));
    let first = &streams.first_message_time;
    assert!(first.count == 3 && first.max_ms.is_some_and(|ms| (ms - 7.0).abs() < 0.01), "{first:?}");
    let json: serde_json::Value = serde_json::from_str(&forms::json(&with)).unwrap();
    assert_eq!(json["endpoints"][0]["streams"]["messages_received"], 1_234);
    for text in
        [forms::terminal(&with, Style::Plain, 100, Detail::Full), forms::markdown(&with), forms::html(&with)]
    {
        assert!(text.contains("1,234") && text.contains("7.00 ms"), "{text}");
    }
    let without = summary(&sample_run::run(105, None));
    assert!(without.rows.iter().all(|row| row.streams.is_none()));
    assert!(!forms::json(&without).contains("\"streams\""));
    assert!(!forms::html(&without).contains("Messages of streams"));
}

#[test]
fn an_objective_on_a_share_has_the_limits_of_the_share_as_its_interval() {
    let mut judgement = sample_run::judgement();
    let claim = judgement.claims.iter_mut().find(|claim| claim.name == "few_errors").expect("in the sample");
    claim.interval = None;
    claim.share = Some(ClaimShare {
        sentence: "0.3 % failed (0.2 % to 0.9 %)".to_owned(),
        observed: 0.003,
        lower: 0.002,
        upper: 0.009,
        allowed: 0.001,
        confidence: 0.95,
        arrivals: 1_000,
        least: 3,
        most: 3,
        effective_sample: 100.0,
        design_effect: 10.0,
        perturbed: 0,
        widened_by: Vec::new(),
        blind_spot: None,
    });
    let run = sample_run::run(12, None);
    let summary = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read");
    let shown = summary.claims.iter().find(|shown| shown.claim.name == "few_errors").expect("it is shown");
    assert_eq!(shown.interval().as_deref(), Some("0.200 % to 0.900 %"));
    assert!(forms::html(&summary).contains("data-l=\"interval\">0.200 % to 0.900 %</td>"));
}

#[test]
fn a_claim_that_passes_shows_the_share_that_decided_it() {
    let mut judgement = sample_run::judgement();
    let passed =
        judgement.claims.iter_mut().find(|claim| claim.verdict == Verdict::Pass).expect("one passes");
    let sentence = "0.3 % failed or took 50 ms or longer (at most 0.9 %)";
    passed.share = Some(ClaimShare {
        sentence: sentence.to_owned(),
        observed: 0.003,
        lower: 0.001,
        upper: 0.009,
        allowed: 0.05,
        confidence: 0.95,
        arrivals: 1_000,
        least: 3,
        most: 4,
        effective_sample: 100.0,
        design_effect: 10.0,
        perturbed: 2,
        widened_by: vec![Widening { cause: WideningCause::Perturbed, arrivals: 1 }],
        blind_spot: None,
    });
    let run = sample_run::run(12, None);
    let summary = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read");
    let terminal = forms::terminal(&summary, Style::Plain, 200, Detail::Full);
    assert!(terminal.contains(sentence), "{terminal}");
    assert!(forms::markdown(&summary).contains(sentence));
    let json: serde_json::Value = serde_json::from_str(&forms::json(&summary)).expect("JSON");
    let claims = json["claims"].as_array().expect("claims");
    let share = claims.iter().find_map(|claim| claim.get("share")).expect("a share");
    assert_eq!(share["widened_by"], serde_json::json!([{ "cause": "perturbed", "arrivals": 1 }]));
    assert_eq!(claims.iter().filter(|claim| claim.get("share").is_some()).count(), 1, "absent elsewhere");
}

#[test]
fn columns_of_which_nothing_was_counted_are_left_out_and_one_is_not_a_plural() {
    let mut run = MemoryRun::new(sample_run::manifest());
    let of = |metric| Key::of(metric).scenario("play").phase("gameplay").endpoint("list challenges");
    run.add(&of(Metric::Requests), 40, 2);
    run.record(&of(Metric::ResponseTime).outcome(Outcome::Ok), 40, 5_000, 1);
    run.record(&of(Metric::ResponseTime).outcome(Outcome::Http5xx), 40, 5_000, 1);
    let summary = Summary::of(&run, &sample_run::workload(), &sample_run::judgement());
    let page = forms::html(&summary.expect("memory can be read"));
    let (_, table) = page.split_once("<b>Phase gameplay</b>").expect("the phase has a table");
    let heads = table.split("</thead>").next().unwrap_or_default();
    assert!(
        heads.contains(">requests<") && !heads.contains(">due<") && !heads.contains("Arrivals"),
        "{heads}"
    );
    assert!(page.contains("<span class=\"note\">1 request</span>"), "{page}");
}
