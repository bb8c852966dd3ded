//! Loads without a plan: what a line's options send, and what is left of it.

use std::collections::BTreeSet;

use testbed::{Behaviour, CannedResponse, GrpcBehaviour, Target};

use crate::command::{CommandOutput, TestFolder, refusal};
use crate::tonic_peer::{Reflects, start};

const PROTO: &str = "syntax = \"proto3\";\npackage demo;\nservice Events { rpc Send(Event) returns (Event); }\n\
                     message Event { string id = 1; }\n";

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

fn url(target: &Target, path: &str) -> String {
    format!("http://{}{path}", target.addr())
}

/// Run a line whose temporary files lie in the folder's folder `tmp`. No request is sent before the load, so that a target's
/// counts are those of the load.
fn plimsoll(folder: &TestFolder, arguments: &[&str]) -> CommandOutput {
    let arguments = [arguments, &["--no-precheck"]].concat();
    folder.plimsoll_after("mkdir -p tmp; export TMPDIR=$PWD/tmp", &arguments)
}

#[test]
fn a_bare_url_gets_two_hundred_requests_and_no_file_is_left() {
    let target = target();
    let folder = TestFolder::new("");
    let ran = plimsoll(&folder, &["http", &url(&target, "/x?y=1"), "--quiet"]);
    ran.exits_with(0).stdout_contains(&["MEASURED", "GET /x"]);
    assert_eq!((target.requests(), ran.stderr.as_str()), (200, ""));
    assert!(target.connections() <= 60, "{}", target.connections());
    assert_eq!(folder.files(""), ["plan.toml", "stderr.txt", "stdout.txt", "tmp"]);
    assert_eq!(std::fs::read_dir(folder.path("tmp")).unwrap().count(), 0);
    assert!(!ran.stdout.contains("run.plimsoll"), "a deleted file is not reported: {}", ran.stdout);
}

#[test]
fn a_rate_and_a_number_send_exactly_that_many() {
    let target = target();
    let folder = TestFolder::new("");
    let line = ["http", &url(&target, "/"), "-r", "100", "-n", "50", "--quiet", "--json", "run.json"];
    plimsoll(&folder, &line).exits_with(0);
    assert_eq!(target.requests(), 50);
    let report = folder.json("run.json");
    assert_eq!(report["verdict"], "MEASURED");
    assert_eq!(report["accounting"]["arrivals"]["scheduled"], 50);
}

#[test]
fn the_throughput_of_a_number_of_requests_counts_the_wait_for_the_last() {
    let target = testbed::http(Behaviour::after(std::time::Duration::from_millis(1_500))).unwrap();
    let folder = TestFolder::new("");
    let line = ["http", &url(&target, "/"), "-c", "2", "-n", "2", "--quiet", "--json", "run.json"];
    let ran = plimsoll(&folder, &line);
    ran.exits_with(0);
    let report = folder.json("run.json");
    let [throughput, elapsed] = [&report["endpoints"][0]["throughput_per_s"], &report["run"]["elapsed_s"]]
        .map(|n| n.as_f64().unwrap());
    assert!((throughput * elapsed - 2.0).abs() < 0.01, "{throughput}/s over {elapsed} s");
    assert!(!ran.stdout.contains("Phase run  0 to 1 s"), "{}", ran.stdout);
}

#[test]
fn a_rate_asked_of_a_closed_model_is_warned_of_before_the_load() {
    let target = target();
    let folder = TestFolder::new("");
    let line =
        ["http", &url(&target, "/"), "-c", "2", "-n", "20", "--quiet", "--objective", "throughput > 10/s"];
    plimsoll(&folder, &line)
        .exits_with(5)
        .stderr_contains(&["will have no valid result", "is a closed model"]);
}

#[test]
fn connections_and_a_duration_are_a_closed_model() {
    let target = testbed::http(Behaviour::after(std::time::Duration::from_millis(20))).unwrap();
    let folder = TestFolder::new("");
    let line = ["http", &url(&target, "/"), "-c", "3", "-z", "1s", "--quiet"];
    plimsoll(&folder, &line).exits_with(0).stdout_contains(&["MEASURED"]);
    assert_eq!(target.connections(), 4, "three, and the readiness check");
    assert!(target.requests() > 3);
}

