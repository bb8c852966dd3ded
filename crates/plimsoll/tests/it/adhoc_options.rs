//! Options of a line that say what is sent and when: redirects, random arrivals, streams of messages.

use std::collections::BTreeSet;

use testbed::{Behaviour, CannedResponse, GrpcBehaviour, Site, StreamEnd};

use crate::command::{self, TestFolder};
use crate::tonic_peer::{Reflects, start};

const PROTO: &str = "syntax = \"proto3\";\npackage demo;\nmessage Event { string id = 1; }\nservice Events {\n\
                     rpc Send(Event) returns (Event); rpc Gather(stream Event) returns (Event);\n\
                     rpc Watch(Event) returns (stream Event); rpc Talk(stream Event) returns (stream Event); }\n";

#[test]
fn redirects_are_followed_up_to_the_option() {
    let to = |path: &str| Behaviour::from(CannedResponse::new(302).header("location", path));
    let site = Site::new()
        .at("/a", to("/b"))
        .at("/b", to("/c"))
        .at("/c", Behaviour::ok())
        .at("/out", to("http://other.test/"));
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new("");
    let line = |path: &str, options: &[&str]| {
        let url = format!("http://{}{path}", target.addr());
        let common = ["http", &url, "-n", "4", "-c", "1", "--quiet", "--no-precheck"];
        folder.plimsoll(&[&common[..], options].concat())
    };
    line("/a", &["--redirects", "2"]).exits_with(0).stdout_contains(&["4 ended, 0 failed"]);
    let paths: Vec<_> = target.log().iter().map(|served| served.path.clone()).collect();
    assert_eq!(paths, ["/a", "/b", "/c"].repeat(4));
    line("/a", &["--redirects", "1"]).exits_with(3).stdout_contains(&["4 failed", "check 4"]);
    line("/out", &["--redirects", "9"]).exits_with(3).stdout_contains(&["4 failed", "check 4"]);
    line("/a", &["--redirects", "51"]).exits_with(2).stderr_contains(&["0..=50"]);
    folder.write("list.txt", format!("GET http://{}/b\n", target.addr()));
    let seen = target.requests();
    let list = ["http", "--targets", "list.txt", "--redirects", "1", "--quiet"];
    folder.plimsoll(&list).exits_with(0).stdout_contains(&["1 ended, 0 failed"]);
    assert_eq!(target.requests() - seen, 2);
}

#[test]
fn a_redirect_that_nobody_asked_for_is_warned_of_before_it_is_measured() {
    let redirect = CannedResponse::new(302).header("location", "/login");
    let target = testbed::http(Site::new().at("/x", redirect.into()).at("/login", Behaviour::ok())).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    let line = ["http", &url, "-n", "4", "--quiet"];
    let warning = "warning: `GET /x` is answered with the redirect 302 to /login, which counts as a success";
    folder.plimsoll(&line).exits_with(0).stderr_contains(&[warning, "(-L of a command"]);
    assert_eq!(folder.plimsoll(&[&line[..], &["-L"]].concat()).exits_with(0).stderr, "");
    let plan = command::checked(&command::iterations(target.addr(), 2));
    folder.write("unasked.toml", &plan);
    folder
        .plimsoll(&["run", "unasked.toml", "--quiet"])
        .exits_with(0)
        .stderr_contains(&["`get` is answered with"]);
    folder.write("meant.toml", format!("{plan}expect = {{ status = 302 }}\n"));
    assert_eq!(folder.plimsoll(&["run", "meant.toml", "--quiet"]).exits_with(0).stderr, "");
}

