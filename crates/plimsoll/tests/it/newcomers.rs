//! What newcomers try: short addresses, familiar options, objectives without a plan. Where it cannot work, the message
//! says what to write.

use testbed::Behaviour;

use crate::command::TestFolder;

#[test]
fn a_port_alone_is_that_of_this_machine_for_every_command() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let port = format!(":{}/x", target.addr().port());
    for line in [vec![&port[..], "-n", "5", "-q"], vec!["http", &port, "-n", "5", "--quiet"]] {
        folder.plimsoll(&line).exits_with(0);
    }
    folder.plimsoll(&["new", &port]).exits_with(2);
    folder.plimsoll(&["new", &port, "--force"]).exits_with(0);
    assert!(folder.read("plan.toml").contains(&format!("url = \"http://{}\"", target.addr())));
    // Each run sends its request once before the load.
    assert_eq!(target.requests(), 12);
}

#[test]
fn an_ad_hoc_run_is_judged_by_the_objectives_it_is_asked() {
    let target = testbed::http(Behaviour::status(404)).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    let fixed = ["http", &url, "-n", "200", "-q", "--no-precheck"];
    let ask = |objective: &str| folder.plimsoll(&[&fixed[..], &["--ask", objective]].concat());
    ask("error_rate(all) < 1%").exits_with(3).stdout_contains(&["FAIL", "asked-1", "error_rate(all) < 1%"]);
    ask("error_rate(all) <= 100%").exits_with(3);
    let ok = testbed::http(Behaviour::ok()).unwrap();
    let url = format!("http://{}/x", ok.addr());
    let line =
        ["http", &url, "-n", "2k", "-q", "--ask", "error_rate(\"GET /x\") <= 0%", "--ask", "p50(all) < 20s"];
    folder.plimsoll(&line).exits_with(0).stdout_contains(&["PASS", "asked-2"]);
}

#[test]
fn what_is_wrong_with_an_objective_is_said_before_anything_is_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    for (objective, part) in
        [("p95 < 50ms", "p95"), ("p95(list) < 50ms", "list"), ("p95(all, phase = steady) < 50ms", "steady")]
    {
        let ran = folder.plimsoll(&["http", &url, "--ask", objective]);
        ran.exits_with(2).stderr_contains(&["--ask", part]);
    }
    assert_eq!(target.requests(), 0);
}

#[test]
fn options_that_mean_something_else_elsewhere_get_a_hint() {
    let folder = TestFolder::new("version = 1\n");
    for (line, parts) in [
        (vec!["http", "http://127.0.0.1:1/", "-q", "300"], vec!["`-q` is --quiet", "`-r 300`"]),
        (vec!["http://127.0.0.1:1/", "-q", "300/s"], vec!["`-r 300/s`"]),
        (vec!["plan.toml"], vec!["plimsoll run plan.toml"]),
        (vec!["run", "plan.toml", "-o", "json"], vec!["--json FILE"]),
        (vec!["http", "127.0.0.1:1", "-o", "json"], vec!["--json FILE"]),
    ] {
        folder.plimsoll(&line).exits_with(2).stderr_contains(&parts);
    }
}
