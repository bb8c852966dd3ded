use insta::{assert_debug_snapshot, assert_snapshot};
use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Objective {
    parse("o", text).unwrap_or_else(|error| panic!("{error}"))
}

fn filter(endpoint: Option<&str>, scenario: Option<&str>, phase: Option<&str>) -> Filter {
    let owned = |name: Option<&str>| name.map(str::to_owned);
    Filter { endpoint: owned(endpoint), scenario: owned(scenario), phase: owned(phase) }
}

fn check(text: &str, measure: Measure, of: Filter, bound: f64) {
    let objective = read(text);
    assert_eq!((objective.measure, objective.filter, objective.bound), (measure, of, bound), "{text}");
    assert_eq!(objective.source, text);
}

const P95: Statistic = Statistic::Quantile(0.95);

#[test]
fn objectives_on_times_are_parsed() {
    let response = Measure::ResponseTime;
    let of = |endpoint| filter(Some(endpoint), None, None);
    check(
        "p95(initialize, phase = gameplay) < 50ms",
        response(P95),
        filter(Some("initialize"), None, Some("gameplay")),
        50.0,
    );
    let quoted = "p99.9 ( \"set, (active)\" ) <= 1.5s";
    check(quoted, response(Statistic::Quantile(0.999)), of("set, (active)"), 1_500.0);
    check("avg(set active)<250us", response(Statistic::Mean), of("set active"), 0.25);
    check("max() < 1m", response(Statistic::Max), Filter::default(), 60_000.0);
    let play = filter(None, Some("play"), None);
    check("service_p95(all, scenario = play) < 5ms", Measure::ServiceTime(P95), play.clone(), 5.0);
    let median = Measure::IterationTime(Statistic::Quantile(0.5));
    check("iteration_median(scenario=play) < 2s", median, play, 2_000.0);
}

#[test]
fn objectives_on_shares_and_rates_are_parsed() {
    let all = Filter::default;
    let of = |endpoint| filter(Some(endpoint), None, None);
    check("error_rate(all) < 0.1%", Measure::ErrorRate, all(), 0.001);
    check("error_rate(endpoint = list) <= 0.05", Measure::ErrorRate, of("list"), 0.05);
    let within = Some(Duration::from_millis(50));
    check("goodput(within = 50ms) >= 299/s", Measure::Goodput { within }, all(), 299.0);
    let gameplay = filter(None, None, Some("gameplay"));
    check("goodput(phase = gameplay) > 60/min", Measure::Goodput { within: None }, gameplay, 1.0);
    check("throughput(list) >= 5/s", Measure::Throughput, of("list"), 5.0);
    let checked = Measure::CheckRate { check: Some("status is 200".into()) };
    check("check_rate(check = \"status is 200\") > 99%", checked, all(), 0.99);
}

#[test]
fn objectives_on_series_are_parsed() {
    let series = |statistic, name: &str, target: Option<&str>| Measure::Series {
        statistic,
        name: name.into(),
        target: target.map(str::to_owned),
    };
    let all = Filter::default;
    let mean = series(Statistic::Mean, "cpu", Some("challenge"));
    check("mean(cpu, target = challenge) < 0.85", mean, all(), 0.85);
    check("p95(cpu) < 85%", series(P95, "cpu", None), all(), 0.85);
    let max = |name| series(Statistic::Max, name, Some("x"));
    let gameplay = filter(None, None, Some("gameplay"));
    check("max(rss, target = x, phase = gameplay) < 100MB", max("rss"), gameplay, 1e8);
    check("max(custom, target = x) < 3", max("custom"), all(), 3.0);
}

#[test]
fn a_name_of_endpoint_and_series_means_the_endpoint() {
    let is_endpoint = |name: &str| name == "cpu";
    let read = |text: &str| parse_among("o", text, &is_endpoint).expect("it is an objective").measure;
    assert_eq!(read("max(cpu) < 5ms"), Measure::ResponseTime(Statistic::Max));
    assert!(matches!(read("max(cpu, target = x) < 5"), Measure::Series { .. }));
}

