use serde_json::json;

use super::{of_script, only};

#[test]
fn executors_of_virtual_users_are_described_as_in_k6() {
    let run = of_script(json!({"scenarios": {
        "cv": {"executor": "constant-vus", "vus": 1, "duration": "5s"},
        "cv2": {"executor": "constant-vus", "vus": 3, "duration": "90s", "gracefulStop": "0s", "startTime": "10s",
            "exec": "other", "tags": {"a": "b"}, "env": {"X": "y"}},
        "rv": {"executor": "ramping-vus", "stages": [{"duration": "5s", "target": 10}]},
        "rv2": {"executor": "ramping-vus", "startVUs": 5, "gracefulRampDown": "0s", "gracefulStop": "1m",
            "stages": [{"duration": "5s", "target": 10}, {"duration": "1h", "target": 0}], "startTime": "1500ms",
            "exec": "other"},
        "si": {"executor": "shared-iterations", "vus": 4, "iterations": 10},
        "si1": {"executor": "shared-iterations"},
        "pv": {"executor": "per-vu-iterations", "vus": 4, "iterations": 10, "maxDuration": "20s", "exec": "other",
            "startTime": "3s"},
        "pv1": {"executor": "per-vu-iterations", "gracefulStop": "0s"}
    }}));
    insta::assert_snapshot!(run.unwrap().header().join("\n"), @"
         scenarios: (100.00%) 8 scenarios, 34 max VUs, 1h0m6.5s max duration (incl. graceful stop):
                  * cv: 1 looping VUs for 5s (gracefulStop: 30s)
                  * pv1: 1 iterations for each of 1 VUs (maxDuration: 10m0s)
                  * rv: Up to 10 looping VUs for 5s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)
                  * si: 10 iterations shared among 4 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                  * si1: 1 iterations shared among 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)
                  * rv2: Up to 10 looping VUs for 1h0m5s over 2 stages (gracefulRampDown: 0s, exec: other, startTime: 1.5s, gracefulStop: 1m0s)
                  * pv: 10 iterations for each of 4 VUs (maxDuration: 20s, exec: other, startTime: 3s, gracefulStop: 30s)
                  * cv2: 3 looping VUs for 1m30s (exec: other, startTime: 10s)
    ");
}

