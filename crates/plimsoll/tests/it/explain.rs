//! `explain`, and the help of each verb.

use crate::command::Place;

#[test]
fn rules_are_listed_and_explained_by_id_and_by_title() {
    let place = Place::new("");
    let list = place.plimsoll(&["explain"]);
    list.ended(0).says(&["L1   offered-load-not-reached", "S4   too-few-tail-samples", "M6"]);
    let by_id = place.plimsoll(&["explain", "L1"]);
    by_id.ended(0).says(&["offered-load-not-reached", "What it tests", "Why it matters", "What to do"]);
    for name in ["l1", "offered-load-not-reached"] {
        assert_eq!(place.plimsoll(&["explain", name]).ended(0).stdout, by_id.stdout);
    }
}

#[test]
fn an_unknown_rule_is_refused_with_the_nearest() {
    let place = Place::new("");
    let near = place.plimsoll(&["explain", "offered-load-reached"]);
    near.ended(2)
        .complains(&["there is no rule `offered-load-reached`; did you mean L1 offered-load-not-reached?"]);
    let far = place.plimsoll(&["explain", "xyzzy"]);
    far.ended(2).complains(&["there is no rule `xyzzy`; `plimsoll explain` lists them all"]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let place = Place::new("");
    let codes = ["Exit codes:", "0  PASS", "3  FAIL", "4  INCONCLUSIVE", "5  INVALID"];
    place.plimsoll(&["--help"]).ended(0).says(&codes).says(&["run", "check", "report", "explain"]);
    let run = place.plimsoll(&["run", "--help"]);
    run.ended(0).says(&codes).says(&[
        "Examples:",
        "plimsoll run plan.toml --once",
        "--time-scale",
        "--target",
    ]);
    for verb in ["check", "report", "explain"] {
        place.plimsoll(&[verb, "--help"]).ended(0).says(&["Examples:", "Usage: plimsoll", verb]);
    }
    place.plimsoll(&["report", "--help"]).says(&codes);
    place.plimsoll(&["--version"]).ended(0).says(&["plimsoll 0."]);
}

#[test]
fn wrong_usage_is_exit_2_with_a_suggestion() {
    let place = Place::new("");
    place.plimsoll(&[]).ended(2).complains(&["Usage: plimsoll"]);
    place.plimsoll(&["runn", "plan.toml"]).ended(2).complains(&["'run'"]);
    place.plimsoll(&["run", "plan.toml", "--tim-scale", "2"]).ended(2).complains(&["'--time-scale'"]);
    place.plimsoll(&["run"]).ended(2).complains(&["<PLAN>"]);
}
