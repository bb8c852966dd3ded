//! Whatever is sent, the answer is clear, nothing is half done, and the gateway goes on.

use crate::process::{Process, serving};
use crate::support::{Client, Home, Server, sample};
use axum::body::Body;
use hyper::{Method, Request, StatusCode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BAD: StatusCode = StatusCode::BAD_REQUEST;

async fn nothing_was_taken(client: Client) {
    let (_, told) = client.get("/metrics").await;
    assert_eq!((&told["samples_processed"], &told["queue_depth"]), (&0.into(), &0.into()));
    assert_eq!(client.get("/status").await.1["devices"], 0);
}

#[tokio::test]
async fn bodies_that_are_no_samples_are_refused_with_their_reason_and_leave_nothing() {
    let server = Server::start(&[]).await;
    let client = server.client();
    let deep = r#"{"metadata":"#.repeat(10_000);
    let many = format!("[{}]", vec!["{}"; 1_001].join(","));
    let unread = "the body cannot be read: ";
    for (body, status, said) in [
        ("", BAD, "Empty request body"),
        ("   ", BAD, "Empty request body"),
        ("[]", BAD, "there is no sample in the body"),
        ("{", BAD, unread),
        (r#"{"value":NaN}"#, BAD, unread),
        (r#"{"value":-1e999}"#, BAD, unread),
        ("\"text\"", BAD, unread),
        (&deep, BAD, unread),
        (&many, StatusCode::PAYLOAD_TOO_LARGE, "the body has more than 1000 samples"),
    ] {
        let (got, answer) = client.post("/telemetry", body).await;
        let why = answer["error"].as_str().unwrap();
        assert_eq!((got, why.starts_with(said)), (status, true), "{}: {why}", &body[..body.len().min(40)]);
    }
    let (got, answer) = client.ask(Method::POST, "/telemetry", &[], &b"{\"unit\":\"\xff\"}"[..]).await;
    assert_eq!((got, answer["error"].as_str().unwrap().contains("invalid utf-8")), (BAD, true), "{answer}");
    nothing_was_taken(client).await;
}

#[tokio::test]
async fn wrong_types_and_values_are_refused_by_member() {
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
        let mut wrong = sample("a", 1.0, "LOW");
        wrong[member] = value.clone();
        let (status, answer) = client.send(&wrong).await;
        assert_eq!((status, &answer["refused"][0]["member"]), (BAD, &member.into()), "{member}: {value}");
    }
    nothing_was_taken(client).await;
}

#[tokio::test]
async fn other_paths_methods_and_forms_are_refused_as_json() {
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
        let (got, answer) = client.ask(method.clone(), path, headers, "{}").await;
        assert_eq!((got, answer["error"].is_string()), (status, true), "{method} {path}: {answer}");
    }
}

/// Sends `bytes`, says that there is no more, and waits until the other side ends or falls silent.
async fn said_to(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _cut_short = stream.write_all(bytes).await;
    let _cut_short = stream.shutdown().await;
    let mut answer = Vec::new();
    let _reset = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
}

/// Bytes that look like nothing, the same in every run.
fn nonsense(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..count).map(|_| next()).collect()
}

/// Against the real binary, whose log tells whether anything in it panicked.
#[tokio::test]
async fn nonsense_bytes_end_their_connection_and_nothing_else() {
    let home = Home::new();
    let log = home.path().join("log");
    let process = Process::started(serving(&[]).stderr(std::fs::File::create(&log).unwrap()));
    for round in 0..40 {
        let bytes = nonsense(round, 1 << (round % 14));
        let headed = [&b"POST /telemetry HTTP/1.1\r\n"[..], &bytes].concat();
        let typed = format!(
            "POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            bytes.len()
        );
        let framed = [typed.as_bytes(), &bytes].concat();
        for address in [process.client.address, process.admin.address] {
            for said in [&bytes, &headed, &framed] {
                said_to(address, said).await;
            }
        }
    }
    assert_eq!(process.client.send(&sample("a", 1.0, "LOW")).await.0, StatusCode::ACCEPTED);
    assert!(process.terminate().success());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}

fn a_request() -> impl Strategy<Value = (Method, String, Vec<u8>)> {
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
    let good = sample("a", 1.0, "LOW").to_string();
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        r#"(\{|\}|\[|\]|"device_id"|"value"|"unit"|:|,|true|null|1e9|"x"| ){0,12}"#
            .prop_map(String::into_bytes),
        Just(good.clone().into_bytes()),
        (0..good.len(), any::<u8>()).prop_map(move |(at, byte)| {
            let mut body = good.clone().into_bytes();
            body[at] = byte;
            body
        }),
    ];
    (prop::sample::select(methods), path, body)
}

#[test]
fn random_requests_are_answered_and_every_refusal_is_json() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(Server::start(&[]));
    let mut runner = TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&a_request(), |(method, path, body)| {
        let request = Request::builder().method(&method).uri(&path).header("host", "test");
        // What no client can send is not what this is about.
        let Ok(request) = request.body(Body::from(body)) else { return Ok(()) };
        let answer = runtime.block_on(server.client().exchange(request)).unwrap();
        prop_assert!(!answer.status.is_server_error(), "{} {}: {}", method, path, answer.status);
        if !answer.status.is_success() && method != Method::HEAD {
            let refusal: Value = answer.json();
            prop_assert!(
                refusal["error"].is_string(),
                "{} {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            );
        }
        Ok(())
    });
    outcome.unwrap();
    runtime.block_on(server.running.stop());
}
