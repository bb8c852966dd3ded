//! Plans of ad-hoc runs, and errors of their options.

use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use workload::FilesInMemory;
use workload::call::{CallOptions, CancelAfter};
use workload::executor::{Arrivals, Executor, Stage, VuStage};
use workload::model::Request;
use workload::schedule::Schedule;

/// One description of a service.
static FILES: LazyLock<FilesInMemory> = LazyLock::new(|| {
    let echo = "syntax = \"proto3\"; package demo;
        message Ping { string text = 1; int32 n = 2; }
        service Echo { rpc Say(Ping) returns (Ping); rpc Watch(Ping) returns (stream Ping);
        rpc Gather(stream Ping) returns (Ping); }";
    FilesInMemory::one("echo.proto", echo)
});

fn env(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "hush".to_owned())
}

fn sources() -> Sources<'static> {
    Sources { files: &*FILES, env: &env }
}

const SECOND: Duration = Duration::from_secs(1);

fn request(url: &str) -> AdhocHttp {
    AdhocHttp {
        requests: AdhocRequests::One(UrlRequest { url: url.to_owned(), method: None }),
        headers: Vec::new(),
        basic_auth: None,
        body: None,
        redirects: 0,
        connecting: Connecting::default(),
        timeout: 30 * SECOND,
        seed: 1,
        pace: Pace::default(),
    }
}

fn call(method: &str, message: &str) -> AdhocGrpc {
    AdhocGrpc {
        address: "127.0.0.1:6565".to_owned(),
        method: method.to_owned(),
        messages: vec![message.to_owned()],
        stream: AdhocStream::default(),
        metadata: Vec::new(),
        proto: vec!["echo.proto".into()],
        connecting: Connecting::default(),
        timeout: SECOND,
        seed: 1,
        pace: Pace::default(),
    }
}

fn executor(pace: Pace) -> Executor {
    let plan = http(&AdhocHttp { pace, ..request("http://h/") }, sources()).unwrap();
    plan.workload.scenarios[0].executor.clone()
}

/// A step, with a gRPC message in place of a path.
struct SentStep {
    name: String,
    method: String,
    path: String,
}

fn sent(plan: &LoadedPlan) -> SentStep {
    let step = plan.workload.scenarios[0].flow.steps().next().unwrap().clone();
    let (method, path) = match step.request {
        Request::Http { method, path, .. } => (method, path.source().to_owned()),
        Request::Grpc { method, message, .. } => (method, message.to_string()),
    };
    SentStep { name: step.name, method, path }
}

#[track_caller]
fn refused(adhoc: &AdhocHttp, parts: &[&str]) {
    let error = http(adhoc, sources()).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "no {part:?} in {error:?}");
    }
}