#[test]
fn executors_of_arrival_rates_are_described_as_in_k6() {
    let run = of_script(json!({"scenarios": {
        "car": {"executor": "constant-arrival-rate", "rate": 10, "duration": "5s", "preAllocatedVUs": 2},
        "car2": {"executor": "constant-arrival-rate", "rate": 10, "timeUnit": "1m", "duration": "5s",
            "preAllocatedVUs": 2, "maxVUs": 7, "exec": "other", "startTime": "3s", "gracefulStop": "0s"},
        "car3": {"executor": "constant-arrival-rate", "rate": 1000, "timeUnit": "3s", "duration": "5s",
            "preAllocatedVUs": 0, "maxVUs": 1},
        "rar": {"executor": "ramping-arrival-rate", "preAllocatedVUs": 2, "stages": [{"target": 50, "duration": "5s"}]},
        "rar2": {"executor": "ramping-arrival-rate", "startRate": 20, "timeUnit": "1m", "preAllocatedVUs": 2,
            "maxVUs": 9, "stages": [{"target": 5, "duration": "5s"}, {"target": 5, "duration": "5s"}],
            "startTime": "2s", "gracefulStop": "5s", "exec": "other"},
        "rar3": {"executor": "ramping-arrival-rate", "startRate": 7, "timeUnit": "7ms", "preAllocatedVUs": 9,
            "stages": [{"target": 5, "duration": "5s"}, {"target": 3, "duration": "5s"}]}
    }}));
    insta::assert_snapshot!(run.unwrap().header().join("\n"), @"
         scenarios: (100.00%) 6 scenarios, 30 max VUs, 40s max duration (incl. graceful stop):
                  * car: 10.00 iterations/s for 5s (maxVUs: 2, gracefulStop: 30s)
                  * car3: 333.33 iterations/s for 5s (maxVUs: 0-1, gracefulStop: 30s)
                  * rar: Up to 50.00 iterations/s for 5s over 1 stages (maxVUs: 2, gracefulStop: 30s)
                  * rar3: Up to 1000.00 iterations/s for 10s over 2 stages (maxVUs: 9, gracefulStop: 30s)
                  * rar2: Up to 0.33 iterations/s for 10s over 2 stages (maxVUs: 2-9, exec: other, startTime: 2s, gracefulStop: 5s)
                  * car2: 0.17 iterations/s for 5s (maxVUs: 2-7, exec: other, startTime: 3s)
    ");
}

#[test]
fn options_of_one_load_become_a_scenario() {
    let cases = [
        (json!(null), "default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"),
        (json!({}), "default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"),
        (
            json!({"vus": 3}),
            "default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (json!({"vus": 10, "duration": "30s"}), "default: 10 looping VUs for 30s (gracefulStop: 30s)"),
        (json!({"VUS": 4, "Duration": "3s"}), "default: 4 looping VUs for 3s (gracefulStop: 30s)"),
        (json!({"duration": 5_000}), "default: 1 looping VUs for 5s (gracefulStop: 30s)"),
        (
            json!({"vus": "3", "iterations": 5, "duration": "5s"}),
            "default: 5 iterations shared among 3 VUs (maxDuration: 5s, gracefulStop: 30s)",
        ),
        (
            json!({"vus": 1.0, "iterations": 2}),
            "default: 2 iterations shared among 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"stages": [{"duration": "5s", "target": 10}], "vus": 12}),
            "default: Up to 12 looping VUs for 5s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
        (
            json!({"stages": [{"duration": "0s", "target": 5}, {"target": 7}]}),
            "default: Up to 5 looping VUs for 0s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
        (
            json!({"scenarios": {"a": {"Executor": "shared-iterations", "VUS": 2, "iterations": 4}}}),
            "a: 4 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"scenarios": {"a": {"executor": "shared-iterations", "exec": "default", "startTime": "0s"}}}),
            "a: 1 iterations shared among 1 VUs (maxDuration: 10m0s, exec: default, gracefulStop: 30s)",
        ),
    ];
    for (options, described) in cases {
        assert_eq!(only(of_script(options.clone())), described, "{options}");
    }
}

#[test]
fn the_most_virtual_users_and_the_longest_duration_are_those_of_k6() {
    let constant =
        |start: &str| json!({"executor": "constant-vus", "vus": 7, "duration": "5s", "startTime": start});
    let short =
        |grace: &str| json!({"executor": "constant-vus", "vus": 5, "duration": "5s", "gracefulStop": grace});
    let ramp = |down: &str, stop: &str, more: bool| {
        let mut stages =
            vec![json!({"target": 10, "duration": "5s"}), json!({"target": 0, "duration": "5s"})];
        stages.extend(more.then(|| json!({"target": 3, "duration": "5s"})));
        json!({"executor": "ramping-vus", "gracefulRampDown": down, "gracefulStop": stop, "stages": stages})
    };
    let peak = || {
        json!({"executor": "ramping-vus", "startVUs": 0, "gracefulRampDown": "0s", "gracefulStop": "0s", "stages": [
            {"duration": "5s", "target": 10}, {"duration": "0s", "target": 0}, {"duration": "3s", "target": 1}]})
    };
    let rate = json!({"executor": "constant-arrival-rate", "rate": 1, "preAllocatedVUs": 2, "maxVUs": 10,
        "duration": "5s", "gracefulStop": "0s"});
    let cases = [
        (json!({"a": short("0s"), "b": constant("5s")}), "2 scenarios, 7 max VUs, 40s max"),
        (json!({"a": short("1s"), "b": constant("5s")}), "2 scenarios, 12 max VUs, 40s max"),
        (json!({"a": ramp("0s", "0s", false), "b": constant("7s")}), "2 scenarios, 13 max VUs, 42s max"),
        (json!({"a": ramp("1s", "0s", false), "b": constant("7s")}), "2 scenarios, 15 max VUs, 42s max"),
        (json!({"a": ramp("30s", "1s", false), "b": constant("11s")}), "2 scenarios, 10 max VUs, 46s max"),
        (json!({"a": ramp("2s", "0s", true), "b": constant("11s")}), "2 scenarios, 10 max VUs, 46s max"),
        (json!({"a": rate, "b": constant("5s")}), "2 scenarios, 10 max VUs, 40s max"),
        // Of one instant, the changes of the first scenario come first.
        (json!({"a": short("0s"), "r": peak()}), "2 scenarios, 14 max VUs, 8s max"),
        (json!({"z": short("0s"), "r": peak()}), "2 scenarios, 15 max VUs, 8s max"),
        (json!({"a": constant("5s"), "r": peak()}), "2 scenarios, 10 max VUs, 40s max"),
        // No virtual user is left at the end of a ramp to 0, so its graceful stop takes no time.
        (json!({"a": ramp("0s", "30s", false)}), "1 scenario, 10 max VUs, 10s max"),
        (json!({"a": ramp("30s", "30s", true)}), "1 scenario, 10 max VUs, 45s max"),
    ];
    for (scenarios, expected) in cases {
        let header = of_script(json!({"scenarios": scenarios})).unwrap().header();
        let expected = format!("     scenarios: (100.00%) {expected} duration (incl. graceful stop):");
        assert_eq!(header[0], expected, "{scenarios}");
    }
}
