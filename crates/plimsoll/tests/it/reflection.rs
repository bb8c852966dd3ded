//! Targets without `proto` are asked what they serve; descriptor sets do as well as `.proto` files.

use std::net::SocketAddr;

use crate::command::{Place, refusal};
use crate::tonic_peer::{Reflects, start};

/// A plan that asks after a server's health.
fn plan(address: SocketAddr, method: &str) -> String {
    format!(
        r#"version = 1
[targets.peer]
grpc = "{address}"
[[scenarios]]
name = "s"
executor = "constant-arrival-rate"
rate = "20/s"
duration = "500ms"
[[scenarios.steps]]
name = "check"
grpc = "peer/{method}"
message = {{ service = "" }}
expect = {{ json = {{ "$.status" = "SERVING" }} }}
"#
    )
}

const CHECK: &str = "grpc.health.v1.Health/Check";

#[test]
fn a_server_that_reflects_needs_no_proto() {
    for reflects in [Reflects::V1, Reflects::V1Alpha] {
        let peer = start(reflects);
        let place = Place::new(&plan(peer.address, CHECK));
        place.plimsoll(&["run", "plan.toml", "-q"]).ended(0);
        place
            .plimsoll(&["run", "plan.toml", "--once"])
            .ended(0)
            .says(&["\"SERVING\"", "1 exchanges, 0 failed"]);
    }
}

#[test]
fn what_reflection_does_not_know_is_said_before_the_load() {
    let peer = start(Reflects::V1);
    let once = |text: &str| Place::new(text).plimsoll(&["run", "plan.toml", "--once"]);
    once(&plan(peer.address, "grpc.health.v1.Helth/Check")).ended(2).complains(&[
        "target `peer`",
        "does not know `grpc.health.v1.Helth`",
        "did you mean `grpc.health.v1.Health`?",
    ]);
    once(&plan(peer.address, "grpc.health.v1.Health/Chek"))
        .ended(2)
        .complains(&["no method `grpc.health.v1.Health/Chek`", "did you mean"]);
    once(&plan(peer.address, CHECK).replace("service =", "servis ="))
        .ended(2)
        .complains(&["no field `servis`", "did you mean `service`?"]);
    let silent = start(Reflects::Nothing);
    once(&plan(silent.address, CHECK)).ended(2).complains(&["offers no reflection", "proto = ["]);
    let nobody = refusal();
    once(&plan(nobody.addr(), CHECK)).ended(2).complains(&["target `peer`", "cannot be asked", "refused"]);
}

#[test]
fn check_sends_nothing_and_says_what_it_cannot_check() {
    let nobody = refusal();
    let place = Place::new(&plan(nobody.addr(), CHECK));
    place.plimsoll(&["check", "plan.toml"]).ended(0).says(&["calls of `peer` are not checked"]);
}

#[test]
fn a_descriptor_set_does_as_well_as_a_proto_file() {
    let peer = start(Reflects::Nothing);
    for name in ["health.binpb", "health.protoset", "health"] {
        let with = |proto: &str| {
            plan(peer.address, CHECK).replacen("[[scen", &format!("proto = \"{proto}\"\n[[scen"), 1)
        };
        let place = Place::new(&with(name));
        place.write(name, tonic_health::pb::FILE_DESCRIPTOR_SET);
        place.plimsoll(&["run", "plan.toml", "--once"]).ended(0).says(&["\"SERVING\""]);
    }
}

#[test]
fn imports_are_found_in_import_paths() {
    let peer = start(Reflects::Nothing);
    let head = "proto = \"api/health.proto\"\nimport_paths = [\"vendor\"]\n[[scen";
    let place = Place::new(&plan(peer.address, CHECK).replacen("[[scen", head, 1));
    for folder in ["api", "vendor/types"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write(
        "api/health.proto",
        "syntax = \"proto3\"; package grpc.health.v1; import \"types/status.proto\";
         message HealthCheckRequest { string service = 1; }
         service Health { rpc Check(HealthCheckRequest) returns (types.CannedResponse); }",
    );
    place.write(
        "vendor/types/status.proto",
        "syntax = \"proto3\"; package types; enum Status { UNKNOWN = 0; SERVING = 1; }
         message CannedResponse { Status status = 1; }",
    );
    place.plimsoll(&["run", "plan.toml", "--once"]).ended(0).says(&["\"SERVING\""]);
}

/// The plan with other keys instead of its message and expectation.
fn with_step(plan: &str, keys: &str) -> String {
    let (head, _) = plan.split_once("message =").unwrap();
    format!("{head}{keys}\n")
}

#[test]
fn streams_of_a_server_that_is_not_ours_are_read_sent_and_cut() {
    let peer = start(Reflects::V1);
    let watch = plan(peer.address, "grpc.health.v1.Health/Watch");
    let cut = "cancel_after = 1\nexpect = { messages = 1, json = { \"$.status\" = \"SERVING\" } }";
    let place = Place::new(&with_step(&watch, cut));
    place.plimsoll(&["run", "plan.toml", "-q"]).ended(0);
    let once = place.plimsoll(&["run", "plan.toml", "--once"]);
    once.ended(0).says(&["\"SERVING\"", "1 exchanges, 0 failed"]);
    let talk = plan(peer.address, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
    let both = "messages = [{ listServices = \"*\" }, { fileContainingSymbol = \"grpc.health.v1.Health\" }]\n\
                every = \"20ms\"\ndeadline = \"5s\"\nexpect = { messages = 2 }";
    let place = Place::new(&with_step(&talk, both));
    place.plimsoll(&["run", "plan.toml", "-q"]).ended(0);
    place.plimsoll(&["run", "plan.toml", "--once"]).ended(0).says(&["1 exchanges, 0 failed"]);
}

#[test]
fn messages_are_compressed_both_ways() {
    let peer = start(Reflects::V1);
    let keys = "message = { service = \"\" }\ncompress = \"gzip\"\nheaders = { grpc-accept-encoding = \"gzip\" }\n\
                expect = { json = { \"$.status\" = \"SERVING\" }, headers = { grpc-encoding = \"gzip\" } }";
    let place = Place::new(&with_step(&plan(peer.address, CHECK), keys));
    place.plimsoll(&["run", "plan.toml", "--once"]).ended(0).says(&["1 exchanges, 0 failed"]);
}
