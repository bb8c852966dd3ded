//! `run --once`: every exchange is shown, nothing secret with it, and nothing is recorded.

use testbed::{Behaviour, CannedResponse, Site};

use crate::command::{TestFolder, closed};

#[test]
fn every_exchange_is_shown_and_nothing_is_recorded() {
    let site = Site::new()
        .at("/open", CannedResponse::new(201).json(&serde_json::json!({ "season": "spring" })).into())
        .otherwise(CannedResponse::new(200).body("welcome").into());
    let target = testbed::http(site).unwrap();
    let plan = closed(target.addr(), 1)
        + "[[scenarios.steps]]\nname = \"second\"\nget = \"${api.url}/y?season=${season}\"\n\
           [[setup]]\nname = \"open\"\npost = \"${api.url}/open\"\nextract = { season = \"$.season\" }\n";
    let folder = TestFolder::new(&plan);
    let ran = folder.plimsoll(&["run", "plan.toml", "--once"]);
    ran.exits_with(0).stdout_contains(&[
        "setup / open: ok",
        "> POST http://",
        "< 201",
        "spring",
        "load / get: ok",
        "> GET http://",
    ]);
    ran.stdout_contains(&[
        "/y?season=spring",
        "< 200",
        "content-type: text/plain",
        "welcome",
        "3 exchanges, 0 failed",
    ]);
    let paths: Vec<_> = target.log().into_iter().map(|served| served.path).collect();
    assert_eq!(paths, ["/open", "/x", "/y"]);
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn a_failed_step_is_shown_and_is_exit_3() {
    let target = testbed::http(Behaviour::from(CannedResponse::new(500).body("out of cheese"))).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&["run", "plan.toml", "--once"]);
    ran.exits_with(3).stdout_contains(&[
        "load / get: http_5xx",
        "status 500, expected 200 to 399",
        "out of cheese",
        "1 exchange, 1 failed",
    ]);
    folder.write("strict.toml", closed(target.addr(), 1) + "expect = { status = [200, 204] }\n");
    let ran = folder.plimsoll(&["run", "strict.toml", "--once"]);
    ran.exits_with(3).stdout_contains(&["status 500, expected 200 or 204"]);
}

#[test]
fn a_connection_that_breaks_is_an_exchange_too() {
    let target = testbed::http(Behaviour::reset()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    folder
        .plimsoll(&["run", "plan.toml", "--once"])
        .exits_with(3)
        .stdout_contains(&["load / get: reset", "< no response"]);
}

#[test]
fn once_takes_no_output() {
    let folder = TestFolder::new(&closed(([127, 0, 0, 1], 1).into(), 1));
    folder
        .plimsoll(&["run", "plan.toml", "--once", "-o", "x.plimsoll"])
        .exits_with(2)
        .stderr_contains(&["--once", "--output"]);
}
