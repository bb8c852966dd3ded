//! What lines come to, and what is said of those that come to nothing.

use std::io;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::call::{CallOptions, CancelAfter};
use crate::model::{Arrivals, Executor, Request, Stage, VuStage};
use crate::schedule::Schedule;

struct Shelf;

impl Files for Shelf {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some("echo.proto") => Ok(b"syntax = \"proto3\"; package demo;
                message Ping { string text = 1; int32 n = 2; }
                service Echo { rpc Say(Ping) returns (Ping); rpc Watch(Ping) returns (stream Ping);
                rpc Gather(stream Ping) returns (Ping); }"
                .to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn env(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "hush".to_owned())
}

const SOURCES: Sources<'static> = Sources { files: &Shelf, env: &env };
const SECOND: Duration = Duration::from_secs(1);

fn line(url: &str) -> HttpAdhoc {
    HttpAdhoc {
        url: url.to_owned(),
        method: None,
        headers: Vec::new(),
        body: None,
        redirects: 0,
        connecting: Connecting::default(),
        timeout: 30 * SECOND,
        seed: 1,
        pace: Pace::default(),
    }
}

fn call(method: &str, message: &str) -> GrpcAdhoc {
    GrpcAdhoc {
        address: "127.0.0.1:6565".to_owned(),
        method: method.to_owned(),
        messages: vec![message.to_owned()],
        stream: StreamLine::default(),
        metadata: Vec::new(),
        proto: vec!["echo.proto".into()],
        connecting: Connecting::default(),
        timeout: SECOND,
        seed: 1,
        pace: Pace::default(),
    }
}

fn executor(pace: Pace) -> Executor {
    let plan = http(&HttpAdhoc { pace, ..line("http://h/") }, SOURCES).unwrap();
    plan.workload.scenarios[0].executor.clone()
}

/// The plan's step: its name, method and path.
fn sent(plan: &LoadedPlan) -> (String, String, String) {
    let step = plan.workload.scenarios[0].flow.steps().next().unwrap().clone();
    match step.request {
        Request::Http { method, path, .. } => (step.name, method, path.source().to_owned()),
        Request::Grpc { method, message, .. } => (step.name, method, message.to_string()),
    }
}

#[track_caller]
fn refused(line: &HttpAdhoc, parts: &[&str]) {
    let error = http(line, SOURCES).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "no {part:?} in {error:?}");
    }
}

#[test]
fn the_pace_chooses_the_model() {
    let shared = |vus, iterations, max_duration| Executor::SharedIterations { vus, iterations, max_duration };
    assert_eq!(executor(Pace::default()), shared(50, 200, MAX_DURATION));
    let few = Pace { requests: Some(7), ..Pace::default() };
    assert_eq!(executor(few), shared(7, 7, MAX_DURATION));
    let both = Pace { requests: Some(1_000), duration: Some(SECOND), users: Some(8), ..Pace::default() };
    assert_eq!(executor(both), shared(8, 1_000, SECOND));
    let timed = Pace { duration: Some(SECOND), users: Some(8), ..Pace::default() };
    assert_eq!(executor(timed), Executor::ConstantVus { vus: 8, duration: SECOND });
    let open = Pace { rate: Some(300.0), duration: Some(SECOND), ..Pace::default() };
    assert_eq!(executor(open), Executor::ConstantArrivalRate { rate: 300.0, duration: SECOND });
    let bare = Pace { rate: Some(300.0), ..Pace::default() };
    assert_eq!(executor(bare), Executor::ConstantArrivalRate { rate: 300.0, duration: 10 * SECOND });
}

#[test]
fn a_ramp_comes_first_and_is_a_phase_of_its_own() {
    let pace = Pace { rate: Some(40.0), duration: Some(SECOND), ramp: Some(2 * SECOND), ..Pace::default() };
    let plan = http(&HttpAdhoc { pace, ..line("http://h/") }, SOURCES).unwrap();
    let stages = vec![Stage { to: 40.0, over: 2 * SECOND }, Stage { to: 40.0, over: SECOND }];
    let executor = &plan.workload.scenarios[0].executor;
    assert_eq!(*executor, Executor::RampingArrivalRate { start_rate: 0.0, stages });
    let phases: Vec<_> = plan.workload.phases.iter().map(|p| (p.name.as_str(), p.start, p.end)).collect();
    assert_eq!(phases, [("ramp", Duration::ZERO, 2 * SECOND), ("steady", 2 * SECOND, 3 * SECOND)]);
    let users = Pace { rate: None, users: Some(9), ..pace };
    let stages = vec![VuStage { to: 9, over: 2 * SECOND }, VuStage { to: 9, over: SECOND }];
    let graceful_ramp_down = Duration::ZERO;
    assert_eq!(self::executor(users), Executor::RampingVus { start_vus: 0, stages, graceful_ramp_down });
}