#[test]
fn the_options_determine_the_executor() {
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
fn a_ramp_is_the_first_phase() {
    let pace = Pace { rate: Some(40.0), duration: Some(SECOND), ramp: Some(2 * SECOND), ..Pace::default() };
    let plan = http(&AdhocHttp { pace, ..request("http://h/") }, sources()).unwrap();
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
fn the_vu_limit_follows_the_rate_unless_it_is_given() {
    let max_vus = |pace| {
        http(&AdhocHttp { pace, ..request("http://h/") }, sources()).unwrap().workload.scenarios[0].max_vus
    };
    let open = Pace { rate: Some(300.0), ..Pace::default() };
    assert_eq!(max_vus(open), 9_000);
    assert_eq!(max_vus(Pace { users: Some(12), ..open }), 12);
    assert_eq!(max_vus(Pace { users: Some(12), ..Pace::default() }), 12);
}

#[test]
fn contradictory_options_are_refused() {
    let pace = |pace| AdhocHttp { pace, ..request("http://h/") };
    let all = Pace { rate: Some(1.0), requests: Some(1), duration: Some(SECOND), ..Pace::default() };
    refused(&pace(all), &["`-r`, `-z`, `-n`"]);
    let ramp = Pace { requests: Some(1), ramp: Some(SECOND), ..Pace::default() };
    refused(&pace(ramp), &["`-z` instead of `-n`", "--ramp"]);
    refused(&pace(Pace { requests: Some(0), ..Pace::default() }), &["-n 1"]);
    refused(&pace(Pace { rate: Some(0.0), ..Pace::default() }), &["above 0"]);
    refused(&pace(Pace { users: Some(0), ..Pace::default() }), &["under way at once"]);
    refused(&pace(Pace { rate: Some(0.001), requests: Some(1 << 40), ..Pace::default() }), &["30 days"]);
}

#[test]
fn urls_are_split_into_target_and_path() {
    let plan = |url: &str| http(&request(url), sources()).unwrap();
    let at = |url: &str| {
        let plan = plan(url);
        let origin = plan.workload.targets["target"].http.clone().unwrap();
        (origin.host, origin.port, sent(&plan).path)
    };
    let expected = |host: &str, port, path: &str| (host.to_owned(), port, path.to_owned());
    assert_eq!(at("http://h:81/a/b?c=d#e"), expected("h", 81, "/a/b?c=d"));
    assert_eq!(at("h"), expected("h", 80, "/"));
    assert_eq!(at("[::1]:9?x"), expected("::1", 9, "/?x"));
    assert_eq!(at("https://h/${uuid()}").1, 443);
    assert_eq!(sent(&plan("h/a?q=1")).name, "GET /a");
    refused(&request("ftp://h/"), &["not a URL"]);
    refused(&request("http://u:p@h/"), &["-a 'user:${env.PASSWORD}'"]);
    refused(&request("http://h/a b"), &["percent-encode"]);
    refused(&request("http://h/${users.id}"), &["has no value here", "plan"]);
}

#[test]
fn a_body_changes_the_method_to_post_and_only_inline_bodies_are_templates() {
    let with = |body| http(&AdhocHttp { body: Some(body), ..request("h") }, sources());
    assert_eq!(sent(&with(Body::Template("{}".to_owned())).unwrap()).method, "POST");
    assert!(with(Body::Template("${users.id}".to_owned())).is_err());
    assert!(with(Body::Exact("${users.id}".to_owned())).is_ok());
    assert!(Body::of_file("x.bin", vec![0xff]).is_err());
    let requests = UrlRequest { url: "h".to_owned(), method: Some("put".to_owned()) };
    let put = AdhocHttp {
        requests: AdhocRequests::One(requests),
        body: Some(Body::Exact(String::new())),
        ..request("h")
    };
    assert_eq!(sent(&http(&put, sources()).unwrap()).method, "PUT");
}

#[test]
fn headers_are_checked_and_environment_variables_are_collected() {
    let with = |name: &str, value: &str| AdhocHttp {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..request("h")
    };
    let plan = http(&with("Authorization", "Bearer ${env.TOKEN}"), sources()).unwrap();
    assert_eq!(plan.env["TOKEN"], "hush");
    refused(&with("x", "${env.NONE}"), &["`NONE` is not set"]);
    refused(&with("Host", "h"), &["--connect-to"]);
    refused(&with("content-length", "3"), &["leave it out"]);
    refused(&with("a b", "3"), &["not a header name"]);
    refused(&with("x", "a\nb"), &["line break"]);
    let with = |pair: &str| AdhocHttp { basic_auth: Some(pair.to_owned()), ..request("h") };
    assert_eq!(http(&with("u:${env.TOKEN}"), sources()).unwrap().env["TOKEN"], "hush");
    assert!(http(&with("${env.TOKEN}"), sources()).is_ok());
    refused(&with("u"), &["`user:password`"]);
    let error = http(&with("u:geheim${"), sources()).unwrap_err().to_string();
    assert!(error.contains("at character 9") && !error.contains("geheim"), "{error}");
}

#[test]
fn a_call_is_checked_against_its_description() {
    let plan = grpc(&call("demo.Echo/Say", r#"{"text": "${uuid()}"}"#), sources()).unwrap();
    assert_eq!(sent(&plan).name, "demo.Echo/Say");
    let error = |adhoc: &AdhocGrpc| grpc(adhoc, sources()).unwrap_err().to_string();
    assert!(error(&call("demo.Echo/Sey", "{}")).contains("did you mean `demo.Echo/Say`?"));
    assert!(error(&call("demo.Echo/Say", "{")).contains("not JSON"));
    assert!(error(&call("demo.Echo/Say", r#"{"nope": 1}"#)).contains("nope"));
    assert!(error(&call("Say", "{}")).contains("package.Service/Method"));
    let undescribed = AdhocGrpc { proto: Vec::new(), ..call("demo.Echo/Say", "{}") };
    assert!(grpc(&undescribed, sources()).unwrap().undescribed().contains_key(TARGET));
    assert!(
        error(&AdhocGrpc { address: "h".to_owned(), ..call("demo.Echo/Say", "{}") })
            .contains("host and port")
    );
}

/// Messages for a method with a stream of requests.
fn streaming(messages: &[&str]) -> AdhocGrpc {
    let messages = messages.iter().map(|text| (*text).to_owned()).collect();
    AdhocGrpc { messages, ..call("demo.Echo/Gather", "") }
}

fn call_of(plan: &LoadedPlan) -> (String, CallOptions) {
    match &plan.workload.scenarios[0].flow.steps().next().unwrap().request {
        Request::Grpc { message, call, .. } => (message.to_string(), call.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_messages_are_read_from_several_options_an_array_or_one_text() {
    let ways: [&[&str]; 4] = [
        &[r#"{"text": "a"}"#, r#"{"text": "b"}"#],
        &[r#"[{"text": "a"}, {"text": "b"}]"#],
        &["{\"text\": \"a\"}\n{\"text\": \"b\"}\n"],
        &[r#"{"text": "a"} {"text": "b"}"#],
    ];
    for way in ways {
        let (first, call) = call_of(&grpc(&streaming(way), sources()).unwrap());
        assert_eq!((first.as_str(), call.then.len()), (r#"{"text":"a"}"#, 1), "{way:?}");
        assert_eq!(call.then[0].to_string(), r#"{"text":"b"}"#);
    }
    let (first, call) = call_of(&grpc(&streaming(&[]), sources()).unwrap());
    assert_eq!((first.as_str(), call), ("{}", CallOptions::default()));
}

#[test]
fn stream_options_must_fit_the_method() {
    let error = |adhoc: &AdhocGrpc| grpc(adhoc, sources()).unwrap_err().to_string();
    let stream = AdhocStream { repeat: Some(3), every: Some(SECOND), ..AdhocStream::default() };
    let adhoc = AdhocGrpc { stream, ..streaming(&[r#"{"text": "a"}"#]) };
    let (_, thrice) = call_of(&grpc(&adhoc, sources()).unwrap());
    assert_eq!((thrice.messages(), thrice.every), (3, SECOND));
    assert!(error(&AdhocGrpc { stream, ..unary_call() }).contains("takes one message"));
    let stream = AdhocStream { repeat: Some(0), ..AdhocStream::default() };
    assert_eq!(call_of(&grpc(&AdhocGrpc { stream, ..streaming(&[]) }, sources()).unwrap()).1.messages(), 0);
    let stream = AdhocStream { repeat: Some(1_000_001), ..AdhocStream::default() };
    assert!(error(&AdhocGrpc { stream, ..streaming(&[]) }).contains("at most 1000000"));
    let stream = AdhocStream { cancel_after: Some(CancelAfter::Messages(2)), ..AdhocStream::default() };
    assert!(error(&AdhocGrpc { stream, ..unary_call() }).contains("answers with one message"));
    let watched = AdhocGrpc { stream, ..call("demo.Echo/Watch", "{}") };
    assert_eq!(call_of(&grpc(&watched, sources()).unwrap()).1.cancel_after, Some(CancelAfter::Messages(2)));
    assert!(error(&streaming(&["[]"])).contains("at least one message"));
    assert!(error(&streaming(&[r#"{"text": "a"} {"text""#])).contains("not JSON"));
    assert!(error(&streaming(&[r#"{"text": "a"}"#, r#"{"nope": 1}"#])).contains("nope"));
}

fn unary_call() -> AdhocGrpc {
    call("demo.Echo/Say", "{}")
}

#[test]
fn random_arrivals_need_a_rate_and_a_duration() {
    let pace = Pace { arrivals: Arrivals::Poisson, ..Pace::default() };
    let plan = |pace| http(&AdhocHttp { pace, ..request("http://h/") }, sources());
    let open = plan(Pace { rate: Some(9.0), duration: Some(SECOND), ..pace }).unwrap();
    assert_eq!(open.workload.scenarios[0].arrivals, Arrivals::Poisson);
    assert!(plan(pace).unwrap_err().to_string().contains("go with a rate"));
    let counted = plan(Pace { rate: Some(9.0), requests: Some(9), ..pace }).unwrap_err();
    assert!(counted.to_string().contains("use `-z` instead of `-n`"));
}

fn listing(list: &str) -> AdhocHttp {
    let list = RequestList { name: "list".to_owned(), content: list.as_bytes().to_vec() };
    AdhocHttp {
        requests: AdhocRequests::Listed(list),
        headers: vec![("x-id".to_owned(), "${iteration}".to_owned())],
        redirects: 3,
        timeout: SECOND,
        ..request("")
    }
}

#[test]
fn requests_of_a_list_share_steps_and_have_a_row_each() {
    let text = "GET http://h/a?x=1\n\nGET http://h/a?x=2\n\nPOST http://h/a\nX-Id: 9\n@echo.proto\n\nGET http://i/a\n";
    let plan = http(&listing(text), sources()).unwrap();
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
fn endpoints_beyond_the_limit_are_folded_into_one() {
    let text: String = (0..1_000).map(|n| format!("GET http://h/{}\n", n % 300)).collect();
    let plan = http(&listing(&text), sources()).unwrap();
    assert_eq!(plan.workload.folded_endpoints(), 44);
    assert_eq!(plan.workload.scenarios[0].flow.steps().count(), 257);
}

#[test]
fn errors_of_a_list_are_reported_with_their_line() {
    let error = |text: &str| http(&listing(text), sources()).unwrap_err().to_string();
    assert!(error("GET http://h/\n\nGET ftp://h/\n").starts_with("list:3: `ftp://h`"));
    assert!(error("GET http://h/\nHost: i\n").contains("list:1: the header `host`"));
    assert!(error("POST http://h/\n@nowhere\n").contains("list:1: nowhere cannot be read"));
    assert!(error("GET http://h/a b\n").contains("percent-encode"));
}

proptest! {
    #[test]
    fn requests_at_a_rate_are_scheduled_in_their_number(requests in 1..1_000_000u64, milli in 1..10_000_000_000u64) {
        let rate = milli as f64 / 1_000.0;
        let pace = Pace { rate: Some(rate), requests: Some(requests), ..Pace::default() };
        match http(&AdhocHttp { pace, ..request("h") }, sources()) {
            Ok(plan) => {
                let schedule = Schedule::new(&plan.workload.scenarios[0].executor).unwrap();
                prop_assert_eq!(schedule.count(), requests);
            }
            Err(error) => prop_assert!(error.to_string().contains("30 days") || rate < 0.1, "{}", error),
        }
    }
}
