//! `explain`, and the help of each verb.

use crate::command::TestFolder;

#[test]
fn rules_are_listed_and_explained_by_id_and_by_title() {
    let folder = TestFolder::new("");
    let list = folder.plimsoll(&["explain"]);
    list.exits_with(0).stdout_contains(&[
        "L1   offered-load-not-reached\n     ",
        "S4   too-few-tail-samples",
        "M6",
    ]);
    assert_eq!(folder.plimsoll(&["help", "rules"]).exits_with(0).stdout, list.stdout);
    let by_id = folder.plimsoll(&["explain", "L1"]);
    by_id.exits_with(0).stdout_contains(&[
        "offered-load-not-reached",
        "What it tests",
        "Why it matters",
        "What to do",
    ]);
    for name in ["l1", "offered-load-not-reached"] {
        assert_eq!(folder.plimsoll(&["explain", name]).exits_with(0).stdout, by_id.stdout);
    }
}

#[test]
fn an_unknown_rule_is_refused_with_the_nearest_name() {
    let folder = TestFolder::new("");
    let near = folder.plimsoll(&["explain", "offered-load-reached"]);
    near.exits_with(2).stderr_contains(&[
        "there is no rule `offered-load-reached`; did you mean L1 offered-load-not-reached?",
    ]);
    let far = folder.plimsoll(&["explain", "xyzzy"]);
    far.exits_with(2).stderr_contains(&["there is no rule `xyzzy`; `plimsoll explain` lists them all"]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let folder = TestFolder::new("");
    let codes = ["Exit codes:", "0  PASS", "3  FAIL", "4  INCONCLUSIVE", "5  INVALID"];
    folder
        .plimsoll(&["--help"])
        .exits_with(0)
        .stdout_contains(&codes)
        .stdout_contains(&["run", "check", "report", "explain"]);
    let run = folder.plimsoll(&["run", "--help"]);
    run.exits_with(0).stdout_contains(&codes).stdout_contains(&[
        "Examples:",
        "plimsoll run plan.toml --once",
        "--time-scale",
        "--target",
    ]);
    for verb in ["check", "report", "explain"] {
        folder.plimsoll(&[verb, "--help"]).exits_with(0).stdout_contains(&[
            "Examples:",
            "Usage: plimsoll",
            verb,
        ]);
    }
    folder.plimsoll(&["report", "--help"]).stdout_contains(&codes);
    folder.plimsoll(&["--version"]).exits_with(0).stdout_contains(&["plimsoll 0."]);
}

#[test]
fn wrong_usage_is_exit_2_with_a_suggestion() {
    let folder = TestFolder::new("");
    folder.plimsoll(&[]).exits_with(2).stderr_contains(&["Usage: plimsoll"]);
    folder.plimsoll(&["runn", "plan.toml"]).exits_with(2).stderr_contains(&["did you mean `run`?"]);
    folder
        .plimsoll(&["run", "plan.toml", "--tim-scale", "2"])
        .exits_with(2)
        .stderr_contains(&["'--time-scale'"]);
    folder.plimsoll(&["run"]).exits_with(2).stderr_contains(&["<PLAN>"]);
}
