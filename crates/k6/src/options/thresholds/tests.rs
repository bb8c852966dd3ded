use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::options::fields::FromJson;

fn compiled(thresholds: Value) -> Result<Vec<MetricThresholds>, String> {
    let options = BTreeMap::<String, Vec<ThresholdOptions>>::from_json(&thresholds)?;
    compile(&options, built_in_kind).map_err(|error| error.to_string())
}

fn refused(cases: impl IntoIterator<Item = (&'static str, &'static str)>) -> String {
    let line = |(metric, expression): (&str, &str)| compiled(json!({metric: [expression]})).unwrap_err();
    cases.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The values 1, 2 and 3, as k6 v1.8.1 aggregates them.
struct OneTwoThree;

impl Aggregates for OneTwoThree {
    fn aggregate(&self, aggregation: Aggregation) -> f64 {
        match aggregation {
            Aggregation::Count => 3.0,
            Aggregation::Rate => 0.5,
            Aggregation::Value => 7.0,
            Aggregation::Avg | Aggregation::Med => 2.0,
            Aggregation::Min => 1.0,
            Aggregation::Max => 3.0,
            Aggregation::Percentile(percent) => 1.0 + percent / 50.0,
        }
    }
}

#[test]
fn expressions_hold_as_in_k6() {
    let cases = [
        ("avg<1", false),
        ("avg<NaN", false),
        ("avg>NaN", false),
        ("avg!=NaN", true),
        ("p(0)==1", true),
        ("med==2", true),
        ("p(50)===2", true),
        ("p(50)!=2", false),
        ("avg<Infinity", true),
        ("avg<1_0", true),
        ("max>=3", true),
        ("p(75)==2.5", true),
        ("count==3", true),
        ("rate==0.5", true),
        ("value==7", true),
        (" p(95)  <  5e2 ", true),
        ("p(1e1)>-.5", true),
        ("min\t<=1.", true),
        ("max>3", false),
        ("min<+1", false),
    ];
    for (text, holds) in cases {
        assert_eq!(Expression::parse(text).map(|e| e.holds(&OneTwoThree)), Ok(holds), "{text}");
    }
}

#[test]
fn expressions_that_k6_refuses_are_refused() {
    let texts = [
        "p(95)=500",
        "p(95)=>500",
        "p(95)<>500",
        "p()<5",
        "p( 95 )<5",
        "P(95)<5",
        "p95<5",
        "AVG<1",
        "avg<1ms",
        "avg<x",
        "avg",
        "<1",
        "",
        "avg<",
        "avg<1 && max<2",
        "1<avg",
        "stddev<1",
        "avg<0x10",
        "avg<1%",
        "avg<_1",
        "passes<1",
    ];
    for text in texts {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
    // k6 accepts these and crashes when it evaluates them.
    for text in ["p(101)<5", "p(-1)<5"] {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
    let metrics = ["p(95)=500", "p95<5", "p(101)<1", "avg<1ms"].map(|text| ("http_req_duration", text));
    insta::assert_snapshot!(refused(metrics), @r#"
    threshold "p(95)=500" of http_req_duration: is not a comparison such as "p(95)<500"
    threshold "p95<5" of http_req_duration: must begin with count, rate, value, avg, min, max, med or p(N) with N from 0 to 100, not "p95"; write `p(95)`
    threshold "p(101)<1" of http_req_duration: must begin with count, rate, value, avg, min, max, med or p(N) with N from 0 to 100, not "p(101)"
    threshold "avg<1ms" of http_req_duration: "1ms" is not a number
    "#);
}

#[test]
fn each_kind_of_metrics_has_its_aggregations() {
    let all = ["count<1", "rate<1", "value<1", "avg<1", "min<1", "max<1", "med<1", "p(95)<1"];
    let has = |metric: &str| -> Vec<&str> {
        all.into_iter().filter(|text| compiled(json!({metric: [text]})).is_ok()).collect()
    };
    assert_eq!(has("http_reqs"), ["count<1", "rate<1"]);
    assert_eq!(has("vus"), ["value<1"]);
    assert_eq!(has("checks"), ["rate<1"]);
    assert_eq!(has("http_req_duration"), ["avg<1", "min<1", "max<1", "med<1", "p(95)<1"]);
    let cases = [
        ("http_reqs", "avg<1"),
        ("vus", "max<1"),
        ("checks{a:b}", "count<1"),
        ("iteration_duration", "rate<1"),
    ];
    insta::assert_snapshot!(refused(cases), @r#"
    threshold "avg<1" of http_reqs: a counter has no avg; it has count, rate
    threshold "max<1" of vus: a gauge has no max; it has value
    threshold "count<1" of checks{a:b}: a rate has no count; it has rate
    threshold "rate<1" of iteration_duration: a trend has no rate; it has avg, min, max, med, p(N)
    "#);
}

#[test]
fn a_metric_that_is_not_there_is_refused_after_expressions_that_cannot_be_read() {
    let unknown =
        [("nope", "avg<1"), ("http_reqs { a:b }", "count<1"), ("{a:b}", "count<1"), ("", "count<1")];
    insta::assert_snapshot!(refused(unknown), @r#"
    threshold of nope: there is no metric "nope"
    threshold of http_reqs { a:b }: there is no metric "http_reqs "; did you mean "http_reqs"?
    threshold of {a:b}: there is no metric ""
    threshold of : there is no metric ""
    "#);
    let misspelt = compiled(json!({"http_req_duraton": ["avg<1"]})).unwrap_err();
    assert!(misspelt.ends_with("; did you mean \"http_req_duration\"?"), "{misspelt}");
    assert!(compiled(json!({"nope": []})).is_err(), "without thresholds too");
    let both = compiled(json!({"a": ["avg<1"], "http_reqs": ["avg"]})).unwrap_err();
    assert!(both.contains("http_reqs"), "{both}");
}

#[test]
fn selectors_are_read_as_in_k6() {
    let tags = |text: &str| -> Vec<(String, String)> {
        MetricSelector::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).tags.into_iter().collect()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let ab =
        ["tt{a:b}", "tt{a: b}", "tt{ a :b}", "tt{\"a\":\"b\"}", "tt{'a':'b'}", "tt{a:\"b}", "tt{\"a:b\"}"];
    for text in ab {
        assert_eq!(tags(text), [pair("a", "b")], "{text}");
    }
    assert_eq!(tags("tt"), []);
    assert_eq!(tags("tt{a:b,c:d}"), [pair("a", "b"), pair("c", "d")]);
    assert_eq!(tags("tt{u:http://x/y?z=1}"), [pair("u", "http://x/y?z=1")]);
    assert_eq!(tags("tt{c:{d}}"), [pair("c", "{d}")]);
    assert_eq!(tags("tt{a:`b`}"), [pair("a", "`b`")]);
    assert_eq!(tags("tt{\"a\":\" b\"}"), [pair("a", " b")]);
    assert_eq!(tags("tt{group:::g}"), [pair("group", "::g")]);
    let selector = MetricSelector::parse("http_reqs{status:200,method:GET}").unwrap();
    let of = |status: &'static str| {
        move |name: &str| {
            [("status", status), ("method", "GET")]
                .into_iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value)
        }
    };
    assert!(selector.matches(of("200")) && !selector.matches(of("404")));
    let wrong = [
        "http_reqs{a:b",
        "http_reqs a:b}",
        "http_reqs{}",
        "http_reqs{ }",
        "http_reqs{a}",
        "http_reqs{a:}",
        "http_reqs{a:b,}",
        "http_reqs{a:\"b,c\"}",
        "http_reqs{a:b}x",
        "http_reqs{:b}",
    ];
    insta::assert_snapshot!(refused(wrong.map(|metric| (metric, "count<1"))), @r#"
    threshold of http_reqs{a:b: must end with a closing brace
    threshold of http_reqs a:b}: has a closing brace and no opening one
    threshold of http_reqs{}: "" is not a tag such as "status:200"
    threshold of http_reqs{ }: " " is not a tag such as "status:200"
    threshold of http_reqs{a}: "a" is not a tag such as "status:200"
    threshold of http_reqs{a:}: "a:" is not a tag such as "status:200"
    threshold of http_reqs{a:b,}: "" is not a tag such as "status:200"
    threshold of http_reqs{a:"b,c"}: "c\"" is not a tag such as "status:200"
    threshold of http_reqs{a:b}x: must end with a closing brace
    threshold of http_reqs{:b}: ":b" is not a tag such as "status:200"
    "#);
}

#[test]
fn a_threshold_may_end_the_run() {
    let options = json!({"http_reqs": ["count>1",
        {"threshold": "rate>1", "abortOnFail": true, "delayAbortEval": "10s", "foo": 1},
        {"threshold": "rate>2", "abortOnFail": null, "delayAbortEval": 5}]});
    let compiled = compiled(options).unwrap();
    let [metric] = compiled.as_slice() else { panic!("one metric") };
    assert_eq!((metric.source.as_str(), metric.kind), ("http_reqs", MetricKind::Counter));
    let parts = |t: &Threshold| (t.source.clone(), t.abort_on_fail, t.delay_abort_eval);
    let expected = [
        ("count>1".to_owned(), false, Duration::ZERO),
        ("rate>1".to_owned(), true, Duration::from_secs(10)),
        ("rate>2".to_owned(), false, Duration::from_millis(5)),
    ];
    assert_eq!(metric.thresholds.iter().map(parts).collect::<Vec<_>>(), expected);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z()0-9<>=!. ]{0,16}", metric in "[a-z{}:,\"' ]{0,16}") {
        let _ = Expression::parse(&text);
        let _ = MetricSelector::parse(&metric);
    }

    #[test]
    fn a_bound_is_read_as_it_is_written(bound in -1e9..1e9f64, operator in 0..7usize, percent in 0.0..=100.0f64) {
        let sign = ["<", "<=", ">", ">=", "==", "===", "!="][operator];
        let read = Expression::parse(&format!("p({percent}){sign}{bound}")).unwrap();
        prop_assert_eq!((read.bound, read.aggregation), (bound, Aggregation::Percentile(percent)));
        let left = 1.0 + percent / 50.0;
        let holds = [left < bound, left <= bound, left > bound, left >= bound, left == bound, left == bound, left != bound];
        prop_assert_eq!(read.holds(&OneTwoThree), holds[operator]);
    }
}
