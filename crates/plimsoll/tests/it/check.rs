//! `plimsoll check`: how many requests each objective will have, and how many it needs.

use crate::command::TestFolder;

const PLAN: &str = r#"version = 1

[targets.web]
url = "http://127.0.0.1:8000"

[[phases]]
name = "ramp"
duration = "10s"

[[phases]]
name = "steady"
duration = "1m"

[[scenarios]]
name = "shop"
executor = "ramping-arrival-rate"
stages = [{ to = "20/s", over = "10s" }, { to = "20/s", over = "1m" }]

[[scenarios.steps]]
name = "list"
weight = 3
get = "${web.url}/list"

[[scenarios.steps]]
name = "buy"
weight = 1
post = "${web.url}/buy"

[objectives]
fast = "p95(list, phase = steady) < 50ms"
tail = "p99(list, phase = steady) < 200ms"
buy_tail = "p99.9(buy, phase = steady) < 1s"
rate = "throughput(all, phase = steady) >= 19/s"
"#;

#[test]
fn each_objective_has_its_requests_and_what_it_needs() {
    let ran = TestFolder::new(PLAN).plimsoll(&["check", "plan.toml"]);
    ran.exits_with(0);
    let (_, objectives) = ran.stdout.split_once("\n\nThe load takes ").unwrap();
    insta::assert_snapshot!(objectives, @r"
    1 min 10 s.

    objectives, with the requests that they will have by the schedule:
      fast      900, needs 590: 40 s at this rate
      tail      900, needs 2,990: 3 min 20 s at this rate
      buy_tail  300, needs 29,950: 1 h 39 min 50 s at this rate
      rate      1,200

    warning: `tail` may stay undecided: it has 900 requests, and needs 2,990 with none beyond its bound, because requests cluster and ten count as one until the run shows otherwise; plan 3 min 20 s at this rate, or a higher rate

    warning: `buy_tail` cannot be shown by 300 requests: 2,995 are needed even if none is beyond its bound and each is independent, 29,950 if they cluster; plan 1 h 39 min 50 s at this rate, or a higher rate
    ");
}
