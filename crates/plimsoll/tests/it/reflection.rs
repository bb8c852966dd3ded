//! Targets without `proto` are asked what they serve; descriptor sets do as well as `.proto` files.

use std::net::SocketAddr;

use crate::command::{TestFolder, refusal};
use crate::tonic_peer::{Reflects, start};

/// A plan that asks after a server's health.
fn plan(address: SocketAddr, method: &str) -> String {
    format!(
        r#"version = 1
precheck = false
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
fn a_server_with_reflection_needs_no_proto() {
    for reflects in [Reflects::V1, Reflects::V1Alpha] {
        let peer = start(reflects);
        let folder = TestFolder::new(&plan(peer.address, CHECK));
        folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0);
        folder
            .plimsoll(&["run", "plan.toml", "--once"])
            .exits_with(0)
            .stdout_contains(&["\"SERVING\"", "1 exchange, 0 failed"]);
    }
}

#[test]
fn a_service_unknown_to_reflection_is_reported_before_the_load() {
    let peer = start(Reflects::V1);
    let once = |text: &str| TestFolder::new(text).plimsoll(&["run", "plan.toml", "--once"]);
    once(&plan(peer.address, "grpc.health.v1.Helth/Check")).exits_with(2).stderr_contains(&[
        "target `peer`",
        "does not know `grpc.health.v1.Helth`",
        "did you mean `grpc.health.v1.Health`?",
    ]);
    once(&plan(peer.address, "grpc.health.v1.Health/Chek"))
        .exits_with(2)
        .stderr_contains(&["no method `grpc.health.v1.Health/Chek`", "did you mean"]);
    once(&plan(peer.address, CHECK).replace("service =", "servis ="))
        .exits_with(2)
        .stderr_contains(&["no field `servis`", "did you mean `service`?"]);
    let silent = start(Reflects::Nothing);
    once(&plan(silent.address, CHECK)).exits_with(2).stderr_contains(&["offers no reflection", "proto = ["]);
    let refusing = refusal();
    once(&plan(refusing.addr(), CHECK)).exits_with(2).stderr_contains(&[
        "target `peer`",
        "cannot be asked",
        "refused",
    ]);
}

#[test]
fn check_sends_nothing_and_lists_what_it_cannot_check() {
    let refusing = refusal();
    let folder = TestFolder::new(&plan(refusing.addr(), CHECK));
    folder
        .plimsoll(&["check", "plan.toml"])
        .exits_with(0)
        .stdout_contains(&["calls of `peer` are not checked"]);
}

#[test]
fn a_descriptor_set_does_as_well_as_a_proto_file() {
    let peer = start(Reflects::Nothing);
    for name in ["health.binpb", "health.protoset", "health"] {
        let with = |proto: &str| {
            plan(peer.address, CHECK).replacen("[[scen", &format!("proto = \"{proto}\"\n[[scen"), 1)
        };
        let folder = TestFolder::new(&with(name));
        folder.write(name, tonic_health::pb::FILE_DESCRIPTOR_SET);
        folder.plimsoll(&["run", "plan.toml", "--once"]).exits_with(0).stdout_contains(&["\"SERVING\""]);
    }
}

#[test]
fn imports_are_found_in_import_paths() {
    let peer = start(Reflects::Nothing);
    let head = "proto = \"api/health.proto\"\nimport_paths = [\"vendor\"]\n[[scen";
    let folder = TestFolder::new(&plan(peer.address, CHECK).replacen("[[scen", head, 1));
    for created in ["api", "vendor/types"] {
        std::fs::create_dir_all(folder.path(created)).unwrap();
    }
    folder.write(
        "api/health.proto",
        "syntax = \"proto3\"; package grpc.health.v1; import \"types/status.proto\";
         message HealthCheckRequest { string service = 1; }
         service Health { rpc Check(HealthCheckRequest) returns (types.Reply); }",
    );
    folder.write(
        "vendor/types/status.proto",
        "syntax = \"proto3\"; package types; enum Status { UNKNOWN = 0; SERVING = 1; }
         message Reply { Status status = 1; }",
    );
    folder.plimsoll(&["run", "plan.toml", "--once"]).exits_with(0).stdout_contains(&["\"SERVING\""]);
}

/// The plan with other keys instead of its message and expectation.
fn with_step(plan: &str, keys: &str) -> String {
    let (head, _) = plan.split_once("message =").unwrap();
    format!("{head}{keys}\n")
}

#[test]
fn streams_of_a_foreign_server_are_read_sent_and_cancelled() {
    let peer = start(Reflects::V1);
    let watch = plan(peer.address, "grpc.health.v1.Health/Watch");
    let cut = "cancel_after = 1\nexpect = { messages = 1, json = { \"$.status\" = \"SERVING\" } }";
    let folder = TestFolder::new(&with_step(&watch, cut));
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0);
    let once = folder.plimsoll(&["run", "plan.toml", "--once"]);
    once.exits_with(0).stdout_contains(&["\"SERVING\"", "1 exchange, 0 failed"]);
    let talk = plan(peer.address, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
    let both = "messages = [{ listServices = \"*\" }, { fileContainingSymbol = \"grpc.health.v1.Health\" }]\n\
                every = \"20ms\"\ndeadline = \"5s\"\nexpect = { messages = 2 }";
    let folder = TestFolder::new(&with_step(&talk, both));
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0);
    folder.plimsoll(&["run", "plan.toml", "--once"]).exits_with(0).stdout_contains(&["1 exchange, 0 failed"]);
}

#[test]
fn messages_are_compressed_both_ways() {
    let peer = start(Reflects::V1);
    let keys = "message = { service = \"\" }\ncompress = \"gzip\"\nheaders = { grpc-accept-encoding = \"gzip\" }\n\
                expect = { json = { \"$.status\" = \"SERVING\" }, headers = { grpc-encoding = \"gzip\" } }";
    let folder = TestFolder::new(&with_step(&plan(peer.address, CHECK), keys));
    folder.plimsoll(&["run", "plan.toml", "--once"]).exits_with(0).stdout_contains(&["1 exchange, 0 failed"]);
}
