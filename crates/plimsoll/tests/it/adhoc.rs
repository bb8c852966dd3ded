//! Loads without a plan: what a line's options send, and what is left of it.

use std::collections::BTreeSet;

use testbed::{Behaviour, CannedResponse, GrpcBehaviour, Target};

use crate::command::{Place, Ran, refusal};
use crate::tonic_peer::{Reflects, start};

const PROTO: &str = "syntax = \"proto3\";\npackage demo;\nservice Events { rpc Send(Event) returns (Event); }\n\
                     message Event { string id = 1; }\n";

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

fn url(target: &Target, path: &str) -> String {
    format!("http://{}{path}", target.addr())
}

/// Run a line whose temporary files lie in the place's folder `tmp`.
fn plimsoll(place: &Place, arguments: &[&str]) -> Ran {
    place.plimsoll_after("mkdir -p tmp; export TMPDIR=$PWD/tmp", arguments)
}

#[test]
fn a_bare_url_is_asked_two_hundred_times_and_leaves_nothing() {
    let target = target();
    let place = Place::new("");
    let ran = plimsoll(&place, &["http", &url(&target, "/x?y=1"), "--quiet"]);
    ran.ended(0).says(&["MEASURED", "GET /x"]);
    assert_eq!((target.requests(), ran.stderr.as_str()), (200, ""));
    assert!(target.connections() <= 60, "{}", target.connections());
    assert_eq!(place.files(""), ["plan.toml", "stderr.txt", "stdout.txt", "tmp"]);
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 0);
    assert!(!ran.stdout.contains("run.plimsoll"), "a file that is gone is not told of: {}", ran.stdout);
}

#[test]
fn a_rate_and_a_number_send_exactly_that_many() {
    let target = target();
    let place = Place::new("");
    let line = ["http", &url(&target, "/"), "-q", "100", "-n", "50", "--quiet", "--json", "run.json"];
    plimsoll(&place, &line).ended(0);
    assert_eq!(target.requests(), 50);
    let report = place.json("run.json");
    assert_eq!(report["verdict"], "MEASURED");
    assert_eq!(report["books"]["arrivals"]["scheduled"], 50);
}

#[test]
fn connections_and_a_duration_are_a_closed_model() {
    let target = testbed::http(Behaviour::after(std::time::Duration::from_millis(20))).unwrap();
    let place = Place::new("");
    let line = ["http", &url(&target, "/"), "-c", "3", "-z", "1s", "--quiet"];
    plimsoll(&place, &line).ended(0).says(&["MEASURED"]);
    assert_eq!(target.connections(), 4, "three, and the look whether anybody is there");
    assert!(target.requests() > 3);
}

#[test]
fn a_ramp_is_a_phase_of_its_own() {
    let target = target();
    let place = Place::new("");
    let line = ["http", &url(&target, "/"), "--rate", "40/s", "--ramp", "1s", "--duration", "1s", "--quiet"];
    plimsoll(&place, &line).ended(0).says(&["ramp", "steady"]);
    assert_eq!(target.requests(), 60);
}