#[test]
fn command_lines_of_other_generators_are_understood() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/a", target.addr());
    let address = format!("{}/a", target.addr());
    for line in [
        &[&url, "-n", "4", "-c", "1", "--quiet"][..],
        &[&address, "-n", "4", "-c", "1", "--quiet"],
        &["-n", "4", "-c", "1", "--quiet", &url],
    ] {
        folder.plimsoll(line).exits_with(0).stdout_contains(&["4 ended, 0 failed"]);
    }
    assert!(target.log().iter().all(|served| served.method == "GET"));
    folder
        .plimsoll(&["http", &url, "-X", "PUT", "-n", "1k", "--quiet"])
        .exits_with(0)
        .stdout_contains(&["1,000 ended"]);
    assert!(target.log().iter().any(|served| served.method == "PUT"));
    let refused = |options: &[&str], part: &str| {
        folder.plimsoll(&[&["http", &url], options].concat()).exits_with(2).stderr_contains(&[part]);
    };
    refused(&["-n", "1.5k"], "such as 500, 10k or 2M");
    refused(&["-n", "99999999999999M"], "such as 500, 10k or 2M");
    refused(&["-o", "json"], "a report is written by --json FILE");
    refused(&["-o", "csv"], "reports are written by --json");
    folder.plimsoll(&["run", "plan.toml", "-o", "html"]).exits_with(2).stderr_contains(&["--html FILE"]);
}

#[test]
fn a_short_run_ends_when_its_last_request_has_ended() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/", target.addr());
    let ran = folder.plimsoll(&[
        &url,
        "-n",
        "300",
        "--quiet",
        "--no-precheck",
        "--json",
        "run.json",
        "--md",
        "run.md",
    ]);
    ran.exits_with(0);
    for shown in [&ran.stdout, &folder.read("run.md")] {
        assert!(!shown.contains("600 s"), "{shown}");
    }
    let report = folder.json("run.json");
    let elapsed_s = report["run"]["elapsed_s"].as_f64().unwrap();
    assert!(elapsed_s > 0.0, "{report}");
    let throughput = report["headline"]["throughput_per_s"].as_f64().unwrap();
    let covered_s = report["phases"][0]["covered_s"].as_f64().unwrap();
    assert!((throughput * covered_s - 300.0).abs() < 1e-6, "{throughput} in {covered_s} s");
    assert!(covered_s <= elapsed_s, "{covered_s} of {elapsed_s} s");
}

#[test]
fn why_requests_failed_is_said_in_every_report() {
    let target = testbed::http(Behaviour::from(CannedResponse::new(503).body("out of cheese"))).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/a", target.addr());
    let ran = folder.plimsoll(&[
        &url,
        "-n",
        "7",
        "--quiet",
        "--no-precheck",
        "--json",
        "run.json",
        "--md",
        "run.md",
        "--html",
        "run.html",
    ]);
    ran.exits_with(3).stdout_contains(&[
        "Failures  100 % of 7 requests\n7  status 503  GET /a: status 503, expected 200 to 399 · out of cheese\n",
        "FAIL  Nothing succeeded: all of 7 requests failed or were dropped; 7 ended in `http_503`.\n",
        "\nFindings  -v: in full",
    ]);
    let [numbers, why, verdict, findings] = ["Phase run", "\nFailures", "\nFAIL  Nothing", "\nFindings"]
        .map(|part| ran.stdout.find(part).unwrap());
    assert!(numbers < why && why < verdict && verdict < findings, "{}", ran.stdout);
    assert!(folder.read("run.md").contains("status 503, expected 200 to 399 · out of cheese"));
    assert!(folder.read("run.html").contains(">status 503, expected 200 to 399 · out of cheese</td>"));
    let failure = &folder.json("run.json")["failures"][0];
    assert_eq!((&failure["count"], &failure["example"]["status"]), (&7.into(), &503.into()), "{failure}");
    let full = folder.plimsoll(&[&url, "-n", "7", "--quiet", "-v", "--no-precheck"]);
    full.exits_with(3).stdout_contains(&["\nwhy   The latency of failures"]);
}

