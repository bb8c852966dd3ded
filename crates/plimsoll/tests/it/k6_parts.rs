//! Several instances of one k6 script: each offers its part of the load. What is expected was recorded from k6 v1.8.1.

use serde_json::{Value, json};
use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder};

/// Run a part of a scenario; returns its iterations in the whole test, in order, and the virtual users that made them.
fn run(scenario: &Value, part: &str, all: &str) -> (CommandOutput, Vec<u64>, Vec<u64>) {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let options = json!({ "scenarios": { "a": scenario } });
    folder.write(
        "script.js",
        format!(
            "import http from 'k6/http'; import exec from 'k6/execution'; export const options = {options};
            export default function () {{
                http.get(`${{__ENV.BASE}}/${{exec.scenario.iterationInTest}}`, {{ headers: {{ user: String(exec.vu.idInTest) }} }});
            }}"
        ),
    );
    let base = format!("BASE=http://{}", target.addr());
    let fixed = ["run", "script.js", "-e", &base, "--evidence", "run.plimsoll", "--quiet"];
    let parts = ["--execution-segment", part, "--execution-segment-sequence", all];
    let ran = folder.plimsoll(&[&fixed[..], &parts].concat());
    let log = target.log();
    let mut iterations: Vec<u64> = log.iter().map(|served| served.path[1..].parse().unwrap()).collect();
    let mut users: Vec<u64> =
        log.iter().map(|served| served.header("user").unwrap().parse().unwrap()).collect();
    iterations.sort_unstable();
    users.sort_unstable();
    users.dedup();
    (ran, iterations, users)
}

#[test]
fn parts_have_the_iterations_and_virtual_users_that_k6_gives_them() {
    let shared = json!({ "executor": "shared-iterations", "vus": 13, "iterations": 27 });
    let all = "0,1/4,3/5,1";
    let part = |part: &str| run(&shared, part, all).1;
    assert_eq!(part("0:1/4"), [2, 5, 10, 15, 18, 23]);
    assert_eq!(part("1/4:3/5"), [0, 3, 6, 8, 11, 13, 16, 19, 21, 24, 26]);
    assert_eq!(part("3/5:1"), [1, 4, 7, 9, 12, 14, 17, 20, 22, 25]);

    let each = json!({ "executor": "per-vu-iterations", "vus": 5, "iterations": 2 });
    let (_, iterations, users) = run(&each, "0:1/4", "0,1/4,1/2,3/4,1");
    assert_eq!((iterations.len(), users), (4, vec![1, 5]));

    let arrivals =
        json!({ "executor": "constant-arrival-rate", "rate": 10, "duration": "1s", "preAllocatedVUs": 8 });
    let part = |part: &str| run(&arrivals, part, "0,1/4,1/2,3/4,1").1;
    assert_eq!(part("0:1/4"), [0, 4, 8]);
    assert_eq!(part("3/4:1"), [3, 7]);
}

#[test]
fn a_part_without_virtual_users_is_refused() {
    let one = json!({ "executor": "per-vu-iterations", "vus": 1, "iterations": 2 });
    let (ran, iterations, _) = run(&one, "1/2:1", "0,1/2,1");
    ran.exits_with(104)
        .stderr_contains(&["this executionSegment is not supported: no virtual user belongs to it"]);
    assert!(iterations.is_empty());
}
