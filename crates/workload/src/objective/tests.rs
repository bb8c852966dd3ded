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

#[test]
fn every_form_of_the_grammar_is_read() {
    let check = |text: &str, measure: Measure, of: Filter, bound: f64| {
        let objective = read(text);
        assert_eq!((objective.measure, objective.filter, objective.bound), (measure, of, bound), "{text}");
        assert_eq!(objective.source, text);
    };
    let p95 = Statistic::Quantile(0.95);
    let gameplay = Some("gameplay");
    check(
        "p95(initialize, phase = gameplay) < 50ms",
        Measure::ResponseTime(p95),
        filter(Some("initialize"), None, gameplay),
        50.0,
    );
    check(
        "p99.9 ( \"set, (active)\" ) <= 1.5s",
        Measure::ResponseTime(Statistic::Quantile(0.999)),
        filter(Some("set, (active)"), None, None),
        1_500.0,
    );
    check(
        "avg(set active)<250us",
        Measure::ResponseTime(Statistic::Mean),
        filter(Some("set active"), None, None),
        0.25,
    );
    check("max() < 1m", Measure::ResponseTime(Statistic::Max), filter(None, None, None), 60_000.0);
    check(
        "service_p95(all, scenario = play) < 5ms",
        Measure::ServiceTime(p95),
        filter(None, Some("play"), None),
        5.0,
    );
    check(
        "iteration_median(scenario=buy) < 2s",
        Measure::IterationTime(Statistic::Quantile(0.5)),
        filter(None, Some("buy"), None),
        2_000.0,
    );
    check("error_rate(all) < 0.1%", Measure::ErrorRate, filter(None, None, None), 0.001);
    check("error_rate(endpoint = list) <= 0.05", Measure::ErrorRate, filter(Some("list"), None, None), 0.05);
    let within = Some(Duration::from_millis(50));
    check("goodput(within = 50ms) >= 299/s", Measure::Goodput { within }, filter(None, None, None), 299.0);
    check(
        "goodput(phase = gameplay) > 60/min",
        Measure::Goodput { within: None },
        filter(None, None, gameplay),
        1.0,
    );
    check("throughput(list) >= 5/s", Measure::Throughput, filter(Some("list"), None, None), 5.0);
    check(
        "check_rate(check = \"status is 200\") > 99%",
        Measure::CheckRate { check: Some("status is 200".into()) },
        filter(None, None, None),
        0.99,
    );
    let series = |statistic, name: &str, target: Option<&str>| Measure::Series {
        statistic,
        name: name.into(),
        target: target.map(str::to_owned),
    };
    check(
        "mean(cpu, target = challenge) < 0.85",
        series(Statistic::Mean, "cpu", Some("challenge")),
        filter(None, None, None),
        0.85,
    );
    check("p95(cpu) < 85%", series(p95, "cpu", None), filter(None, None, None), 0.85);
    check(
        "max(rss, target = x, phase = gameplay) < 100MB",
        series(Statistic::Max, "rss", Some("x")),
        filter(None, None, gameplay),
        1e8,
    );
    check(
        "max(custom, target = x) < 3",
        series(Statistic::Max, "custom", Some("x")),
        filter(None, None, None),
        3.0,
    );
}

#[test]
fn an_endpoint_wins_over_a_series_of_its_name() {
    let is_endpoint = |name: &str| name == "cpu";
    let read = |text: &str| parse_among("o", text, &is_endpoint).expect("it is an objective").measure;
    assert_eq!(read("max(cpu) < 5ms"), Measure::ResponseTime(Statistic::Max));
    assert!(matches!(read("max(cpu, target = x) < 5"), Measure::Series { .. }));
}

#[test]
fn what_is_wrong_is_shown_with_a_caret() {
    let wrong = [
        "",
        "p95",
        "p95(list < 5ms",
        "p95(list) 5ms",
        "p95(list) < 5",
        "p95(list) <",
        "q95(list) < 5ms",
        "p0(list) < 5ms",
        "p95(list, phse = x) < 5ms",
        "p95(list, within = 5ms) < 5ms",
        "p95(a, b) < 5ms",
        "p95(a, phase = x, phase = y) < 5ms",
        "p95(\"a) < 5ms",
        "error_rate(all) < 5ms",
        "goodput(within = soon) > 1/s",
        "goodput() > 5",
        "mean(cpu, target = x) < 5ms",
        "error_rate(all, target = x) < 1%",
        "p95(,) < 5ms",
        "iteration_p95(list) < 1s",
    ];
    let shown: Vec<_> = wrong.iter().map(|text| parse("o", text).expect_err(text).to_string()).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    a `(` is missing; write it like `p95(list, phase = gameplay) < 50ms`
        
        ^
    a `(` is missing; write it like `p95(list, phase = gameplay) < 50ms`
        p95
           ^
    `,` or `)` is missing; write it like `p95(list, phase = gameplay) < 50ms`
        p95(list < 5ms
                      ^
    `<`, `<=`, `>` or `>=` and a bound are missing
        p95(list) 5ms
                  ^
    `5` is no duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
        p95(list) < 5
                    ^
    `` is no duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
        p95(list) <
                   ^
    there is no measure `q95`; did you mean `p95`?
        q95(list) < 5ms
        ^
    there is no measure `p0`; write it like `p95(list, phase = gameplay) < 50ms`
        p0(list) < 5ms
        ^
    there is no `phse`; did you mean `phase`?
        p95(list, phse = x) < 5ms
                  ^
    `within` does not go with this measure
        p95(list, within = 5ms) < 5ms
                  ^
    a second name; write `phase = b` or `scenario = b`
        p95(a, b) < 5ms
               ^
    `phase` stands here twice
        p95(a, phase = x, phase = y) < 5ms
                          ^
    a `"` without its partner
        p95("a) < 5ms
            ^
    `5ms` is no share; write `0.1%` or `0.001`
        error_rate(all) < 5ms
                          ^
    `soon` is no duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
        goodput(within = soon) > 1/s
                         ^
    `5` is no rate; write a number and a unit of time, such as `300/s` or `20/min`
        goodput() > 5
                    ^
    `5ms` is no bound for `cpu`; write it like `0.85`
        mean(cpu, target = x) < 5ms
                                ^
    `target` does not go with this measure
        error_rate(all, target = x) < 1%
                        ^
    a name is missing; write it like `p95(list, phase = gameplay) < 50ms`
        p95(,) < 5ms
            ^
    an iteration is of a scenario, not of an endpoint: `iteration_p95(scenario = play)`
        iteration_p95(list) < 1s
                      ^
    "#);
}

#[test]
fn the_archive_form_is_stable() {
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