#[test]
fn a_ramp_is_a_phase_of_its_own() {
    let target = target();
    let folder = TestFolder::new("");
    let line = ["http", &url(&target, "/"), "--rate", "40/s", "--ramp", "1s", "--duration", "1s", "--quiet"];
    plimsoll(&folder, &line).exits_with(0).stdout_contains(&["ramp", "steady"]);
    assert_eq!(target.requests(), 60);
}

#[test]
fn requests_are_sent_as_the_options_describe() {
    let target = target();
    let folder = TestFolder::new("");
    folder.write("body.json", "{\"cost\": \"${5}\"}");
    let to = url(&target, "/things?n=${iteration}");
    let common = [
        "http",
        &to,
        "-n",
        "2",
        "-c",
        "1",
        "--quiet",
        "-H",
        "x-id: 7",
        "-T",
        "application/json",
        "-A",
        "*/*",
    ];
    plimsoll(&folder, &[&common[..], &["-a", "me:5ecret-pass", "-D", "body.json"]].concat()).exits_with(0);
    let log = target.log();
    assert_eq!(log.len(), 2);
    let first = &log[0];
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/things"));
    assert_eq!(
        log.iter().map(|served| served.query.as_str()).collect::<BTreeSet<_>>(),
        ["n=0", "n=1"].into()
    );
    assert_eq!(first.body, b"{\"cost\": \"${5}\"}");
    let header = |name| first.header(name).unwrap_or_default().to_owned();
    assert_eq!((header("x-id"), header("content-type")), ("7".to_owned(), "application/json".to_owned()));
    assert_eq!(
        (header("accept"), header("authorization")),
        ("*/*".to_owned(), "Basic bWU6NWVjcmV0LXBhc3M=".to_owned())
    );
}

#[test]
fn evidence_is_kept_where_asked_without_secrets() {
    let target = testbed::http(Behaviour::from(CannedResponse::new(500).body("out of cheese"))).unwrap();
    let folder = TestFolder::new("");
    let to = url(&target, "/x");
    let line = ["http", &to, "-n", "3", "-c", "1", "--quiet", "-a", "me:5ecret-pass", "-o", "run.plimsoll"];
    let secret = ["-H", "x-api-key: ${env.TOKEN}"];
    plimsoll(&folder, &[&line[..], &secret].concat())
        .exits_with(3)
        .stdout_contains(&["FAIL  Nothing succeeded", "run.plimsoll"]);
    let ran = folder.plimsoll(&["report", "run.plimsoll", "--html", "run.html"]);
    ran.exits_with(3).stdout_contains(&["GET /x", "http_5xx"]);
    let kept = std::fs::read(folder.path("run.plimsoll")).unwrap();
    for secret in ["5ecret-pass", "bWU6NWVjcmV0LXBhc3M", "env-5ecret-value"] {
        assert!(!kept.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
        assert!(!folder.read("run.html").contains(secret), "{secret}");
    }
    plimsoll(&folder, &line).exits_with(2).stderr_contains(&["run.plimsoll", "--force"]);
}

#[test]
fn connections_are_made_as_the_options_describe() {
    let target = target();
    let folder = TestFolder::new("");
    let at = target.addr().to_string();
    let line = ["http", "http://example.invalid/x", "--connect-to", &at, "--local-address", "127.0.0.1"];
    let load = ["-n", "6", "-c", "2", "--disable-keepalive", "--quiet"];
    plimsoll(&folder, &[&line[..], &load].concat()).exits_with(0).stdout_contains(&["MEASURED"]);
    let log = target.log();
    assert_eq!((log.len(), log[0].header("host")), (6, Some("example.invalid")));
    assert_eq!(log.iter().map(|served| served.connection).collect::<BTreeSet<_>>().len(), 6);
}

#[test]
fn the_proxy_comes_from_the_option_or_the_environment() {
    let proxy = target();
    let folder = TestFolder::new("");
    let at = format!("http://{}", proxy.addr());
    plimsoll(&folder, &["http", "http://far.example/x", "-n", "5", "--quiet", "-x", &at])
        .exits_with(0)
        .stdout_contains(&["GET /x"]);
    assert_eq!(proxy.requests(), 5);
    let line = ["http", "http://far.example/x", "-n", "5", "--quiet", "--no-precheck"];
    folder.plimsoll_after(&format!("export HTTP_PROXY={at}"), &line).exits_with(0);
    assert_eq!(proxy.requests(), 10);
    let unless = format!("export HTTP_PROXY={at} NO_PROXY=.example");
    folder.plimsoll_after(&unless, &line).exits_with(2).stderr_contains(&["far.example"]);
    let wrong = folder.plimsoll_after("export HTTP_PROXY=socks5://ann:secret@h:1", &line);
    wrong.exits_with(2).stderr_contains(&["HTTP_PROXY", "socks5"]);
    assert!(!wrong.stderr.contains("secret"), "{}", wrong.stderr);
    assert_eq!(proxy.requests(), 10);
}

#[test]
fn http2_has_several_requests_on_each_connection() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let folder = TestFolder::new("");
    let line = ["http", &url(&target, "/x"), "--http2", "-c", "2", "-p", "4", "-n", "80", "--quiet"];
    plimsoll(&folder, &line).exits_with(0).stdout_contains(&["MEASURED"]);
    let log = target.log();
    assert_eq!(log.len(), 80);
    assert!(log.iter().map(|served| served.connection).collect::<BTreeSet<_>>().len() <= 2);
    plimsoll(&folder, &["http", &url(&target, "/"), "-p", "4"]).exits_with(2).stderr_contains(&["--http2"]);
}

