//! Malformed and random input: every response is clear, no sample of a refused request is accepted, and the gateway
//! continues.

use axum::body::Body;
use hyper::{Method, Request, StatusCode};
use kit::process::Service;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use testkit::http::{Client, send_bytes};
use testkit::process::{Process, random_bytes};

use crate::process::serving;
use crate::support::{Home, Server, sample, send};

const BAD: StatusCode = StatusCode::BAD_REQUEST;

async fn assert_nothing_was_accepted(client: Client) {
    let (_, metrics) = client.get("/metrics").await;
    assert_eq!((&metrics["samples_processed"], &metrics["queue_depth"]), (&0.into(), &0.into()));
    assert_eq!(client.get("/status").await.1["devices"], 0);
}

#[tokio::test]
async fn bodies_without_samples_are_refused_with_a_reason_and_change_nothing() {
    let server = Server::start(&[]).await;
    let client = server.client();
    let deep = r#"{"metadata":"#.repeat(10_000);
    let many = format!("[{}]", vec!["{}"; 1_001].join(","));
    let unreadable = "the body cannot be read: ";
    for (body, status, message) in [
        ("", BAD, "Empty request body"),
        ("   ", BAD, "Empty request body"),
        ("[]", BAD, "there is no sample in the body"),
        ("{", BAD, unreadable),
        (r#"{"value":NaN}"#, BAD, unreadable),
        (r#"{"value":-1e999}"#, BAD, unreadable),
        ("\"text\"", BAD, unreadable),
        (&deep, BAD, unreadable),
        (&many, StatusCode::PAYLOAD_TOO_LARGE, "the body has more than 1000 samples"),
    ] {
        let (got, response) = client.post("/telemetry", body).await;
        let why = response["error"].as_str().unwrap();
        assert_eq!((got, why.starts_with(message)), (status, true), "{}: {why}", &body[..body.len().min(40)]);
    }
    let (got, response) = client.request(Method::POST, "/telemetry", &[], b"{\"unit\":\"\xff\"}").await;
    assert_eq!(
        (got, response["error"].as_str().unwrap().contains("invalid utf-8")),
        (BAD, true),
        "{response}"
    );
    assert_nothing_was_accepted(client).await;
}

#[tokio::test]
async fn invalid_types_and_values_are_refused_by_member() {
    let server = Server::start(&[]).await;
    let client = server.client();
    for (member, value) in [
        ("device_id", json!("a b")),
        ("device_id", json!(["a"])),
        ("type", json!("x".repeat(100))),
        ("value", json!("1")),
        ("value", json!(1e15)),
        ("value", json!(-1e308)),
        ("value", json!({ "nested": [[[]]] })),
        ("unit", json!("")),
        ("priority", json!("high")),
        ("timestamp", json!("2026-02-30T00:00:00Z")),
        ("timestamp", json!(-1)),
        ("metadata", json!({ "a": { "b": 1 } })),
        ("metadata", json!({ "a": "x".repeat(1000) })),
    ] {
        let mut invalid = sample("a", 1.0, "LOW");
        invalid[member] = value.clone();
        let (status, response) = send(client, &invalid).await;
        assert_eq!((status, &response["refused"][0]["member"]), (BAD, &member.into()), "{member}: {value}");
    }
    assert_nothing_was_accepted(client).await;
}

#[tokio::test]
async fn unknown_paths_methods_and_formats_are_refused_with_json() {
    let server = Server::start(&[]).await;
    let client = server.client();
    for (method, path, headers, status) in [
        (Method::GET, "/telemetry", &[][..], StatusCode::METHOD_NOT_ALLOWED),
        (Method::POST, "/status", &[], StatusCode::METHOD_NOT_ALLOWED),
        (Method::GET, "/", &[], StatusCode::NOT_FOUND),
        (Method::POST, "/telemetry/", &[], StatusCode::NOT_FOUND),
        (Method::POST, "/telemetry", &[("content-type", "text/plain")], StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (Method::POST, "/telemetry", &[("content-encoding", "gzip")], StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (Method::POST, "/telemetry", &[("content-type", "application/x-protobuf")], BAD),
    ] {
        let (got, response) = client.request(method.clone(), path, headers, "{}").await;
        assert_eq!((got, response["error"].is_string()), (status, true), "{method} {path}: {response}");
    }
}

/// Against the real binary, whose log shows any panic.
#[tokio::test]
async fn random_bytes_end_their_connection_and_nothing_else() {
    let home = Home::new();
    let log = home.path().join("log");
    let process = Process::start_logging(&mut serving(&[]), std::fs::File::create(&log).unwrap());
    for round in 0..40 {
        let bytes = random_bytes(round, 1 << (round % 14));
        let with_request_line = [&b"POST /telemetry HTTP/1.1\r\n"[..], &bytes].concat();
        let head = format!(
            "POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            bytes.len()
        );
        let with_head = [head.as_bytes(), &bytes].concat();
        for address in [process.client().address, process.admin().address] {
            for sent in [&bytes, &with_request_line, &with_head] {
                send_bytes(address, sent).await;
            }
        }
    }
    assert_eq!(send(process.client(), &sample("a", 1.0, "LOW")).await.0, StatusCode::ACCEPTED);
    assert!(process.terminate().success());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}

fn any_request() -> impl Strategy<Value = (Method, String, Vec<u8>)> {
    let methods = vec![Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS];
    let paths = vec![
        "/telemetry",
        "/status",
        "/start",
        "/stop",
        "/reset",
        "/health",
        "/metrics",
        "/openapi.json",
        "/x",
    ];
    let query = "(\\?(device=)?[a-zA-Z_=&%]{0,20})?";
    let path = (prop::sample::select(paths), query).prop_map(|(path, query)| format!("{path}{query}"));
    let valid = sample("a", 1.0, "LOW").to_string();
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        r#"(\{|\}|\[|\]|"device_id"|"value"|"unit"|:|,|true|null|1e9|"x"| ){0,12}"#
            .prop_map(String::into_bytes),
        Just(valid.clone().into_bytes()),
        (0..valid.len(), any::<u8>()).prop_map(move |(at, byte)| {
            let mut body = valid.clone().into_bytes();
            body[at] = byte;
            body
        }),
    ];
    (prop::sample::select(methods), path, body)
}

#[test]
fn random_requests_get_responses_and_every_refusal_is_json() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(Server::start(&[]));
    let mut runner = TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&any_request(), |(method, path, body)| {
        let request = Request::builder().method(&method).uri(&path).header("host", "test");
        // Requests that no HTTP client can send are out of scope.
        let Ok(request) = request.body(Body::from(body)) else { return Ok(()) };
        let response = runtime.block_on(server.client().exchange(request));
        prop_assert!(!response.status.is_server_error(), "{} {}: {}", method, path, response.status);
        if !response.status.is_success() && method != Method::HEAD {
            let refusal: Value = response.json();
            prop_assert!(
                refusal["error"].is_string(),
                "{} {}",
                response.status,
                String::from_utf8_lossy(&response.body)
            );
        }
        Ok(())
    });
    outcome.unwrap();
    runtime.block_on(server.running.stop());
}
