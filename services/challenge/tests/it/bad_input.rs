//! Invalid input: it is refused, changes nothing, and the service answers the next request.

use std::time::Duration;

use axum::body::{Body, Bytes};
use challenge::proto::service as proto;
use hyper::{Method, Request, StatusCode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use testkit::data::TestDatabase;
use testkit::grpc::{self, framed};
use testkit::http::{Response, connect_and_send, send_bytes};
use testkit::process::{Process, random_bytes};
use tonic::Code;

use crate::process::serving;
use crate::support::{Player, Publisher, Server};

const LIST: &str = "/challenge/v1/challenges";
const ACTIVE: &str = "/challenge/v1/challenges/challenge-001/goals/goal-001-02/active";

#[tokio::test]
async fn bodies_of_any_other_form_are_refused_and_change_nothing() {
    let server = Server::start().await;
    let ann = server.player("ann");
    let deep = format!(r#"{{"x":{}"#, "[".repeat(5_000));
    for body in [
        &b"null"[..],
        b"true",
        b"1",
        b"\"isActive\"",
        b"[true]",
        b" [true]",
        b"[[\"isActive\",true]]",
        br#"{"isActive":"true"}"#,
        br#"{"isActive":1}"#,
        br#"{"isActive":[true]}"#,
        br#"{"isActive":{}}"#,
        br#"{"isActive":true,"is_active":false}"#,
        br#"{"isActive":true}{"isActive":true}"#,
        br#"{"isActive":true"#,
        b"isActive=true",
        b"\xff\xfe{}",
        b"{\"isActive\":true,\"x\":\"\xff\"}",
        b"\0",
        deep.as_bytes(),
    ] {
        let (status, answer) = ann.send(Method::PUT, ACTIVE, body).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
        assert_eq!(
            (status, &answer["errorCode"]),
            (StatusCode::BAD_REQUEST, &json!("INVALID_REQUEST")),
            "{shown}"
        );
        assert_eq!(answer["code"], 3, "{shown}");
    }
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
    let (status, answer) = ann.set_active("goal-001-02", r#"{"isActive":null}"#).await;
    assert_eq!((status, &answer["isActive"]), (StatusCode::OK, &json!(false)), "null means false");
}

/// Bodies that have no meaning for the operation are not read.
#[tokio::test]
async fn bodies_without_meaning_may_have_any_content() {
    let server = Server::start().await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let large = "x".repeat(1 << 20);
    for body in ["", "{", "null", large.as_str()] {
        let request = server.player("ann").request(Method::POST, &format!("{LIST}/initialize"), body);
        // A large body that is not read may break the connection while it is still being sent.
        if let Ok(response) = server.http().try_exchange(request).await {
            assert_eq!(response.status, StatusCode::OK);
        }
    }
    assert_eq!(server.player("ann").initialize().await["newAssignments"], 0);
    assert_eq!(server.player("ann").claim("goal-010-01").await.0, StatusCode::OK);
}

#[tokio::test]
async fn unknown_ids_are_shortened_in_the_refusal() {
    let server = Server::start().await;
    let (ann, grpc) = (server.player("ann"), server.caller("ann").await);
    let long = "x".repeat(8_000);
    for (id, status, code) in [
        (long.as_str(), 404, "GOAL_NOT_FOUND"),
        ("%20", 404, "GOAL_NOT_FOUND"),
        ("%00", 404, "GOAL_NOT_FOUND"),
        ("goal-001-02%2Factive", 404, "GOAL_NOT_FOUND"),
        ("..%2F..%2Fgoal-001-02", 404, "GOAL_NOT_FOUND"),
        ("%F0%9F%92%A5", 404, "GOAL_NOT_FOUND"),
        ("'%20OR%201=1--", 404, "GOAL_NOT_FOUND"),
        ("%FF", 400, "INVALID_REQUEST"),
        ("%C3%28", 400, "INVALID_REQUEST"),
        ("%zz", 404, "GOAL_NOT_FOUND"),
        ("", 404, "GOAL_NOT_FOUND"),
    ] {
        for (method, verb) in [(Method::PUT, "active"), (Method::POST, "claim")] {
            let path = format!("{LIST}/challenge-001/goals/{id}/{verb}");
            let (answered, answer) = ann.send(method, &path, "{}").await;
            assert_eq!((answered.as_u16(), &answer["errorCode"]), (status, &json!(code)), "{id:.20} {verb}");
            assert!(answer["message"].as_str().unwrap().len() < 200, "{id:.20}");
        }
    }
    let (status, _) = ann.send(Method::PUT, &ACTIVE.replace("goal-", "goal%2D"), "{}").await;
    assert_eq!(status, StatusCode::OK, "percent-encoding is undone");
    for (challenge, goal, code) in [
        ("challenge-001", long.as_str(), Code::NotFound),
        (long.as_str(), "goal-001-02", Code::NotFound),
        ("", "goal-001-02", Code::InvalidArgument),
        ("challenge-001", "", Code::InvalidArgument),
    ] {
        let message =
            proto::ClaimRewardRequest { challenge_id: challenge.to_owned(), goal_id: goal.to_owned() };
        let refused = grpc.client.clone().claim_goal_reward(grpc.call(message)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{challenge:.20} {goal:.20}");
        assert!(refused.message().len() < 200);
    }
}

#[tokio::test]
async fn repeated_and_too_long_headers_are_refused() {
    let server = Server::start().await;
    let twice = [("x-mock-user-id", "ann"), ("x-mock-user-id", "bob")];
    let (status, answer) = server.http().request(Method::GET, LIST, &twice, "").await;
    assert_eq!((status, &answer["errorCode"]), (StatusCode::UNAUTHORIZED, &json!("UNAUTHENTICATED")));
    let head =
        format!("GET {LIST} HTTP/1.1\r\nhost: test\r\nx-mock-user-id: {}\r\n\r\n", "a".repeat(1 << 20));
    let answer = send_bytes(server.running.addresses.http.unwrap(), head.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
    let many = format!("GET {LIST} HTTP/1.1\r\nhost: test\r\n{}\r\n", "a: b\r\n".repeat(5_000));
    let answer = send_bytes(server.running.addresses.http.unwrap(), many.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(server.player("ann").get(LIST).await.0, StatusCode::OK);
}

/// Against the real binary, whose log shows whether anything panicked.
#[tokio::test]
async fn random_bytes_on_any_port_end_only_their_connection() {
    let database = TestDatabase::new();
    let log = database.path().join("log");
    let process = Process::start_logging(&mut serving(&database), std::fs::File::create(&log).unwrap());
    let ports = ["http", "grpc", "events", "admin"].map(|name| process.address(name));
    let http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for round in 0..40 {
        let bytes = random_bytes(round, 1 << (round % 14));
        let framed = [&http2[..], &bytes].concat();
        let headed = [&b"POST /challenge/v1/challenges/initialize HTTP/1.1\r\n"[..], &bytes].concat();
        for address in ports {
            for sent in [&bytes, &framed, &headed] {
                send_bytes(address, sent).await;
            }
        }
    }
    assert_eq!(Player::new(ports[0], "ann").get(LIST).await.0, StatusCode::OK);
    Publisher::connect(ports[2]).await.log_in("ann", "1").await.unwrap();
    assert!(process.terminate().success());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}

#[tokio::test]
async fn malformed_grpc_messages_are_invalid_arguments_on_both_ports() {
    let server = Server::start().await;
    let addresses = server.running.addresses;
    let identity = [("x-mock-user-id", "ann")];
    let large = vec![10; 300 * 1024];
    let bodies = [
        (vec![], "INVALID_REQUEST"),
        (vec![0, 0], "INVALID_REQUEST"),
        (vec![0, 0, 0, 0, 9, 1], "INVALID_REQUEST"),
        (vec![1, 0, 0, 0, 1, 1], "INVALID_REQUEST"),
        (vec![7, 0, 0, 0, 1, 1], "INVALID_REQUEST"),
        (framed(b"\xff\xff\xff\xff"), "INVALID_REQUEST"),
        (framed(b"\x0a\xff\xff\xff\xff\x0f"), "INVALID_REQUEST"),
        (framed(b"\x0a\x02\xff\xfe"), "INVALID_REQUEST"),
        (vec![0, 255, 255, 255, 255, 1], "REQUEST_TOO_LARGE"),
        (framed(&large), "REQUEST_TOO_LARGE"),
    ];
    for (address, path) in [
        (addresses.grpc.unwrap(), "/service.Service/SetGoalActive"),
        (
            addresses.events.unwrap(),
            "/accelbyte.iam.account.v1.UserAuthenticationUserLoggedInService/OnMessage",
        ),
    ] {
        for (body, error_code) in &bodies {
            let shown = &body[..body.len().min(12)];
            let refused = grpc::call(address, path, &identity, body).await;
            let found = (refused.status.as_str(), refused.metadata["error-code"].to_str().unwrap());
            assert_eq!(found, ("3", *error_code), "{path} {shown:?}");
        }
        let unknown = grpc::call(address, "/service.Service/Nothing", &identity, framed(b"")).await;
        assert_eq!(unknown.status, "12");
    }
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
    server.publisher().await.log_in("ann", "1").await.unwrap();
}

/// With a limit of one request, a truncated body that kept its slot would block all other requests.
#[tokio::test]
async fn a_truncated_body_releases_its_slot() {
    let server = Server::start_with(&[("HTTP_MAX_IN_FLIGHT", "1")]).await;
    for _ in 0..20 {
        let head = format!(
            "PUT {ACTIVE} HTTP/1.1\r\nhost: t\r\nx-mock-user-id: ann\r\ncontent-length: 100\r\n\r\n{{"
        );
        drop(connect_and_send(server.http().address, &head).await);
    }
    let served = async { while server.player("ann").get(LIST).await.0 != StatusCode::OK {} };
    tokio::time::timeout(Duration::from_secs(9), served).await.expect("before the time limit of a body");
}

fn any_path() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "challenge",
        "v1",
        "challenges",
        "initialize",
        "challenge-001",
        "goals",
        "goal-001-01",
        "active",
        "claim",
        "batch-select",
        "random-select",
        "rotation",
        "healthz",
        "openapi.json",
        "apidocs",
        "",
        ".",
        "..",
    ]);
    let segment = prop_oneof![6 => word.prop_map(str::to_owned), 1 => "[a-z0-9%:@!$&'()*+,;=~._-]{0,12}"];
    let known = prop::sample::select(vec![
        LIST.to_owned(),
        format!("{LIST}/initialize"),
        ACTIVE.to_owned(),
        ACTIVE.replace("active", "claim"),
        "/challenge/apidocs/".to_owned(),
    ]);
    let any = prop::collection::vec(segment, 0..8).prop_map(|segments| format!("/{}", segments.join("/")));
    (prop_oneof![known, any], "(\\?[a-zA-Z_=&%]{0,20})?").prop_map(|(path, query)| path + &query)
}

/// A request of a random caller.
#[derive(Debug, Clone)]
struct RandomRequest {
    method: Method,
    path: String,
    user: Option<String>,
    body: Vec<u8>,
}

fn any_request() -> impl Strategy<Value = RandomRequest> {
    let methods = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::HEAD,
        Method::OPTIONS,
    ];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        r#"(\{|\}|\[|\]|"isActive"|"is_active"|:|,|true|false|null|1|"x"| ){0,12}"#
            .prop_map(String::into_bytes),
        Just(br#"{"isActive":true}"#.to_vec()),
    ];
    let user = prop::option::weighted(0.8, "[ -~]{0,12}");
    (prop::sample::select(methods.to_vec()), any_path(), user, body)
        .prop_map(|(method, path, user, body)| RandomRequest { method, path, user, body })
}

async fn answer(server: &Server, random: &RandomRequest) -> Option<Response> {
    let mut request = Request::builder().method(&random.method).uri(&random.path).header("host", "test");
    if let Some(user) = &random.user {
        request = request.header("x-mock-user-id", user);
    }
    // Requests that the client cannot build are skipped.
    let request = request.body(Body::from(Bytes::from(random.body.clone()))).ok()?;
    Some(server.http().exchange(request).await)
}

#[test]
fn random_requests_are_answered_and_every_refusal_is_json() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(Server::start());
    let mut runner = TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&any_request(), |random| {
        let Some(response) = runtime.block_on(answer(&server, &random)) else { return Ok(()) };
        prop_assert!(!response.status.is_server_error(), "{}", response.status);
        if !response.status.is_success() && random.method != Method::HEAD {
            prop_assert!(response.json()["errorCode"].is_string(), "{:?}", response);
        }
        Ok(())
    });
    outcome.unwrap();
    runtime.block_on(server.stop());
}
