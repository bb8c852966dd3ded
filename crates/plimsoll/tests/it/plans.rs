//! Plans that cannot be used: exit 2, and what to do about it, before anything is sent.

use testbed::Behaviour;

use crate::command::{TestFolder, closed, open};

/// The plan must be refused by `check` and by `run`, with these parts in the message, and no run file made.
#[track_caller]
fn refused(folder: &TestFolder, parts: &[&str]) {
    for verb in ["check", "run"] {
        folder.plimsoll(&[verb, "plan.toml"]).exits_with(2).stderr_contains(parts);
    }
    assert!(folder.files(".plimsoll").is_empty());
}

fn nowhere() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

#[test]
fn a_missing_plan_is_named() {
    let folder = TestFolder::new("");
    folder
        .plimsoll(&["run", "nope.toml"])
        .exits_with(2)
        .stderr_contains(&["plimsoll: there is no plan nope.toml; its folder has `plan.toml`"]);
}

#[test]
fn malformed_toml_is_shown_with_its_line() {
    refused(&TestFolder::new("version = 1\nname = \n"), &["plan.toml:2:", "not TOML"]);
}

#[test]
fn an_unknown_key_is_shown_with_its_line_and_the_nearest_known_one() {
    let plan = open(nowhere(), 1).replace("duration =", "durration =");
    refused(&TestFolder::new(&plan), &["plan.toml:10:1", "`durration`", "did you mean `duration`?"]);
}

#[test]
fn all_errors_are_reported_at_once() {
    let plan = open(nowhere(), 1).replace("name = \"get\"", "nam = \"get\"").replace("50/s", "fast");
    refused(&TestFolder::new(&plan), &["`nam`", "fast"]);
}

#[test]
fn a_proto_file_that_does_not_parse_is_named() {
    let folder = TestFolder::new(
        r#"version = 1
[targets.events]
grpc = "127.0.0.1:1"
proto = ["events.proto"]
[[scenarios]]
name = "s"
executor = "constant-vus"
vus = 1
duration = "1s"
[[scenarios.steps]]
name = "send"
grpc = "events/demo.Events/Send"
"#,
    );
    refused(&folder, &["plan.toml:4:", "events.proto", "cannot be read"]);
    folder.write("events.proto", "syntax = \"proto3\";\nmessage Broken {\n  string = 1;\n}\n");
    refused(&folder, &["events.proto:3:"]);
}

#[test]
fn a_ragged_data_row_is_shown_with_file_and_line() {
    let plan =
        closed(nowhere(), 1).replace("/x\"", "/${users.id}\"") + "\n[data.users]\nfile = \"users.csv\"\n";
    let folder = TestFolder::new(&plan);
    folder.write("users.csv", "id,name\n1,a\n2\n");
    refused(&folder, &["users.csv:3:", "1 field"]);
}

#[test]
fn too_few_unique_rows_are_reported_with_the_number_needed() {
    let plan = open(nowhere(), 2).replace("/x\"", "/${users.id}\"")
        + "\n[data.users]\ngenerate = \"u{1..30}\"\npick = \"unique\"\n";
    refused(&TestFolder::new(&plan), &["users", "30", "100"]);
}

#[test]
fn a_missing_environment_variable_is_named() {
    let plan = open(nowhere(), 1) + "headers = { authorization = \"${env.NO_SUCH_VARIABLE}\" }\n";
    refused(&TestFolder::new(&plan), &["NO_SUCH_VARIABLE"]);
}

#[test]
fn an_override_of_an_unknown_target_names_the_known_ones() {
    let folder = TestFolder::new(&open(nowhere(), 1));
    let run = |target| folder.plimsoll(&["run", "plan.toml", "--target", target]);
    run("apu=http://127.0.0.1:3").exits_with(2).stderr_contains(&["no target `apu`", "did you mean `api`?"]);
    run("warehouse=http://127.0.0.1:3").exits_with(2).stderr_contains(&["no target `warehouse`", "`api`"]);
    run("nonsense").exits_with(2).stderr_contains(&["NAME=ADDRESS"]);
}

#[test]
fn check_prints_the_offer_and_sends_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 3));
    let offer = folder.plimsoll(&["check", "plan.toml"]);
    offer.exits_with(0).stdout_contains(&["second", "load", "150"]);
    assert!(offer.stderr.is_empty(), "{}", offer.stderr);
    folder.plimsoll(&["check", "plan.toml", "--load", "2"]).exits_with(0).stdout_contains(&["300"]);
    folder.plimsoll(&["check", "plan.toml", "--time-scale", "0.1"]).exits_with(0).stdout_contains(&["15"]);
    assert_eq!((target.requests(), target.connections()), (0, 0));
}
