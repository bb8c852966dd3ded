//! Options of a line that say what is sent and when: redirects, random arrivals, streams of messages.

use std::collections::BTreeSet;

use testbed::{Behaviour, CannedResponse, GrpcBehaviour, Site, StreamEnd};

use crate::command::Place;
use crate::tonic_peer::{Reflects, start};

const PROTO: &str = "syntax = \"proto3\";\npackage demo;\nmessage Event { string id = 1; }\nservice Events {\n\
                     rpc Send(Event) returns (Event); rpc Gather(stream Event) returns (Event);\n\
                     rpc Watch(Event) returns (stream Event); rpc Talk(stream Event) returns (stream Event); }\n";

#[test]
fn redirects_are_followed_as_far_as_the_line_says() {
    let to = |path: &str| Behaviour::from(CannedResponse::new(302).header("location", path));
    let site = Site::new()
        .at("/a", to("/b"))
        .at("/b", to("/c"))
        .at("/c", Behaviour::ok())
        .at("/out", to("http://other.test/"));
    let target = testbed::http(site).unwrap();
    let place = Place::new("");
    let line = |path: &str, options: &[&str]| {
        let url = format!("http://{}{path}", target.addr());
        let common = ["http", &url, "-n", "4", "-c", "1", "--quiet"];
        place.plimsoll(&[&common[..], options].concat())
    };
    line("/a", &["--redirects", "2"]).ended(0).says(&["4 ended, 0 failed"]);
    let paths: Vec<_> = target.log().iter().map(|served| served.path.clone()).collect();
    assert_eq!(paths, ["/a", "/b", "/c"].repeat(4));
    line("/a", &["--redirects", "1"]).ended(0).says(&["4 failed", "check 4"]);
    line("/out", &["--redirects", "9"]).ended(0).says(&["4 failed", "check 4"]);
    line("/a", &["--redirects", "51"]).ended(2).complains(&["0..=50"]);
    place.write("list.txt", format!("GET http://{}/b\n", target.addr()));
    let seen = target.requests();
    let list = ["http", "--targets", "list.txt", "--redirects", "1", "--quiet"];
    place.plimsoll(&list).ended(0).says(&["1 ended, 0 failed"]);
    assert_eq!(target.requests() - seen, 2);
}

#[test]
fn arrivals_at_random_are_those_of_their_seed() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new("");
    let url = format!("http://{}/", target.addr());
    let line = |seed: &str, file: &str| {
        let load =
            ["-q", "200", "-z", "1s", "--arrivals", "poisson", "--seed", seed, "--quiet", "--json", file];
        place.plimsoll(&[&["http", &url], &load[..]].concat()).ended(0);
        place.json(file)["books"]["arrivals"]["scheduled"].as_u64().unwrap()
    };
    let counts: Vec<_> = ["1", "1", "2", "3", "4"].iter().map(|seed| line(seed, "run.json")).collect();
    assert_eq!(counts[0], counts[1]);
    assert!(counts.iter().collect::<BTreeSet<_>>().len() > 1, "chance has its say: {counts:?}");
    assert!(counts.iter().all(|count| (100..300).contains(count)), "{counts:?}");
    let refused = |options: &[&str], parts: &[&str]| {
        place.plimsoll(&[&["http", &url, "--arrivals"], options].concat()).ended(2).complains(parts);
    };
    refused(&["poisson"], &["go with a rate"]);
    refused(&["poisson", "-q", "5", "-n", "5"], &["`-z` instead of `-n`"]);
    refused(&["often"], &["`even` or `poisson`"]);
}

#[test]
fn calls_stream_as_the_line_says() {
    let watch = GrpcBehaviour::Stream { count: 5, gap: std::time::Duration::ZERO, end: StreamEnd::Never };
    let site = Site::new()
        .at("/demo.Events/Gather", GrpcBehaviour::ok(""))
        .at("/demo.Events/Talk", GrpcBehaviour::EchoEach)
        .at("/demo.Events/Watch", watch)
        .otherwise(GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let place = Place::new("");
    place.write("events.proto", PROTO);
    let address = target.addr().to_string();
    let line = |method: &str, options: &[&str]| {
        let method = format!("demo.Events/{method}");
        let common = ["grpc", &address, &method, "--proto", "events.proto", "--quiet", "--json", "run.json"];
        place.plimsoll(&[&common[..], &["-n", "3", "-c", "1"], options].concat())
    };
    let counted = || {
        let streams = &place.json("run.json")["endpoints"][0]["streams"];
        (streams["messages_sent"].as_u64().unwrap(), streams["messages_received"].as_u64().unwrap())
    };
    line("Gather", &["-d", "{\"id\": \"a\"}", "-d", "{\"id\": \"b\"}"]).ended(0).says(&["3 ended, 0 failed"]);
    assert_eq!(counted().0, 6);
    assert_eq!(target.log()[0].body, b"\n\x01a\0\0\0\0\x03\n\x01b");
    line("Talk", &["-d", "[{\"id\": \"a\"}, {\"id\": \"b\"}]", "--repeat", "2", "--every", "2ms"])
        .ended(0)
        .says(&["3 ended, 0 failed", "Streams", "first p50"]);
    assert_eq!(counted(), (12, 12));
    line("Watch", &["--cancel-after", "5"]).ended(0).says(&["3 ended, 0 failed"]);
    assert_eq!(counted(), (3, 15));
    line("Send", &["-d", "{} {}"]).ended(2).complains(&["`demo.Events/Send` takes one message"]);
    line("Send", &["--cancel-after", "1s"]).ended(2).complains(&["answers with one message"]);
    line("Watch", &["--cancel-after", "0"]).ended(2).complains(&["one message at least"]);
}

#[test]
fn what_a_method_can_do_is_also_learnt_from_the_target() {
    let peer = start(Reflects::V1);
    let place = Place::new("");
    let line = ["grpc", &peer.address.to_string(), "grpc.health.v1.Health/Check", "-d", "{} {}"];
    place.plimsoll(&line).ended(2).complains(&["takes one message"]);
}