#[test]
fn the_cap_follows_the_rate_unless_it_is_said() {
    let cap =
        |pace| http(&HttpAdhoc { pace, ..line("http://h/") }, SOURCES).unwrap().workload.scenarios[0].max_vus;
    let open = Pace { rate: Some(300.0), ..Pace::default() };
    assert_eq!(cap(open), 9_000);
    assert_eq!(cap(Pace { users: Some(12), ..open }), 12);
    assert_eq!(cap(Pace { users: Some(12), ..Pace::default() }), 12);
}

#[test]
fn paces_that_contradict_themselves_are_refused() {
    let pace = |pace| HttpAdhoc { pace, ..line("http://h/") };
    let all = Pace { rate: Some(1.0), requests: Some(1), duration: Some(SECOND), ..Pace::default() };
    refused(&pace(all), &["`-q`, `-z`, `-n`"]);
    let ramp = Pace { requests: Some(1), ramp: Some(SECOND), ..Pace::default() };
    refused(&pace(ramp), &["`-z` instead of `-n`", "--ramp"]);
    refused(&pace(Pace { requests: Some(0), ..Pace::default() }), &["-n 1"]);
    refused(&pace(Pace { rate: Some(0.0), ..Pace::default() }), &["above 0"]);
    refused(&pace(Pace { users: Some(0), ..Pace::default() }), &["under way at once"]);
    refused(&pace(Pace { rate: Some(0.001), requests: Some(1 << 40), ..Pace::default() }), &["30 days"]);
}

#[test]
fn urls_are_split_into_target_and_path() {
    let plan = |url: &str| http(&line(url), SOURCES).unwrap();
    let at = |url: &str| {
        let plan = plan(url);
        let origin = plan.workload.targets["target"].http.clone().unwrap();
        (origin.host, origin.port, sent(&plan).2)
    };
    let expected = |host: &str, port, path: &str| (host.to_owned(), port, path.to_owned());
    assert_eq!(at("http://h:81/a/b?c=d#e"), expected("h", 81, "/a/b?c=d"));
    assert_eq!(at("h"), expected("h", 80, "/"));
    assert_eq!(at("[::1]:9?x"), expected("::1", 9, "/?x"));
    assert_eq!(at("https://h/${uuid()}").1, 443);
    assert_eq!(sent(&plan("h/a?q=1")).0, "GET /a");
    refused(&line("ftp://h/"), &["no URL"]);
    refused(&line("http://u:p@h/"), &["-a user:password"]);
    refused(&line("http://h/a b"), &["percent-encode"]);
    refused(&line("http://h/${users.id}"), &["stands for nothing", "plan"]);
}

#[test]
fn a_body_makes_it_a_post_and_only_what_is_written_here_is_a_template() {
    let with = |body| http(&HttpAdhoc { body: Some(body), ..line("h") }, SOURCES);
    assert_eq!(sent(&with(Body::Template("{}".to_owned())).unwrap()).1, "POST");
    assert!(with(Body::Template("${nobody.knows}".to_owned())).is_err());
    assert!(with(Body::Exact("${nobody.knows}".to_owned())).is_ok());
    assert!(Body::of_file("x.bin", vec![0xff]).is_err());
    let put =
        HttpAdhoc { method: Some("put".to_owned()), body: Some(Body::Exact(String::new())), ..line("h") };
    assert_eq!(sent(&http(&put, SOURCES).unwrap()).1, "PUT");
}

#[test]
fn headers_are_checked_and_secrets_come_by_name() {
    let with = |name: &str, value: &str| HttpAdhoc {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..line("h")
    };
    let plan = http(&with("Authorization", "Bearer ${env.TOKEN}"), SOURCES).unwrap();
    assert_eq!(plan.env["TOKEN"], "hush");
    refused(&with("x", "${env.NONE}"), &["`NONE` is not set"]);
    refused(&with("Host", "h"), &["--connect-to"]);
    refused(&with("content-length", "3"), &["leave it out"]);
    refused(&with("a b", "3"), &["no header name"]);
    refused(&with("x", "a\nb"), &["line break"]);
    assert_eq!(basic_auth("u:p").unwrap().1, "Basic dTpw");
    assert!(basic_auth("u").is_err());
}