#[test]
fn random_arrivals_are_reproducible_by_their_seed() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/", target.addr());
    let line = |seed: &str, file: &str| {
        let load =
            ["-r", "200", "-z", "1s", "--arrivals", "poisson", "--seed", seed, "--quiet", "--json", file];
        folder.plimsoll(&[&["http", &url], &load[..]].concat()).exits_with(0);
        folder.json(file)["accounting"]["arrivals"]["scheduled"].as_u64().unwrap()
    };
    let counts: Vec<_> = ["1", "1", "2", "3", "4"].iter().map(|seed| line(seed, "run.json")).collect();
    assert_eq!(counts[0], counts[1]);
    assert!(counts.iter().collect::<BTreeSet<_>>().len() > 1, "chance has its say: {counts:?}");
    assert!(counts.iter().all(|count| (100..300).contains(count)), "{counts:?}");
    let refused = |options: &[&str], parts: &[&str]| {
        folder
            .plimsoll(&[&["http", &url, "--arrivals"], options].concat())
            .exits_with(2)
            .stderr_contains(parts);
    };
    refused(&["poisson"], &["go with a rate"]);
    refused(&["poisson", "-r", "5", "-n", "5"], &["`-z` instead of `-n`"]);
    refused(&["often"], &["`even` or `poisson`"]);
}

#[test]
fn calls_stream_as_the_options_describe() {
    let watch = GrpcBehaviour::Stream { count: 5, gap: std::time::Duration::ZERO, end: StreamEnd::Never };
    let site = Site::new()
        .at("/demo.Events/Gather", GrpcBehaviour::ok(""))
        .at("/demo.Events/Talk", GrpcBehaviour::EchoEach)
        .at("/demo.Events/Watch", watch)
        .otherwise(GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let folder = TestFolder::new("");
    folder.write("events.proto", PROTO);
    let address = target.addr().to_string();
    let line = |method: &str, options: &[&str]| {
        let method = format!("demo.Events/{method}");
        let common = ["grpc", &address, &method, "--proto", "events.proto", "--quiet", "--json", "run.json"];
        folder.plimsoll(&[&common[..], &["-n", "3", "-c", "1"], options].concat())
    };
    let counted = || {
        let streams = &folder.json("run.json")["endpoints"][0]["streams"];
        (streams["messages_sent"].as_u64().unwrap(), streams["messages_received"].as_u64().unwrap())
    };
    line("Gather", &["-d", "{\"id\": \"a\"}", "-d", "{\"id\": \"b\"}"])
        .exits_with(0)
        .stdout_contains(&["3 ended, 0 failed"]);
    assert_eq!(counted().0, 6);
    assert_eq!(target.log()[0].body, b"\n\x01a\0\0\0\0\x03\n\x01b");
    folder.write("message.json", "{\"id\": \"from a file\"}");
    line("Send", &["-d", "@message.json"]).exits_with(0).stdout_contains(&["3 ended, 0 failed"]);
    assert!(target.log().last().unwrap().body.ends_with(b"from a file"));
    line("Send", &["-d", "@missing.json"])
        .exits_with(2)
        .stderr_contains(&["--data: missing.json cannot be read"]);
    line("Talk", &["-d", "[{\"id\": \"a\"}, {\"id\": \"b\"}]", "--repeat", "2", "--every", "2ms"])
        .exits_with(0)
        .stdout_contains(&["3 ended, 0 failed", "Streams", "first p50"]);
    assert_eq!(counted(), (12, 12));
    line("Watch", &["--cancel-after", "5"]).exits_with(0).stdout_contains(&["3 ended, 0 failed"]);
    assert_eq!(counted(), (3, 15));
    line("Send", &["-d", "{} {}"]).exits_with(2).stderr_contains(&["`demo.Events/Send` takes one message"]);
    line("Send", &["--cancel-after", "1s"]).exits_with(2).stderr_contains(&["answers with one message"]);
    line("Watch", &["--cancel-after", "0"])
        .exits_with(2)
        .stderr_contains(&["after one message at the earliest"]);
}

#[test]
fn stream_kinds_of_a_method_are_read_from_reflection() {
    let peer = start(Reflects::V1);
    let folder = TestFolder::new("");
    let line = ["grpc", &peer.address.to_string(), "grpc.health.v1.Health/Check", "-d", "{} {}"];
    folder.plimsoll(&line).exits_with(2).stderr_contains(&["takes one message"]);
}
