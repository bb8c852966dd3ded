use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{ConsolidatedOptions, Flags, Layer, Source, consolidate};
use super::{of_all, of_script, only};

fn flags(change: impl FnOnce(&mut Flags)) -> Flags {
    let mut flags = Flags::default();
    change(&mut flags);
    flags
}

fn with_file(file: &str, script: Value) -> ConsolidatedOptions {
    consolidate([Layer::of_script(&script).unwrap(), Layer::of_config_file(file).unwrap()]).unwrap()
}

#[test]
fn a_load_of_a_flag_replaces_that_of_the_script() {
    let five_seconds = || flags(|f| f.duration = Some("5s".into()));
    let scenarios = json!({"scenarios": {"a": {"executor": "constant-vus", "duration": "9s"}}});
    let cases = [
        (json!({}), five_seconds(), "default: 1 looping VUs for 5s (gracefulStop: 30s)"),
        (
            json!({"iterations": 5, "vus": 2}),
            five_seconds(),
            "default: 2 looping VUs for 5s (gracefulStop: 30s)",
        ),
        (
            json!({"stages": [{"duration": "5s", "target": 10}]}),
            five_seconds(),
            "default: 1 looping VUs for 5s (gracefulStop: 30s)",
        ),
        (scenarios.clone(), five_seconds(), "default: 1 looping VUs for 5s (gracefulStop: 30s)"),
        (scenarios, flags(|f| f.vus = Some(5)), "a: 1 looping VUs for 9s (gracefulStop: 30s)"),
        (
            json!({"duration": "5s", "vus": 2}),
            flags(|f| f.iterations = Some(9)),
            "default: 9 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"iterations": 5, "vus": 2}),
            flags(|f| f.stages = vec!["5s:3".into(), "4s:9".into()]),
            "default: Up to 9 looping VUs for 9s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
        (
            json!({"duration": "3s"}),
            flags(|f| f.stages = vec![String::new()]),
            "default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
    ];
    for (script, flags, described) in cases {
        assert_eq!(only(of_all(script.clone(), flags, &[])), described, "{script}");
    }
}

#[test]
fn variables_are_above_the_script_and_below_flags() {
    let vus = |script, flags, variables| of_all(script, flags, variables).unwrap().options.vus;
    let four = flags(|f| f.vus = Some(4));
    assert_eq!(vus(json!({"vus": 2}), four, &[("K6_VUS", "3")]), Some(4));
    assert_eq!(vus(json!({"vus": 2}), Flags::default(), &[("K6_VUS", "3")]), Some(3));
    assert_eq!(vus(json!({"vus": 2}), Flags::default(), &[("K6_VUS", "")]), Some(2));
    let none = Flags::default;
    let described =
        "default: Up to 3 looping VUs for 9s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)";
    assert_eq!(only(of_all(json!({"duration": "3s"}), none(), &[("K6_STAGES", "4s:3,5s:2")])), described);
    let described = "default: 1 looping VUs for 4s (gracefulStop: 30s)";
    assert_eq!(only(of_all(json!({"iterations": 20}), none(), &[("K6_DURATION", "4000")])), described);
}

#[test]
fn the_script_is_above_the_configuration_file() {
    let file =
        r#"{"vus": 3, "duration": "5s", "noUsageReport": true, "linger": false, "foo": 1, "collectors": {}}"#;
    let described = |script| {
        let run = with_file(file, script);
        assert_eq!(run.notes, [""; 0]);
        only(Ok(run))
    };
    assert_eq!(described(json!({})), "default: 3 looping VUs for 5s (gracefulStop: 30s)");
    assert_eq!(described(json!({"vus": 7})), "default: 7 looping VUs for 5s (gracefulStop: 30s)");
    let shared = "default: 9 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)";
    assert_eq!(described(json!({"iterations": 9})), shared);
}

#[test]
fn an_option_is_replaced_as_a_whole_and_dns_by_its_parts() {
    let file = r#"{"tags": {"a": "b"}, "dns": {"ttl": "1s", "policy": "any"}, "hosts": {"a": "1.1.1.1"},
        "blockHostnames": ["a.com"], "thresholds": {"http_reqs": ["count>0"]}}"#;
    let script = json!({"tags": {"c": "d"}, "dns": {"policy": "onlyIPv4"}, "hosts": {}, "thresholds": {}});
    let options = with_file(file, script).options;
    assert_eq!(options.tags, Some([("c".to_owned(), "d".to_owned())].into()));
    assert_eq!(options.hosts.unwrap().iter().count(), 0);
    assert_eq!(options.thresholds, Some([].into()));
    assert_eq!(options.block_hostnames.unwrap().len(), 1);
    let dns = options.dns.unwrap();
    assert_eq!(
        format!("{:?} {:?} {:?}", dns.ttl, dns.select, dns.policy),
        "Some(For(1s)) None Some(OnlyIpv4)"
    );
}

#[test]
fn what_has_no_effect_is_noted() {
    let notes = |script, flags| of_all(script, flags, &[]).unwrap().notes;
    let scenarios = json!({"scenarios": {"a": {"executor": "shared-iterations"}}});
    let duration = flags(|f| f.duration = Some("5s".into()));
    let overrode = "\"cli\" level configuration overrode scenarios configuration entirely";
    assert_eq!(notes(scenarios, duration), [overrode]);
    let ignored = "`vus=3` option will be ignored, it only works in conjunction with `iterations`, `duration`, or `stages`";
    assert_eq!(notes(json!({"vus": 3}), Flags::default()), [ignored]);
    let empty = |option: &str| {
        vec![format!(
            "`{option}` was explicitly set to an empty value, running the script with 1 iteration in 1 VU"
        )]
    };
    assert_eq!(notes(json!({"stages": []}), Flags::default()), empty("stages"));
    assert_eq!(notes(json!({"stages": [{"target": 5}]}), Flags::default()), empty("stages"));
    assert_eq!(notes(json!({"scenarios": {}}), Flags::default()), empty("scenarios"));
    let unknown = |option: &str| vec![format!("There is no option `{option}`; it has no effect")];
    for option in ["foo", "linger", "localIPs", "noThresholds"] {
        assert_eq!(notes(json!({option: true}), Flags::default()), unknown(option));
    }
    let misspelt = json!({"stages": [{"duraton": "1m", "target": 5}, {"Duration": "1m", "target": 5}]});
    let of_stage =
        "`stages[0]` has no option `duraton`; it has no effect: a stage has `duration` and `target`";
    assert_eq!(notes(misspelt, Flags::default()), [of_stage]);
    let ramp = json!({"executor": "ramping-vus", "stages": [{"duration": "1m", "target": 5, "rate": 1}]});
    let of_scenario =
        "`scenarios.a.stages[0]` has no option `rate`; it has no effect: a stage has `duration` and `target`";
    assert_eq!(notes(json!({"scenarios": {"a": ramp}}), Flags::default()), [of_scenario]);
    let threshold = json!({"threshold": "rate<0.1", "abortOnFial": true, "delayAbortEval": "10"});
    let of_threshold = [
        "`thresholds.http_req_failed[0]` has no option `abortOnFial`; it has no effect: a threshold has `threshold`, `abortOnFail` \
         and `delayAbortEval`",
        "`thresholds.http_req_failed[0].delayAbortEval` is 10 ms, since `10` has no unit; did you mean `10s`?",
    ];
    let thresholds = json!({"thresholds": {"http_req_failed": ["rate<0.5", threshold]}});
    assert_eq!(notes(thresholds, Flags::default()), of_threshold.map(|note| note.replace("[0]", "[1]")));
    let unsupported =
        json!({"httpDebug": "full", "paused": true, "ext": {"x": {}}, "cloud": {"projectID": 1}});
    assert_eq!(
        notes(unsupported, flags(|f| f.stay_after_run = Some(true))),
        [
            "`httpDebug` has no effect: failed requests are kept in the run file",
            "`paused` has no effect: the load begins at once",
            "`linger` has no effect: the command ends with the run"
        ]
    );
}

/// A layer with some of the options that describe a load.
fn layers() -> impl Strategy<Value = Value> {
    let load = prop_oneof![
        Just(json!({})),
        (1..9u32).prop_map(|s| json!({"duration": format!("{s}s")})),
        (50..99u32).prop_map(|n| json!({"iterations": n})),
        (1..9u32).prop_map(|s| json!({"stages": [{"duration": format!("{s}s"), "target": 5}]})),
        (1..9u32)
            .prop_map(|n| json!({"scenarios": {"s": {"executor": "per-vu-iterations", "iterations": n}}})),
    ];
    (load, proptest::option::of(1..9u32)).prop_map(|(mut load, vus)| {
        if let Some(vus) = vus {
            load["vus"] = json!(vus);
        }
        load
    })
}

proptest! {
    /// The highest layer with a load decides which it is, the highest with a number of virtual users how many.
    #[test]
    fn the_highest_layer_decides(values in proptest::collection::vec(layers(), 3)) {
        let sources = [Source::ConfigFile, Source::Script, Source::Environment];
        let layer = |(value, source): (&Value, &Source)| {
            let options = Layer::of_script(value).unwrap().options;
            Layer { source: *source, options, notes: Vec::new() }
        };
        // The order in which layers are passed makes no difference.
        let run = consolidate(values.iter().zip(&sources).map(layer).rev()).unwrap();
        let loads = ["duration", "iterations", "stages", "scenarios"];
        let highest = |keys: &[&str]| {
            values.iter().rev().find(|value| keys.iter().any(|key| value.get(key).is_some())).cloned()
        };
        let mut expected = json!({});
        for (keys, found) in [(&loads[..], highest(&loads)), (&["vus"], highest(&["vus"]))] {
            for (key, value) in found.iter().flat_map(|found| found.as_object().unwrap()) {
                if keys.contains(&key.as_str()) {
                    expected[key.as_str()] = value.clone();
                }
            }
        }
        prop_assert_eq!(run.header(), of_script(expected).unwrap().header());
    }
}

#[test]
fn selected_scenarios_run_alone_without_the_thresholds_of_the_others() {
    let options = || {
        of_script(json!({
            "scenarios": {
                "api": {"executor": "constant-vus", "duration": "9s"},
                "ui": {"executor": "constant-vus", "duration": "5s", "exec": "ui"},
                "web": {"executor": "constant-vus", "duration": "7s"},
            },
            "thresholds": {
                "checks": ["rate>0.9"],
                "http_req_duration{scenario:api}": ["p(95)<100"],
                "http_req_duration{scenario:ui}": ["p(95)<100"],
            },
        }))
        .unwrap()
    };
    let selected =
        |names: &[&str]| options().only(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let two = selected(&["api, web"]).unwrap();
    let names: Vec<_> = two.offered.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names, ["api", "web"]);
    let thresholds: Vec<_> = two.options.thresholds.iter().flatten().map(|(name, _)| name.as_str()).collect();
    assert_eq!(thresholds, ["checks", "http_req_duration{scenario:api}"]);
    assert_eq!(
        two.notes,
        ["the threshold `http_req_duration{scenario:ui}` is not judged: its scenario does not run"]
    );
    assert_eq!(selected(&["ui", "api"]).unwrap().scenarios.len(), 2);
    assert_eq!(selected(&[]).unwrap(), options());
    let error = selected(&["ui,apo"]).unwrap_err();
    assert_eq!(error.exit_code(), 104);
    assert!(
        error.to_string().ends_with("\n\t- there is no scenario \"apo\"; there are api, ui, web"),
        "{error}"
    );
}
