//! `run --once`: every exchange is shown, nothing secret with it, and nothing is recorded.

use testbed::{Behaviour, CannedResponse, Site};

use crate::command::{Place, closed};

#[test]
fn every_exchange_is_shown_and_nothing_recorded() {
    let site = Site::new()
        .at("/open", CannedResponse::new(201).json(&serde_json::json!({ "season": "spring" })).into())
        .otherwise(CannedResponse::new(200).body("welcome").into());
    let target = testbed::http(site).unwrap();
    let plan = closed(target.addr(), 1)
        + "[[scenarios.steps]]\nname = \"second\"\nget = \"${api.url}/y?season=${season}\"\n\
           [[setup]]\nname = \"open\"\npost = \"${api.url}/open\"\nextract = { season = \"$.season\" }\n";
    let place = Place::new(&plan);
    let ran = place.plimsoll(&["run", "plan.toml", "--once"]);
    ran.ended(0).says(&[
        "setup / open: ok",
        "> POST http://",
        "< 201",
        "spring",
        "load / get: ok",
        "> GET http://",
    ]);
    ran.says(&["/y?season=spring", "< 200", "content-type: text/plain", "welcome", "3 exchanges, 0 failed"]);
    let paths: Vec<_> = target.log().into_iter().map(|served| served.path).collect();
    assert_eq!(paths, ["/open", "/x", "/y"]);
    assert!(place.files(".plimsoll").is_empty());
}

#[test]
fn a_failed_step_is_shown_and_is_exit_3() {
    let target = testbed::http(Behaviour::from(CannedResponse::new(500).body("out of cheese"))).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    let ran = place.plimsoll(&["run", "plan.toml", "--once"]);
    ran.ended(3).says(&[
        "load / get: http_5xx",
        "status 500, expected 200 to 399",
        "out of cheese",
        "1 exchanges, 1 failed",
    ]);
}

#[test]
fn a_connection_that_breaks_is_an_exchange_too() {
    let target = testbed::http(Behaviour::reset()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    place.plimsoll(&["run", "plan.toml", "--once"]).ended(3).says(&["load / get: reset", "< no response"]);
}

#[test]
fn once_takes_no_output() {
    let place = Place::new(&closed(([127, 0, 0, 1], 1).into(), 1));
    place
        .plimsoll(&["run", "plan.toml", "--once", "-o", "x.plimsoll"])
        .ended(2)
        .complains(&["--once", "--output"]);
}
