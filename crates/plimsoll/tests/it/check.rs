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
      fast      900, needs at least 177: 12 s at this rate
      tail      900, needs at least 897: 1 min at this rate
      buy_tail  300, needs at least 8,985: 29 min 57 s at this rate
      rate      1,200

    warning: `buy_tail` cannot pass: it gets 300 requests, and a pass needs at least 8,985, even if none misses its bound; plan 29 min 57 s at this rate, or a higher rate

    note: `tail` gets 900 requests and needs 897 if none misses its bound; a few that do, or a pause of the machine, leave it undecided: plan twice as many
    ");
}

/// [`PLAN`] with other objectives, as `check` prints them.
fn objectives(objectives: &str) -> String {
    let (load, _) = PLAN.split_once("[objectives]").unwrap();
    let ran = TestFolder::new(&format!("{load}[objectives]\n{objectives}")).plimsoll(&["check", "plan.toml"]);
    ran.exits_with(0);
    let (_, printed) = ran.stdout.split_once("by the schedule:\n").unwrap();
    printed.to_owned()
}

#[test]
fn every_kind_of_objective_has_what_it_needs() {
    let printed = objectives(
        r#"times = "p95(list) < 50ms"
service = "service_p99(buy, phase = steady) < 50ms"
whole = "iteration_p95(all, phase = ramp) < 50ms"
errors = "error_rate(phase = steady) < 1%"
no_errors = "error_rate(phase = steady) <= 0%"
good = "goodput(phase = steady, within = 50ms) >= 19/s"
good_lists = "goodput(list, phase = steady) > 14.9/s"
too_good = "goodput(phase = steady) >= 25/s"
rate = "throughput(buy, phase = steady) > 6/s"
checks = "check_rate(all, check = status) > 99%"
mean = "avg(list) < 20ms"
cpu = "mean(cpu, target = web) < 0.5"
"#,
    );
    insta::assert_snapshot!(printed, @r"
      times       975, needs at least 177: 13 s at this rate
      service     300, needs at least 897: 3 min at this rate
      whole       100, needs at least 177: 18 s at this rate
      errors      1,200, needs at least 2,990: 2 min 30 s at this rate
      no_errors   1,200, none of which may be beyond its bound
      good        1,200
      good_lists  900
      too_good    1,200
      rate        300
      checks      1,300, needs at least 2,990: 2 min 41 s at this rate
      mean        975
      cpu         not about requests

    warning: `service` cannot pass: it gets 300 requests, and a pass needs at least 897, even if none misses its bound; plan 3 min at this rate, or a higher rate

    warning: `whole` cannot pass: it gets 100 requests, and a pass needs at least 177, even if none misses its bound; plan 20 s at this rate, or a higher rate

    warning: `errors` cannot pass: it gets 1,200 requests, and a pass needs at least 2,990, even if none misses its bound; plan 2 min 30 s at this rate, or a higher rate

    warning: `checks` cannot pass: it gets 1,300 requests, and a pass needs at least 2,990, even if none misses its bound; plan 2 min 41 s at this rate, or a higher rate

    warning: `too_good` cannot be met: it asks for more completions a second than the 20.00/s that the plan offers

    warning: `rate` cannot be met: it asks for more completions a second than the 5.000/s that the plan offers
    ");
}

#[test]
fn a_vu_limit_that_only_short_iterations_keep_is_warned_of() {
    let plan = PLAN.replacen("executor = ", "max_vus = 4\nexecutor = ", 1);
    let warning = "warning: `shop`: 4 virtual users offer 20 iterations a second only while an iteration takes less than 200 ms on \
                   average; what is due beyond that is dropped (`max_vus`)";
    let check = ["check", "plan.toml"];
    TestFolder::new(&plan).plimsoll(&check).exits_with(0).stdout_contains(&[warning]);
    let enough = TestFolder::new(&plan.replace("max_vus = 4", "max_vus = 20"));
    assert!(!enough.plimsoll(&check).exits_with(0).stdout.contains("max_vus"));
}

#[test]
fn of_virtual_users_the_number_is_unknown_and_what_is_needed_is_not() {
    let plan = PLAN
        .replace("executor = \"ramping-arrival-rate\"\nstages = [{ to = \"20/s\", over = \"10s\" }, { to = \"20/s\", over = \"1m\" }]", "executor = \"constant-vus\"\nvus = 2\nduration = \"1m\"")
        .replace("[objectives]", "[objectives]\nmean = \"avg(list) < 20ms\"\ngood = \"goodput(list) > 1/s\"");
    let ran = TestFolder::new(&plan).plimsoll(&["check", "plan.toml"]);
    let (_, printed) = ran.exits_with(0).stdout.split_once("by the schedule:\n").unwrap();
    insta::assert_snapshot!(printed, @r"
      mean      as many as virtual users, the target's speed or a data file make
      good      as many as virtual users, the target's speed or a data file make
      fast      as many as virtual users, the target's speed or a data file make, needs at least 177
      tail      as many as virtual users, the target's speed or a data file make, needs at least 897
      buy_tail  as many as virtual users, the target's speed or a data file make, needs at least 8,985
      rate      as many as virtual users, the target's speed or a data file make

    warning: `good` will have no valid result: `shop` is a closed model, in which virtual users and the target's own speed set the rate; use an arrival-rate executor (`-r` of a command), or state the objective on times or failures

    warning: `rate` will have no valid result: `shop` is a closed model, in which virtual users and the target's own speed set the rate; use an arrival-rate executor (`-r` of a command), or state the objective on times or failures
    ");
}

const SCRIPT: &str = "
import http from 'k6/http';
import { group } from 'k6';
export const options = {
  scenarios: {
    browse: { executor: 'constant-arrival-rate', rate: 40, duration: '15s', preAllocatedVUs: 4, maxVUs: 4 },
  },
  thresholds: {
    'http_req_duration{group:getData}': ['p(95)<150', 'p(99)<300'],
    'http_req_failed{scenario:brows}': ['rate<0.2'],
    checks: [{ threshold: 'rate<=1', abortOnFail: true }],
  },
};
export default function () { group('getData', () => http.get(`${__ENV.BASE}/`)); }
export function handleSummary(data) { return { stdout: `${data.metrics.http_req_duration.values['p(99)']}` }; }
";

/// Nothing listens at the address, so that a request would fail.
#[test]
fn a_script_is_checked_without_calling_it() {
    let folder = TestFolder::new("");
    folder.write("shop.js", SCRIPT);
    let checked = folder.plimsoll(&["check", "shop.js", "-e", "BASE=http://127.0.0.1:1"]);
    checked.exits_with(0);
    assert!(checked.stderr.is_empty(), "{}", checked.stderr);
    let (offer, rest) = checked
        .stdout
        .split_once("\nthresholds, with the values that a PASS needs if none is beyond its bound:\n")
        .unwrap();
    assert!(offer.contains("* browse: 40.00 iterations/s for 15s (maxVUs: 4, gracefulStop: 30s)"), "{offer}");
    insta::assert_snapshot!(rest, @r"
      checks                            rate<=1, ends the run if it fails
      http_req_duration{group:getData}  p(95)<150, needs at least 236; 600 iterations begin
      http_req_duration{group:getData}  p(99)<300, needs at least 1,196; 600 iterations begin
      http_req_failed{scenario:brows}   rate<0.2, needs at least 140

    warning: `http_req_duration{group:getData} p(99)<300` cannot pass unless an iteration makes 2 values or more: 600 iterations begin, and a pass needs at least 1,196 values, even if none misses its bound; plan a longer run or more iterations

    warning: threshold `checks`: `rate<=1` always holds: a rate is a share from 0 to 1

    warning: threshold `http_req_duration{group:getData}` has no values: no group is called `getData`; did you mean `::getData`?

    warning: threshold `http_req_failed{scenario:brows}` has no values: no scenario is called `brows`; did you mean `browse`?

    warning: the script reads `p(99)` of its summary, which has avg, min, med, max, p(90), p(95) only: add it to `summaryTrendStats`

    warning: `browse`: 4 virtual users offer 40 iterations a second only while an iteration takes less than 100 ms on average; what is due beyond that is dropped (`maxVUs`)
    ");
    assert!(folder.files(".plimsoll").is_empty(), "nothing was run");
}

#[test]
fn a_script_runs_once_instead_of_its_load() {
    let folder = TestFolder::new("");
    folder.write(
        "count.js",
        "export const options = { vus: 5, duration: '1h', thresholds: { iterations: ['count>100'] } };
        export default function () {}",
    );
    let ran = folder.plimsoll(&["run", "count.js", "--once", "--quiet", "--json", "run.json"]);
    ran.exits_with(0)
        .stderr_contains(&["--once: 0 exchanges, 0 failed\n"])
        .stderr_contains(&["--once: one iteration proves nothing, so no threshold is judged\n"]);
    assert!(folder.files(".plimsoll").is_empty(), "no run file is kept");
    assert_eq!(folder.json("run.json")["beside_k6"]["ended"]["done"], 1);
    folder.plimsoll(&["run", "count.js", "--once", "-u", "2"]).exits_with(255).stderr_contains(&["--once"]);
}

/// A login has the row of its virtual user, a step that of its iteration.
#[test]
fn a_step_that_takes_another_row_than_the_login_is_warned_of() {
    let checked = |url: &str| {
        let plan = format!(
            r#"version = 1
[targets.web]
url = "http://127.0.0.1:8000"
[data.users]
generate = "user-{{1..10}}"
[[login.user]]
name = "log in"
post = "${{web.url}}/login"
json = {{ user = "${{users.id}}" }}
extract = {{ token = "$.token", user = "$.user" }}
[[scenarios]]
name = "visit"
login = "user"
executor = "constant-arrival-rate"
rate = "10/s"
duration = "10s"
[[scenarios.steps]]
name = "order"
get = "{url}"
headers = {{ authorization = "${{token}}" }}
"#
        );
        let ran = TestFolder::new(&plan).plimsoll(&["check", "plan.toml"]);
        ran.exits_with(0);
        ran.stdout.clone()
    };
    let warned = checked("${web.url}/orders?user=${users.id}");
    let warning = "warning: in `visit`, `log in` is sent once for each virtual user, with a row of `users` of its own, and `order` has";
    assert!(warned.contains(warning), "{warned}");
    let extracted = checked("${web.url}/orders?user=${user}");
    assert!(!extracted.contains("warning: in"), "{extracted}");
}