#[test]
fn once_shows_the_exchange() {
    let target = target();
    let folder = TestFolder::new("");
    plimsoll(&folder, &["http", &url(&target, "/x"), "--once"])
        .exits_with(0)
        .stdout_contains(&["> GET http://", "< 200"]);
    assert_eq!(target.requests(), 1);
}

#[test]
fn contradictory_options_get_an_error_with_a_remedy() {
    let folder = TestFolder::new("");
    let refusing = refusal();
    let free = format!("http://{}/", refusing.addr());
    let refused = |arguments: &[&str], parts: &[&str]| {
        plimsoll(&folder, &[&["http"], arguments].concat()).exits_with(2).stderr_contains(parts);
    };
    refused(&[&free, "-r", "5", "-n", "5", "-z", "5s"], &["leave out one of"]);
    refused(&[&free, "-n", "5", "--ramp", "5s"], &["`-z` instead of `-n`"]);
    refused(&[&free, "-z", "5"], &["--duration", "without a unit; write `5s`"]);
    refused(&[&free, "-r", "fast"], &["--rate", "not a rate"]);
    refused(&[&free, "-H", "nothing"], &["name: value"]);
    refused(&[&free, "-D", "no-such-file"], &["no-such-file", "cannot be read"]);
    refused(&[&free, "-d", "a", "-D", "b"], &["cannot be used with"]);
    refused(&["ftp://h/"], &["not a URL"]);
    refused(&[&free], &["nothing answers", &refusing.addr().to_string()]);
    assert!(!plimsoll(&folder, &["http", &free]).stderr.contains("--target"));
}

#[test]
fn help_shows_five_examples() {
    let folder = TestFolder::new("");
    for verb in ["http", "grpc"] {
        let help = folder.plimsoll(&[verb, "--help"]);
        let start = format!("  plimsoll {verb} ");
        assert_eq!(help.exits_with(0).stdout.lines().filter(|line| line.starts_with(&start)).count(), 5);
        help.stdout_contains(&["[default: 200", "[default: 50"]);
    }
}

#[test]
fn a_list_is_sent_in_its_order_and_again_from_its_start() {
    let target = target();
    let folder = TestFolder::new("");
    let at = target.addr();
    folder.write("body.txt", "hello");
    folder.write(
        "list.txt",
        format!(
            "GET http://{at}/a\nx-id: 7\n\nPOST http://{at}/b?c=d\n@body.txt\n\nGET http://{at}/a\nx-id: 8\n"
        ),
    );
    plimsoll(&folder, &["http", "--targets", "list.txt", "-c", "1", "--quiet"])
        .exits_with(0)
        .stdout_contains(&["GET /a", "POST /b"]);
    let log = target.log();
    let seen: Vec<_> = log
        .iter()
        .map(|served| (served.method.as_str(), served.path.as_str(), served.header("x-id").unwrap_or("")))
        .collect();
    assert_eq!(seen, [("GET", "/a", "7"), ("POST", "/b", ""), ("GET", "/a", "8")]);
    assert_eq!((log[1].query.as_str(), log[1].body.as_slice()), ("c=d", b"hello".as_slice()));
    let line = ["http", "--targets", "-", "-n", "8", "-c", "1", "--quiet"];
    folder.plimsoll_after("exec < list.txt", &line).exits_with(0).stdout_contains(&["MEASURED"]);
    let paths: String = target.log()[3..].iter().map(|served| served.path.replace('/', "")).collect();
    assert_eq!(paths, "abaabaab");
}