#[test]
fn what_is_sent_is_what_the_options_say() {
    let target = target();
    let place = Place::new("");
    place.write("body.json", "{\"cost\": \"${5}\"}");
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
    plimsoll(&place, &[&common[..], &["-a", "me:5ecret-pass", "-D", "body.json"]].concat()).ended(0);
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
fn evidence_is_kept_where_it_is_asked_for_without_what_is_secret() {
    let target = testbed::http(Behaviour::from(CannedResponse::new(500).body("out of cheese"))).unwrap();
    let place = Place::new("");
    let to = url(&target, "/x");
    let line = ["http", &to, "-n", "3", "-c", "1", "--quiet", "-a", "me:5ecret-pass", "-o", "run.plimsoll"];
    let secret = ["-H", "x-api-key: ${env.TOKEN}"];
    plimsoll(&place, &[&line[..], &secret].concat()).ended(0).says(&["MEASURED", "run.plimsoll"]);
    let ran = place.plimsoll(&["report", "run.plimsoll", "--html", "run.html"]);
    ran.ended(0).says(&["GET /x", "http_5xx"]);
    let kept = std::fs::read(place.path("run.plimsoll")).unwrap();
    for secret in ["5ecret-pass", "bWU6NWVjcmV0LXBhc3M", "env-5ecret-value"] {
        assert!(!kept.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
        assert!(!place.read("run.html").contains(secret), "{secret}");
    }
    plimsoll(&place, &line).ended(2).complains(&["run.plimsoll", "--force"]);
}

#[test]
fn connections_are_made_as_the_options_say() {
    let target = target();
    let place = Place::new("");
    let at = target.addr().to_string();
    let line = ["http", "http://example.invalid/x", "--connect-to", &at, "--local-address", "127.0.0.1"];
    let load = ["-n", "6", "-c", "2", "--disable-keepalive", "--quiet"];
    plimsoll(&place, &[&line[..], &load].concat()).ended(0).says(&["MEASURED"]);
    let log = target.log();
    assert_eq!((log.len(), log[0].header("host")), (6, Some("example.invalid")));
    assert_eq!(log.iter().map(|served| served.connection).collect::<BTreeSet<_>>().len(), 6);
}

#[test]
fn a_proxy_is_the_one_that_is_named_or_that_of_the_environment() {
    let proxy = target();
    let place = Place::new("");
    let at = format!("http://{}", proxy.addr());
    plimsoll(&place, &["http", "http://far.example/x", "-n", "5", "--quiet", "-x", &at])
        .ended(0)
        .says(&["GET /x"]);
    assert_eq!(proxy.requests(), 5);
    let line = ["http", "http://far.example/x", "-n", "5", "--quiet"];
    place.plimsoll_after(&format!("export HTTP_PROXY={at}"), &line).ended(0);
    assert_eq!(proxy.requests(), 10);
    let unless = format!("export HTTP_PROXY={at} NO_PROXY=.example");
    place.plimsoll_after(&unless, &line).ended(2).complains(&["far.example"]);
    let wrong = place.plimsoll_after("export HTTP_PROXY=socks5://ann:secret@h:1", &line);
    wrong.ended(2).complains(&["HTTP_PROXY", "socks5"]);
    assert!(!wrong.stderr.contains("secret"), "{}", wrong.stderr);
    assert_eq!(proxy.requests(), 10);
}

#[test]
fn http2_has_several_requests_on_each_connection() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let place = Place::new("");
    let line = ["http", &url(&target, "/x"), "--http2", "-c", "2", "-p", "4", "-n", "80", "--quiet"];
    plimsoll(&place, &line).ended(0).says(&["MEASURED"]);
    let log = target.log();
    assert_eq!(log.len(), 80);
    assert!(log.iter().map(|served| served.connection).collect::<BTreeSet<_>>().len() <= 2);
    plimsoll(&place, &["http", &url(&target, "/"), "-p", "4"]).ended(2).complains(&["--http2"]);
}

#[test]
fn once_shows_the_exchange() {
    let target = target();
    let place = Place::new("");
    plimsoll(&place, &["http", &url(&target, "/x"), "--once"]).ended(0).says(&["> GET http://", "< 200"]);
    assert_eq!(target.requests(), 1);
}

#[test]
fn lines_that_make_no_sense_say_what_to_do() {
    let place = Place::new("");
    let nobody = refusal();
    let free = format!("http://{}/", nobody.addr());
    let refused = |arguments: &[&str], parts: &[&str]| {
        plimsoll(&place, &[&["http"], arguments].concat()).ended(2).complains(parts);
    };
    refused(&[&free, "-q", "5", "-n", "5", "-z", "5s"], &["leave out one of"]);
    refused(&[&free, "-n", "5", "--ramp", "5s"], &["`-z` instead of `-n`"]);
    refused(&[&free, "-z", "5"], &["--duration", "number with a unit"]);
    refused(&[&free, "-q", "fast"], &["--rate", "no rate"]);
    refused(&[&free, "-H", "nothing"], &["name: value"]);
    refused(&[&free, "-D", "no-such-file"], &["no-such-file", "cannot be read"]);
    refused(&[&free, "-d", "a", "-D", "b"], &["cannot be used with"]);
    refused(&["ftp://h/"], &["no URL"]);
    refused(&[&free], &["nothing answers", &nobody.addr().to_string()]);
    assert!(!plimsoll(&place, &["http", &free]).stderr.contains("--target"));
}

#[test]
fn help_shows_five_examples() {
    let place = Place::new("");
    for verb in ["http", "grpc"] {
        let help = place.plimsoll(&[verb, "--help"]);
        let start = format!("  plimsoll {verb} ");
        assert_eq!(help.ended(0).stdout.lines().filter(|line| line.starts_with(&start)).count(), 5);
        help.says(&["[default: 200", "[default: 50"]);
    }
}

#[test]
fn a_list_is_sent_in_its_order_and_again_from_its_start() {
    let target = target();
    let place = Place::new("");
    let at = target.addr();
    place.write("body.txt", "hello");
    place.write(
        "list.txt",
        format!(
            "GET http://{at}/a\nx-id: 7\n\nPOST http://{at}/b?c=d\n@body.txt\n\nGET http://{at}/a\nx-id: 8\n"
        ),
    );
    plimsoll(&place, &["http", "--targets", "list.txt", "-c", "1", "--quiet"])
        .ended(0)
        .says(&["GET /a", "POST /b"]);
    let log = target.log();
    let seen: Vec<_> = log
        .iter()
        .map(|served| (served.method.as_str(), served.path.as_str(), served.header("x-id").unwrap_or("")))
        .collect();
    assert_eq!(seen, [("GET", "/a", "7"), ("POST", "/b", ""), ("GET", "/a", "8")]);
    assert_eq!((log[1].query.as_str(), log[1].body.as_slice()), ("c=d", b"hello".as_slice()));
    let line = ["http", "--targets", "-", "-n", "8", "-c", "1", "--quiet"];
    place.plimsoll_after("exec < list.txt", &line).ended(0).says(&["MEASURED"]);
    let paths: String = target.log()[3..].iter().map(|served| served.path.replace('/', "")).collect();
    assert_eq!(paths, "abaabaab");
}

#[test]
fn a_list_of_more_names_than_are_told_apart_says_so() {
    let target = target();
    let place = Place::new("");
    let list: String = (0..300).map(|n| format!("GET http://{}/{n}\n", target.addr())).collect();
    place.write("list.txt", list);
    let line = ["http", "--targets", "list.txt", "--quiet", "--json", "run.json", "--loops", "2"];
    plimsoll(&place, &line)
        .ended(0)
        .says(&["all other paths", "44 names beyond the limit are counted as one"]);
    assert_eq!(target.requests(), 300);
    assert_eq!(place.json("run.json")["generator"]["folded_endpoints"], 44);
}

#[test]
fn lists_that_cannot_be_used_say_where() {
    let place = Place::new("");
    plimsoll(&place, &["http", "--targets", "none.txt"]).ended(2).complains(&["none.txt", "cannot be read"]);
    place.write("bad.txt", "GET nowhere\nname\n");
    plimsoll(&place, &["http", "--targets", "bad.txt"]).ended(2).complains(&["bad.txt:2:", "no header"]);
    plimsoll(&place, &["http"]).ended(2).complains(&["<URL"]);
}

#[test]
fn a_call_is_made_by_its_name() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let place = Place::new("");
    place.write("events.proto", PROTO);
    let address = target.addr().to_string();
    let line = ["grpc", &address, "demo.Events/Send", "-d", "{\"id\": \"a\"}", "--proto", "events.proto"];
    let load = ["-n", "20", "-c", "2", "--connections", "2", "--quiet", "-H", "x-id: 7"];
    plimsoll(&place, &[&line[..], &load].concat()).ended(0).says(&["MEASURED", "demo.Events/Send"]);
    let log = target.log();
    assert_eq!(log.len(), 20);
    assert!(
        log.iter().all(|served| served.path == "/demo.Events/Send" && served.header("x-id") == Some("7"))
    );
    assert!(log.iter().all(|served| served.body.ends_with(b"\n\x01a")), "{:?}", log[0].body);
    let missing = plimsoll(&place, &["grpc", &address, "demo.Events/Sned", "--proto", "events.proto"]);
    missing.ended(2).complains(&["did you mean `demo.Events/Send`?"]);
}

#[test]
fn a_target_that_reflects_needs_no_description() {
    let peer = start(Reflects::V1);
    let place = Place::new("");
    let address = peer.address.to_string();
    let line = ["grpc", &address, "grpc.health.v1.Health/Check", "-d", "{\"service\": \"\"}"];
    plimsoll(&place, &[&line[..], &["--once"]].concat()).ended(0).says(&["SERVING", "1 exchanges, 0 failed"]);
    plimsoll(&place, &[&line[..], &["-n", "5", "--quiet"]].concat())
        .ended(0)
        .says(&["MEASURED", "5 ended, 0 failed"]);
    let silent = start(Reflects::Nothing);
    let ran = plimsoll(&place, &["grpc", &silent.address.to_string(), "demo.Echo/Say"]);
    ran.ended(2).complains(&["offers no reflection"]);
}
