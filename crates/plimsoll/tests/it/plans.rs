//! Plans that cannot be used: exit 2, and what to do about it, before anything is sent.

use testbed::Behaviour;

use crate::command::{Place, closed, open};

/// The plan must be refused by `check` and by `run`, with these parts in the message, and no run file made.
#[track_caller]
fn refused(place: &Place, parts: &[&str]) {
    for verb in ["check", "run"] {
        place.plimsoll(&[verb, "plan.toml"]).ended(2).complains(parts);
    }
    assert!(place.files(".plimsoll").is_empty());
}

fn nowhere() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

#[test]
fn a_missing_plan_is_named() {
    let place = Place::new("");
    place
        .plimsoll(&["run", "nope.toml"])
        .ended(2)
        .complains(&["plimsoll: nope.toml: cannot be read", "path"]);
}

#[test]
fn malformed_toml_is_shown_with_its_line() {
    refused(&Place::new("version = 1\nname = \n"), &["plan.toml:2:", "not TOML"]);
}

#[test]
fn an_unknown_key_is_shown_with_its_line_and_the_nearest_known_one() {
    let plan = open(nowhere(), 1).replace("duration =", "durration =");
    refused(&Place::new(&plan), &["plan.toml:9:1", "`durration`", "did you mean `duration`?"]);
}

#[test]
fn all_errors_are_told_at_once() {
    let plan = open(nowhere(), 1).replace("name = \"get\"", "nam = \"get\"").replace("50/s", "fast");
    refused(&Place::new(&plan), &["`nam`", "fast"]);
}

#[test]
fn a_proto_file_that_does_not_parse_is_named() {
    let place = Place::new(
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
    refused(&place, &["plan.toml:4:", "events.proto", "cannot be read"]);
    place.write("events.proto", "syntax = \"proto3\";\nmessage Broken {\n  string = 1;\n}\n");
    refused(&place, &["events.proto:3:"]);
}

#[test]
fn a_ragged_data_row_is_shown_with_file_and_line() {
    let plan =
        closed(nowhere(), 1).replace("/x\"", "/${users.id}\"") + "\n[data.users]\nfile = \"users.csv\"\n";
    let place = Place::new(&plan);
    place.write("users.csv", "id,name\n1,a\n2\n");
    refused(&place, &["users.csv:3:", "1 field"]);
}

#[test]
fn too_little_data_for_unique_rows_says_how_much_is_needed() {
    let plan = open(nowhere(), 2).replace("/x\"", "/${users.id}\"")
        + "\n[data.users]\ngenerate = \"u{1..30}\"\npick = \"unique\"\n";
    refused(&Place::new(&plan), &["users", "30", "100"]);
}

#[test]
fn a_missing_environment_variable_is_named() {
    let plan = open(nowhere(), 1) + "headers = { authorization = \"${env.NO_SUCH_VARIABLE}\" }\n";
    refused(&Place::new(&plan), &["NO_SUCH_VARIABLE"]);
}

#[test]
fn an_override_of_an_unknown_target_names_the_known_ones() {
    let place = Place::new(&open(nowhere(), 1));
    let run = |target| place.plimsoll(&["run", "plan.toml", "--target", target]);
    run("apu=http://127.0.0.1:3").ended(2).complains(&["no target `apu`", "did you mean `api`?"]);
    run("warehouse=http://127.0.0.1:3").ended(2).complains(&["no target `warehouse`", "`api`"]);
    run("nonsense").ended(2).complains(&["NAME=ADDRESS"]);
}

#[test]
fn check_prints_the_offer_and_sends_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&open(target.addr(), 3));
    let offer = place.plimsoll(&["check", "plan.toml"]);
    offer.ended(0).says(&["second", "load", "150"]);
    assert!(offer.stderr.is_empty(), "{}", offer.stderr);
    place.plimsoll(&["check", "plan.toml", "--load", "2"]).ended(0).says(&["300"]);
    place.plimsoll(&["check", "plan.toml", "--time-scale", "0.1"]).ended(0).says(&["15"]);
    assert_eq!((target.requests(), target.connections()), (0, 0));
}