#[test]
fn a_call_is_checked_against_its_description() {
    let plan = grpc(&call("demo.Echo/Say", r#"{"text": "${uuid()}"}"#), SOURCES).unwrap();
    assert_eq!(sent(&plan).0, "demo.Echo/Say");
    assert_eq!(plan.workload.targets["target"].grpc.as_ref().unwrap().connections, 4);
    let error = |line: &GrpcAdhoc| grpc(line, SOURCES).unwrap_err().to_string();
    assert!(error(&call("demo.Echo/Sey", "{}")).contains("did you mean `demo.Echo/Say`?"));
    assert!(error(&call("demo.Echo/Say", "{")).contains("no JSON"));
    assert!(error(&call("demo.Echo/Say", r#"{"nope": 1}"#)).contains("nope"));
    assert!(error(&call("Say", "{}")).contains("package.Service/Method"));
    let undescribed = GrpcAdhoc { proto: Vec::new(), ..call("demo.Echo/Say", "{}") };
    assert!(grpc(&undescribed, SOURCES).unwrap().undescribed().contains_key(TARGET));
    assert!(
        error(&GrpcAdhoc { address: "h".to_owned(), ..call("demo.Echo/Say", "{}") })
            .contains("host and port")
    );
}

/// Two methods of which one takes a stream, and one answers with one.
fn streaming(messages: &[&str]) -> GrpcAdhoc {
    let messages = messages.iter().map(|text| (*text).to_owned()).collect();
    GrpcAdhoc { messages, ..call("demo.Echo/Gather", "") }
}

fn texts_of(plan: &LoadedPlan) -> (String, CallOptions) {
    match &plan.workload.scenarios[0].flow.steps().next().unwrap().request {
        Request::Grpc { message, call, .. } => (message.to_string(), call.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_messages_are_given_in_turn_as_an_array_or_one_after_another() {
    let ways: [&[&str]; 4] = [
        &[r#"{"text": "a"}"#, r#"{"text": "b"}"#],
        &[r#"[{"text": "a"}, {"text": "b"}]"#],
        &["{\"text\": \"a\"}\n{\"text\": \"b\"}\n"],
        &[r#"{"text": "a"} {"text": "b"}"#],
    ];
    for way in ways {
        let (first, call) = texts_of(&grpc(&streaming(way), SOURCES).unwrap());
        assert_eq!((first.as_str(), call.then.len()), (r#"{"text":"a"}"#, 1), "{way:?}");
        assert_eq!(call.then[0].to_string(), r#"{"text":"b"}"#);
    }
    let (first, call) = texts_of(&grpc(&streaming(&[]), SOURCES).unwrap());
    assert_eq!((first.as_str(), call), ("{}", CallOptions::default()));
}

#[test]
fn streams_are_what_the_method_can_do() {
    let error = |line: &GrpcAdhoc| grpc(line, SOURCES).unwrap_err().to_string();
    let stream = StreamLine { repeat: Some(3), every: Some(SECOND), ..StreamLine::default() };
    let line = GrpcAdhoc { stream, ..streaming(&[r#"{"text": "a"}"#]) };
    let (_, thrice) = texts_of(&grpc(&line, SOURCES).unwrap());
    assert_eq!((thrice.messages(), thrice.every), (3, SECOND));
    assert!(error(&GrpcAdhoc { stream, ..call_of_one() }).contains("takes one message"));
    let stream = StreamLine { repeat: Some(0), ..StreamLine::default() };
    assert_eq!(texts_of(&grpc(&GrpcAdhoc { stream, ..streaming(&[]) }, SOURCES).unwrap()).1.messages(), 0);
    let stream = StreamLine { repeat: Some(1_000_001), ..StreamLine::default() };
    assert!(error(&GrpcAdhoc { stream, ..streaming(&[]) }).contains("at most 1000000"));
    let stream = StreamLine { cancel_after: Some(CancelAfter::Messages(2)), ..StreamLine::default() };
    assert!(error(&GrpcAdhoc { stream, ..call_of_one() }).contains("answers with one message"));
    let watched = GrpcAdhoc { stream, ..call("demo.Echo/Watch", "{}") };
    assert_eq!(texts_of(&grpc(&watched, SOURCES).unwrap()).1.cancel_after, Some(CancelAfter::Messages(2)));
    assert!(error(&streaming(&["[]"])).contains("at least one message"));
    assert!(error(&streaming(&[r#"{"text": "a"} {"text""#])).contains("no JSON"));
    assert!(error(&streaming(&[r#"{"text": "a"}"#, r#"{"nope": 1}"#])).contains("nope"));
}

fn call_of_one() -> GrpcAdhoc {
    call("demo.Echo/Say", "{}")
}

#[test]
fn arrivals_at_random_are_those_of_a_rate() {
    let pace = Pace { arrivals: Arrivals::Poisson, ..Pace::default() };
    let plan = |pace| http(&HttpAdhoc { pace, ..line("http://h/") }, SOURCES);
    let open = plan(Pace { rate: Some(9.0), duration: Some(SECOND), ..pace }).unwrap();
    assert_eq!(open.workload.scenarios[0].arrivals, Arrivals::Poisson);
    assert!(plan(pace).unwrap_err().to_string().contains("go with a rate"));
    let counted = plan(Pace { rate: Some(9.0), requests: Some(9), ..pace }).unwrap_err();
    assert!(counted.to_string().contains("use `-z` instead of `-n`"));
}

fn listing(list: &str) -> ListAdhoc {
    ListAdhoc {
        name: "list".to_owned(),
        list: list.as_bytes().to_vec(),
        headers: vec![("x-id".to_owned(), "${iteration}".to_owned())],
        body: None,
        redirects: 3,
        connecting: Connecting::default(),
        timeout: SECOND,
        seed: 1,
        pace: Pace::default(),
    }
}

#[test]
fn requests_of_a_list_share_steps_and_are_rows() {
    let text = "GET http://h/a?x=1\n\nGET http://h/a?x=2\n\nPOST http://h/a\nX-Id: 9\n@echo.proto\n\nGET http://i/a\n";
    let plan = super::list(&listing(text), SOURCES).unwrap();
    let scenario = &plan.workload.scenarios[0];
    let names: Vec<_> = scenario.flow.steps().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["GET /a", "POST /a", "GET /a"]);
    assert_eq!(plan.workload.targets.keys().collect::<Vec<_>>(), ["http://h:80", "http://i:80"]);
    let table = &plan.tables["list"];
    let value = |row, name| table.value(row, table.column(name).unwrap());
    assert_eq!([0, 1, 2, 3].map(|row| value(row, "step")), ["0", "0", "1", "2"]);
    assert_eq!((value(1, "path"), value(2, "header0")), ("/a?x=2".to_owned(), "9".to_owned()));
    assert!(value(2, "body").starts_with("syntax"));
    let headers: Vec<_> = scenario.flow.steps().map(|step| step.request.headers()[0].1.source()).collect();
    assert_eq!(headers, ["${iteration}", "${list.header0}", "${iteration}"]);
    assert_eq!((scenario.executor.iterations(), plan.workload.data["list"].rows), (Some(4), 4));
}

#[test]
fn names_beyond_those_that_are_told_apart_are_folded_into_one() {
    let text: String = (0..1_000).map(|n| format!("GET http://h/{}\n", n % 300)).collect();
    let plan = super::list(&listing(&text), SOURCES).unwrap();
    assert_eq!(plan.workload.folded_endpoints(), 44);
    assert_eq!(plan.workload.scenarios[0].flow.steps().count(), 257);
}

#[test]
fn what_is_wrong_with_a_list_is_told_with_its_line() {
    let error = |text: &str| super::list(&listing(text), SOURCES).unwrap_err().to_string();
    assert!(error("GET http://h/\n\nGET ftp://h/\n").starts_with("list:3: `ftp://h`"));
    assert!(error("GET http://h/\nHost: i\n").contains("list:1: the header `host`"));
    assert!(error("POST http://h/\n@nowhere\n").contains("list:1: nowhere cannot be read"));
    assert!(error("GET http://h/a b\n").contains("percent-encode"));
}

proptest! {
    #[test]
    fn a_number_of_requests_at_a_rate_is_that_many_arrivals(requests in 1..1_000_000u64, milli in 1..10_000_000_000u64) {
        let rate = milli as f64 / 1_000.0;
        let pace = Pace { rate: Some(rate), requests: Some(requests), ..Pace::default() };
        match http(&HttpAdhoc { pace, ..line("h") }, SOURCES) {
            Ok(plan) => {
                let schedule = Schedule::new(&plan.workload.scenarios[0].executor).unwrap();
                prop_assert_eq!(schedule.count(), requests);
            }
            Err(error) => prop_assert!(error.to_string().contains("30 days") || rate < 0.1, "{}", error),
        }
    }
}