#[test]
fn a_list_with_more_names_than_are_kept_apart_is_reported() {
    let target = target();
    let folder = TestFolder::new("");
    let list: String = (0..300).map(|n| format!("GET http://{}/{n}\n", target.addr())).collect();
    folder.write("list.txt", list);
    let line = ["http", "--targets", "list.txt", "--quiet", "--json", "run.json", "--loops", "2"];
    plimsoll(&folder, &line)
        .exits_with(0)
        .stdout_contains(&["all other paths", "44 names beyond the limit are counted as one"]);
    assert_eq!(target.requests(), 300);
    assert_eq!(folder.json("run.json")["generator"]["folded_endpoints"], 44);
}

#[test]
fn an_error_in_a_list_names_its_line() {
    let folder = TestFolder::new("");
    plimsoll(&folder, &["http", "--targets", "none.txt"])
        .exits_with(2)
        .stderr_contains(&["none.txt", "cannot be read"]);
    folder.write("bad.txt", "GET nowhere\nname\n");
    plimsoll(&folder, &["http", "--targets", "bad.txt"])
        .exits_with(2)
        .stderr_contains(&["bad.txt:2:", "not a header"]);
    plimsoll(&folder, &["http"]).exits_with(2).stderr_contains(&["<URL"]);
}

#[test]
fn a_call_is_made_by_its_method_name() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let folder = TestFolder::new("");
    folder.write("events.proto", PROTO);
    let address = target.addr().to_string();
    let line = ["grpc", &address, "demo.Events/Send", "-d", "{\"id\": \"a\"}", "--proto", "events.proto"];
    let load = ["-n", "20", "-c", "2", "--connections", "2", "--quiet", "-H", "x-id: 7"];
    plimsoll(&folder, &[&line[..], &load].concat())
        .exits_with(0)
        .stdout_contains(&["MEASURED", "demo.Events/Send"]);
    let log = target.log();
    assert_eq!(log.len(), 20);
    assert!(
        log.iter().all(|served| served.path == "/demo.Events/Send" && served.header("x-id") == Some("7"))
    );
    assert!(log.iter().all(|served| served.body.ends_with(b"\n\x01a")), "{:?}", log[0].body);
    let missing = plimsoll(&folder, &["grpc", &address, "demo.Events/Sned", "--proto", "events.proto"]);
    missing.exits_with(2).stderr_contains(&["did you mean `demo.Events/Send`?"]);
}

#[test]
fn a_target_with_reflection_needs_no_proto_file() {
    let peer = start(Reflects::V1);
    let folder = TestFolder::new("");
    let address = peer.address.to_string();
    let line = ["grpc", &address, "grpc.health.v1.Health/Check", "-d", "{\"service\": \"\"}"];
    plimsoll(&folder, &[&line[..], &["--once"]].concat())
        .exits_with(0)
        .stdout_contains(&["SERVING", "1 exchange, 0 failed"]);
    plimsoll(&folder, &[&line[..], &["-n", "5", "--quiet"]].concat())
        .exits_with(0)
        .stdout_contains(&["MEASURED", "5 ended, 0 failed"]);
    plimsoll(&folder, &["grpc", &address])
        .exits_with(0)
        .stdout_contains(&[
            "grpc.health.v1.Health/Check  unary\n",
            "grpc.health.v1.Health/Watch  server stream\n",
        ])
        .stderr_contains(&["call one of them: plimsoll grpc 127.0.0.1:"]);
    let silent = start(Reflects::Nothing);
    let ran = plimsoll(&folder, &["grpc", &silent.address.to_string(), "demo.Echo/Say"]);
    ran.exits_with(2).stderr_contains(&["offers no reflection"]);
}