#[test]
fn an_objective_without_parentheses_is_about_all() {
    check("p95 < 50ms", Measure::ResponseTime(P95), Filter::default(), 50.0);
    check("p(95) < 50ms", Measure::ResponseTime(P95), Filter::default(), 50.0);
    check(
        "p(95, phase = steady) < 50ms",
        Measure::ResponseTime(P95),
        filter(None, None, Some("steady")),
        50.0,
    );
    check("error_rate<1%", Measure::ErrorRate, Filter::default(), 0.01);
}

#[test]
fn names_of_other_load_generators_are_answered_with_the_measure() {
    assert_snapshot!(wrong(&["errors < 1%", "rps > 200", "http_req_duration(all) < 5ms", "p(all) < 5ms"]), @r"
    there is no measure `errors`; did you mean `error_rate`? Write it like `error_rate < 1%`
        errors < 1%
        ^
    there is no measure `rps`; did you mean `throughput`? Write it like `throughput >= 100/s`
        rps > 200
        ^
    there is no measure `http_req_duration`; did you mean `p95`? Write it like `p95 < 50ms`
        http_req_duration(all) < 5ms
        ^
    there is no measure `p`; did you mean `p99`? Write it like `p99 < 50ms`
        p(all) < 5ms
        ^
    ");
}

#[test]
fn mistakes_in_objectives_are_answered_where_they_are() {
    for (text, at, said) in [
        ("failure_rate < 1%", 0, "did you mean `error_rate`? Write it like `error_rate < 1%`"),
        ("p101 < 5ms", 0, "a percentile is above 0 and at most 100"),
        ("95 < 5ms", 0, "did you mean `p95`?"),
        ("p0.95 < 5ms", 0, "percentiles are in per cent; did you mean `p95`?"),
        ("p0.999 < 5ms", 0, "did you mean `p99.9`?"),
        ("http_req_duration: p(95)<500", 0, "write `p95 < 500ms`"),
        ("p95 < 50ms and p99 < 1s", 11, "`p99 < 1s` is an objective of its own"),
        ("p95 < 50ms, p99 < 1s", 10, "`p99 < 1s` is an objective of its own"),
        ("p95 < 50ms && p99 < 1s", 11, "`p99 < 1s` is an objective of its own"),
        ("p95 < 50ms in main", 11, "endpoint, scenario and phase are in parentheses"),
        ("p95 = 50ms", 4, "`<`, `<=`, `>` or `>=` is missing before `= 50ms`"),
        ("p95 50ms", 4, "is missing before `50ms`"),
        ("p95 << 50ms", 5, "a comparison is `<`, `<=`, `>` or `>=`"),
        ("p95 < 50", 6, "write `50s` or `50ms`"),
        ("p95 < -5ms", 6, "it is below 0"),
    ] {
        let error = parse("o", text).expect_err(text);
        assert_eq!((error.at, error.message.contains(said)), (at, true), "{text}: {}", error.message);
    }
}

fn wrong(texts: &[&str]) -> String {
    let shown = texts.iter().map(|text| parse("o", text).expect_err(text).to_string());
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn syntax_errors_are_shown_with_a_caret() {
    let forms =
        ["", "p95", "p95(list < 5ms", "p95(list) 5ms", "p95(\"a) < 5ms", "p95(,) < 5ms", "p95(a, b) < 5ms"];
    assert_snapshot!(wrong(&forms), @r#"
    an objective is missing; write it like `p95(list, phase = gameplay) < 50ms`
        
        ^
    `<`, `<=`, `>` or `>=` and a bound are missing; on a command line quote it, or the shell takes the sign: 'p95 < 50ms'
        p95
           ^
    `,` or `)` is missing; write it like `p95(list, phase = gameplay) < 50ms`
        p95(list < 5ms
                      ^
    `<`, `<=`, `>` or `>=` and a bound are missing; on a command line quote it, or the shell takes the sign: 'p95 < 50ms'
        p95(list) 5ms
                  ^
    a `"` without a closing `"`
        p95("a) < 5ms
            ^
    a name is missing; write it like `p95(list, phase = gameplay) < 50ms`
        p95(,) < 5ms
            ^
    a second name; write `phase = b` or `scenario = b`
        p95(a, b) < 5ms
               ^
    "#);
}

#[test]
fn unknown_and_misplaced_names_are_shown_with_a_caret() {
    let names = [
        "q95(list) < 5ms",
        "p0(list) < 5ms",
        "p95(list, phse = x) < 5ms",
        "p95(list, within = 5ms) < 5ms",
        "p95(a, phase = x, phase = y) < 5ms",
        "error_rate(all, target = x) < 1%",
        "iteration_p95(list) < 1s",
    ];
    assert_snapshot!(wrong(&names), @r"
    there is no measure `q95`; did you mean `p95`? Write it like `p95 < 50ms`
        q95(list) < 5ms
        ^
    there is no measure `p0`: a percentile is above 0 and at most 100, such as `p99.9`
        p0(list) < 5ms
        ^
    there is no `phse`; did you mean `phase`?
        p95(list, phse = x) < 5ms
                  ^
    `within` does not apply to this measure
        p95(list, within = 5ms) < 5ms
                  ^
    `phase` is given twice
        p95(a, phase = x, phase = y) < 5ms
                          ^
    `target` does not apply to this measure
        error_rate(all, target = x) < 1%
                        ^
    an iteration is of a scenario, not of an endpoint: `iteration_p95(scenario = play)`
        iteration_p95(list) < 1s
                      ^
    ");
}

#[test]
fn malformed_bounds_are_shown_with_a_caret() {
    let bounds = [
        "p95(list) < 5",
        "p95(list) <",
        "error_rate(all) < 5ms",
        "error_rate(all) < 5",
        "check_rate(all) > 101%",
        "goodput(within = soon) > 1/s",
        "goodput() > 5",
        "mean(cpu, target = x) < 5ms",
    ];
    assert_snapshot!(wrong(&bounds), @r"
    `5` is not a duration without a unit; write `5s` or `5ms`
        p95(list) < 5
                    ^
    the bound is missing: write it like `p95(list, phase = gameplay) < 50ms`
        p95(list) <
                   ^
    `5ms` is not a share; write `0.1%` or `0.001`
        error_rate(all) < 5ms
                          ^
    `5` is 500 %; write `5%`
        error_rate(all) < 5
                          ^
    `101%` is more than all; a share is at most 100%
        check_rate(all) > 101%
                          ^
    `soon` is not a duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
        goodput(within = soon) > 1/s
                         ^
    `5` is not a rate; write a number and a unit of time, such as `300/s` or `20/min`
        goodput() > 5
                    ^
    `5ms` is not a bound for `cpu`; write it like `0.85`
        mean(cpu, target = x) < 5ms
                                ^
    ");
}

#[test]
fn the_stored_form_is_stable() {
    let text = serde_json::to_string(&read("goodput(list, within = 50ms) >= 299/s")).expect("it is JSON");
    assert_debug_snapshot!(text, @r#""{\"name\":\"o\",\"source\":\"goodput(list, within = 50ms) >= 299/s\",\"measure\":{\"goodput\":{\"within\":{\"secs\":0,\"nanos\":50000000}}},\"filter\":{\"endpoint\":\"list\",\"scenario\":null,\"phase\":null},\"comparison\":\">=\",\"bound\":299.0}""#);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(p95|goodput|max|é)?[(a-z,= \"é)<>0-9./%]{0,30}") {
        if let Err(error) = parse("o", &text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
