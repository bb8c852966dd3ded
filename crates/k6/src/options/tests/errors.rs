use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Flags, Layer, OptionsError, consolidate};
use super::{of_all, of_script};

/// The message of each, with its exit code.
fn refused<T: std::fmt::Debug>(cases: impl IntoIterator<Item = Result<T, OptionsError>>) -> String {
    let line = |case: Result<T, OptionsError>| {
        let error = case.expect_err("the options are wrong");
        format!("{} {error}", error.exit_code())
    };
    cases.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn scenario(fields: Value) -> Result<super::ConsolidatedOptions, OptionsError> {
    of_script(json!({"scenarios": {"a": fields}}))
}

#[test]
fn a_value_of_another_type_is_refused_by_name() {
    let values = [
        json!({"vus": 1.5}),
        json!({"vus": true}),
        json!({"iterations": "abc"}),
        json!({"duration": ""}),
        json!({"setupTimeout": [1]}),
        json!({"stages": {}}),
        json!({"stages": ["5s:10"]}),
        json!({"throw": "true"}),
        json!({"userAgent": 5}),
        json!({"thresholds": {"http_reqs": "count<1"}}),
        json!({"thresholds": {"http_reqs": ["count<1", {"abortOnFail": true}]}}),
        json!({"tags": {"a": 1}}),
        json!({"hosts": {"a.com": "x"}}),
        json!({"blacklistIPs": ["1.2.3.4"]}),
        json!({"blockHostnames": ["a*b"]}),
        json!({"dns": {"select": "x"}}),
        json!({"tlsVersion": {"min": "ssl3.0"}}),
        json!({"tlsAuth": [{"foo": 1}]}),
        json!({"summaryTrendStats": ["p(101)"]}),
        json!({"summaryTimeUnit": "x"}),
        json!([1]),
    ];
    insta::assert_snapshot!(refused(values.map(of_script)), @r#"
    104 `vus` (script): must be a whole number, not 1.5
    104 `vus` (script): must be a whole number, not true
    104 `iterations` (script): must be a whole number, not "abc"
    104 `duration` (script): "" is not a duration; write a number with a unit, such as "500ms", "10s", "1m30s"
    104 `setupTimeout` (script): must be a duration such as "30s", or a number of milliseconds, not [1]
    104 `stages` (script): must be a list, not {}
    104 `stages` (script): item 1: must be an object, not "5s:10"
    104 `throw` (script): must be true or false, not "true"
    104 `userAgent` (script): must be a text, not 5
    104 `thresholds` (script): http_reqs: must be a list, not "count<1"
    104 `thresholds` (script): http_reqs: item 2: it has no threshold
    104 `tags` (script): a: must be a text, not 1
    104 `hosts` (script): a.com: "x" is not an IP address, nor one with a port such as "10.0.0.1:8080"
    104 `blacklistIPs` (script): item 1: "1.2.3.4" is not a network such as "10.0.0.0/8"
    104 `blockHostnames` (script): item 1: "a*b" is not a host name; a wildcard is allowed at its beginning only
    104 `dns` (script): select: must be one of "first", "random", "roundRobin", not "x"
    104 `tlsVersion` (script): min: must be one of "tls1.0", "tls1.1", "tls1.2", "tls1.3", not "ssl3.0"
    104 `tlsAuth` (script): item 1: there is no "foo"; it has domains, cert, key and password
    104 `summaryTrendStats` (script): item 1: must be avg, min, med, max, count or p(N) with N from 0 to 100, not "p(101)"
    104 `summaryTimeUnit` (script): must be one of "s", "ms", "us", not "x"
    104 options (script): must be an object, not [1]
    "#);
}

#[test]
fn a_scenario_with_another_field_or_executor_is_refused() {
    let scenarios = [
        json!({}),
        json!({"executor": "x"}),
        json!({"executor": "externally-controlled", "maxVUs": 5}),
        json!({"executor": "constant-vus", "duration": "5s", "foo": 1}),
        json!({"executor": "constant-vus", "duration": "5s", "rate": 1}),
        json!({"executor": "constant-vus", "duration": "5s", "vus": "x"}),
        json!({"executor": "constant-arrival-rate", "rate": 10.5}),
        json!({"executor": "constant-arrival-rate", "rate": 10, "vus": 5}),
        json!({"executor": "ramping-vus", "stages": [{"duration": "5s"}, {"target": {}}]}),
    ];
    insta::assert_snapshot!(refused(scenarios.map(scenario)), @r#"
    104 `scenarios` (script): a: it has no executor
    104 `scenarios` (script): a: executor: must be one of "constant-vus", "ramping-vus", "shared-iterations", "per-vu-iterations", "constant-arrival-rate", "ramping-arrival-rate", not "x"
    104 `scenarios` (script): a: executor: externally-controlled is not supported: nothing could control the load; use another executor
    104 `scenarios` (script): a: its executor has no "foo"; it has vus, duration
    104 `scenarios` (script): a: its executor has no "rate"; it has vus, duration
    104 `scenarios` (script): a: vus: must be a whole number, not "x"
    104 `scenarios` (script): a: rate: must be a whole number, not 10.5
    104 `scenarios` (script): a: its executor has no "vus"; it has rate, timeUnit, duration, preAllocatedVUs, maxVUs; its virtual users are "preAllocatedVUs", and at most "maxVUs"
    104 `scenarios` (script): a: stages: item 2: target: must be a whole number, not {}
    "#);
}

#[test]
fn problems_of_a_scenario_are_those_that_k6_has() {
    let scenarios = [
        json!({"executor": "constant-vus"}),
        json!({"executor": "constant-vus", "vus": 0, "duration": "5s", "startTime": "-3s", "gracefulStop": "-5s"}),
        json!({"executor": "shared-iterations", "vus": 5, "iterations": 3}),
        json!({"executor": "shared-iterations", "vus": 0, "iterations": 0, "maxDuration": "1ms"}),
        json!({"executor": "per-vu-iterations", "vus": 5, "iterations": 0, "maxDuration": "0s", "exec": ""}),
        json!({"executor": "ramping-vus"}),
        json!({"executor": "ramping-vus", "startVUs": 0, "stages": [{"duration": "5s", "target": 0}]}),
        json!({"executor": "ramping-vus", "startVUs": -1, "stages": [{"duration": "-5s", "target": -1}, {}]}),
        json!({"executor": "constant-arrival-rate"}),
        json!({"executor": "constant-arrival-rate", "rate": 0, "timeUnit": "0s", "duration": "500ms",
            "preAllocatedVUs": 5, "maxVUs": 2}),
        json!({"executor": "ramping-arrival-rate", "startRate": -1, "timeUnit": "0s", "preAllocatedVUs": -2,
            "maxVUs": -5, "stages": [{"target": -50, "duration": "-5s"}, {}]}),
    ];
    insta::assert_snapshot!(refused(scenarios.map(scenario)), @"
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the duration is unspecified
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the startTime can't be negative, the gracefulStop timeout can't be negative, the number of VUs must be more than 0
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the number of iterations (3) can't be less than the number of VUs (5)
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the number of VUs must be more than 0, the maxDuration must be at least 1s, but is 1ms
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: exec value cannot be empty, the number of iterations must be more than 0, the maxDuration must be at least 1s, but is 0s
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: at least one stage has to be specified
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: either startVUs or one of the stages' target values must be greater than 0
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the number of start VUs can't be negative, either startVUs or one of the stages' target values must be greater than 0, the duration for stage 1 can't be negative, the target for stage 1 can't be negative, stage 2 doesn't have a duration, stage 2 doesn't have a target
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the iteration rate isn't specified, the duration is unspecified, the number of preAllocatedVUs isn't specified
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the iteration rate must be more than 0, the timeUnit must be more than 0, the duration must be at least 1s, but is 500ms, maxVUs can't be less than preAllocatedVUs
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: the startRate value can't be negative, the timeUnit must be more than 0, the duration for stage 1 can't be negative, the target for stage 1 can't be negative, stage 2 doesn't have a duration, stage 2 doesn't have a target, the number of preAllocatedVUs can't be negative, maxVUs can't be less than preAllocatedVUs
    ");
    let more = [
        json!({"vus": 3, "iterations": 2}),
        json!({"iterations": -1}),
        json!({"vus": 0, "duration": "500ms"}),
        json!({"stages": [{"duration": "5s"}]}),
        json!({"setupTimeout": "0s"}),
        json!({"scenarios": {"b c": {"executor": "shared-iterations"}, "a": {"executor": "ramping-arrival-rate"}}}),
    ];
    insta::assert_snapshot!(refused(more.map(of_script)), @"
    104 There were problems with the specified script configuration:
    	- scenario default has configuration errors: the number of iterations (2) can't be less than the number of VUs (3)
    104 There were problems with the specified script configuration:
    	- scenario default has configuration errors: the number of iterations (-1) can't be less than the number of VUs (1)
    104 There were problems with the specified script configuration:
    	- scenario default has configuration errors: the number of VUs must be more than 0, the duration must be at least 1s, but is 500ms
    104 There were problems with the specified script configuration:
    	- scenario default has configuration errors: stage 1 doesn't have a target
    104 There were problems with the specified script configuration:
    	- setupTimeout must be positive
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: at least one stage has to be specified, the number of preAllocatedVUs isn't specified
    	- scenario b c has configuration errors: the scenario name should contain only numbers, latin letters, underscores, and dashes
    ");
}

#[test]
fn what_this_tool_cannot_offer_is_refused() {
    let scenarios = [
        json!({"executor": "constant-vus", "vus": 1_000_001, "duration": "31d"}),
        json!({"executor": "ramping-vus", "stages": [{"duration": "5s", "target": 2_000_000}]}),
        json!({"executor": "constant-arrival-rate", "rate": 20_000, "timeUnit": "1ms", "duration": "5s",
            "preAllocatedVUs": 0}),
    ];
    insta::assert_snapshot!(refused(scenarios.map(scenario)), @"
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: there can be 1000000 virtual users at most, nothing can last longer than 30 days
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: there can be 1000000 virtual users at most
    104 There were problems with the specified script configuration:
    	- scenario a has configuration errors: maxVUs must be more than 0, there can be 10000000 iterations a second at most
    ");
}

#[test]
fn two_descriptions_of_the_load_contradict_each_other() {
    let stages = json!([{"duration": "5s", "target": 10}]);
    let scenarios = json!({"a": {"executor": "shared-iterations"}});
    let options = [
        json!({"stages": stages, "duration": "3s"}),
        json!({"stages": stages, "iterations": 3}),
        json!({"scenarios": scenarios, "duration": "3s"}),
        json!({"scenarios": scenarios, "iterations": 3}),
        json!({"scenarios": scenarios, "stages": stages}),
        json!({"duration": 0}),
    ];
    insta::assert_snapshot!(refused(options.map(of_script)), @"
    104 using `duration` and `stages` options simultaneously is not allowed
    104 using `iterations` and `stages` options simultaneously is not allowed
    104 using `duration` and `scenarios` options simultaneously is not allowed
    104 using `iterations` and `scenarios` options simultaneously is not allowed
    104 using `stages` and `scenarios` options simultaneously is not allowed
    104 `duration` option should be more than 0
    ");
}

#[test]
fn flags_that_cannot_be_read_end_with_255_and_variables_with_104() {
    let none = Flags::default;
    let text = |text: &str| Some(text.to_owned());
    let flags = [
        Flags { duration: text("5"), ..none() },
        Flags { stages: vec!["x".into()], ..none() },
        Flags { stages: vec![":5".into()], ..none() },
        Flags { stages: vec!["5s:x".into()], ..none() },
        Flags { tags: vec!["a=".into()], ..none() },
        Flags { dns: text("ttl=1,select=x"), ..none() },
        Flags { dns: text("foo=1"), ..none() },
        Flags { blacklist_ips: vec!["1.2.3.4".into()], ..none() },
        Flags { summary_trend_stats: vec!["x".into()], ..none() },
        Flags { execution_segment: text("x"), ..none() },
    ];
    insta::assert_snapshot!(refused(flags.map(|flags| flags.layer())), @r#"
    255 `--duration` (flag): "5" is not a duration; write a number with a unit, such as "500ms", "10s", "1m30s"
    255 `--stage` (flag): "x" is not a duration; write a number with a unit, such as "500ms", "10s", "1m30s"
    255 `--stage` (flag): a stage has no duration; write DURATION:TARGET
    255 `--stage` (flag): must be a whole number, not "x"
    255 `--tag` (flag): "a=" is not a tag; write NAME=VALUE
    255 `--dns` (flag): select: must be one of "first", "random", "roundRobin", not "x"
    255 `--dns` (flag): there is no "foo"; it has ttl, select and policy
    255 `--blacklist-ip` (flag): "1.2.3.4" is not a network such as "10.0.0.0/8"
    255 `--summary-trend-stats` (flag): must be avg, min, med, max, count or p(N) with N from 0 to 100, not "x"
    255 `--execution-segment` (flag): "x" is not a share from 0 to 1, such as "1/3", "25%" or "0.25"
    "#);
    let names = ["=b", "1a=b"].map(|pair| Flags { env: vec![pair.into()], ..none() }.variables());
    insta::assert_snapshot!(refused(names), @r#"
    255 `--env` (flag): "" is not a name of a variable
    255 `--env` (flag): "1a" is not a name of a variable
    "#);
    let variables =
        [("K6_VUS", "x"), ("K6_DURATION", "x"), ("K6_STAGES", "x"), ("K6_NO_SETUP", "2"), ("K6_TAGS", "a=b")];
    let variables = variables.map(|variable| of_all(json!({}), none(), &[variable]));
    insta::assert_snapshot!(refused(variables), @r#"
    104 `K6_VUS` (variable): must be a whole number, not "x"
    104 `K6_DURATION` (variable): "x" is not a duration; write a number with a unit, such as "500ms", "10s", "1m30s"
    104 `K6_STAGES` (variable): "x" is not a duration; write a number with a unit, such as "500ms", "10s", "1m30s"
    104 `K6_NO_SETUP` (variable): must be true or false, not "2"
    104 `K6_TAGS` (variable): must be pairs such as "a:b,c:d", not "a=b"
    "#);
}

#[test]
fn the_configuration_file_must_be_an_object() {
    let texts = ["{\"vus\":", "[]", "{\"vus\": \"x\"}", r#"{"linger": 5}"#];
    insta::assert_snapshot!(refused(texts.map(Layer::of_config_file)), @r#"
    104 configuration file: EOF while parsing a value at line 1 column 7
    104 options (configuration file): must be an object, not []
    104 `vus` (configuration file): must be a whole number, not "x"
    104 `linger` (configuration file): must be true or false, not 5
    "#);
}

#[test]
fn functions_that_the_script_does_not_export_are_named() {
    let scenarios = json!({"scenarios": {
        "a": {"executor": "shared-iterations", "exec": "nope"},
        "b": {"executor": "shared-iterations"},
        "c": {"executor": "shared-iterations", "exec": "other"}
    }});
    let run = consolidate([Layer::of_script(&scenarios).unwrap()]).unwrap();
    assert_eq!(run.check_functions(|_| true), Ok(()));
    insta::assert_snapshot!(refused([run.check_functions(|name| name == "other")]), @"
    104 There were problems with the specified script configuration:
    	- executor a: function 'nope' not found in exports
    	- executor b: function 'default' not found in exports; write `export default function () { … }`
    ");
}

/// Values as options have them, and others.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..2_000i64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof![
            Just("constant-vus"),
            Just("ramping-vus"),
            Just("ramping-arrival-rate"),
            Just("5s"),
            Just("1d")
        ]
        .prop_map(Value::from),
        "[-0-9a-z.%:/,*{}<]{0,6}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        Just("executor"),
        Just("duration"),
        Just("target"),
        Just("stages"),
        Just("startTime"),
        Just("rate"),
        Just("timeUnit"),
        Just("preAllocatedVUs"),
        Just("startVUs"),
        Just("vus"),
        Just("threshold"),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let entries =
            proptest::collection::btree_map(keys.clone().prop_map(str::to_owned), inner.clone(), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_options_are_read_or_refused(key in 0..4usize, value in any_value()) {
        let options = match key {
            0 => json!({"scenarios": {"a": value}}),
            1 => json!({"stages": value}),
            2 => json!({"thresholds": {"http_reqs": value}, "dns": value, "hosts": value}),
            _ => json!({"duration": value, "executionSegment": value, "tlsVersion": value}),
        };
        if let Ok(run) = of_script(options) {
            prop_assert_eq!(run.header().len(), 1 + run.workload("any").scenarios.len());
        }
    }
}
