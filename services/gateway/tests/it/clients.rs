//! Clients that are slow, silent, endless or gone: each costs a connection for a bounded time, and none occupies a
//! worker.

use std::time::Duration;

use hyper::{Method, StatusCode};
use testkit::http::{connect_and_send, request};
use testkit::issuer::claims;
use testkit::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::access::Guarded;
use crate::support::{Server, sample, send};

/// Everything that the server sends until it closes the connection; empty when it sends nothing.
pub(crate) async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut response)).await;
    let _reset = ended.expect("the server closes the connection");
    String::from_utf8_lossy(&response).into_owned()
}

const HEAD: &str = "POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-length: 100\r\n\r\n";

#[tokio::test]
async fn silent_slow_and_half_open_clients_are_cut_off_while_others_are_served() {
    let server =
        Server::start(&[("HEAD_TIMEOUT_MS", "300"), ("BODY_TIMEOUT_MS", "300"), ("WORKERS", "1")]).await;
    let address = server.running.addresses.http;
    let mut idle = Vec::new();
    for _ in 0..50 {
        idle.push((connect_and_send(address, "").await, ""));
        idle.push((connect_and_send(address, "POST /telemetry HT").await, ""));
        idle.push((connect_and_send(address, HEAD).await, "HTTP/1.1 408"));
        idle.push((connect_and_send(address, &format!("{HEAD}{{\"device_id\":")).await, "HTTP/1.1 408"));
    }
    for value in 0..20 {
        let (status, _) = send(server.client(), &sample("a", f64::from(value), "HIGH")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "200 idle connections delay no other client");
    }
    for (stream, begin) in &mut idle {
        let response = read_to_close(stream).await;
        assert!(response.starts_with(*begin), "{begin:?}: {response}");
    }
}

#[tokio::test]
async fn endless_headers_end_their_connection() {
    let server = Server::start(&[]).await;
    let mut stream = connect_and_send(server.running.addresses.http, "POST /telemetry HTTP/1.1\r\n").await;
    let mut sent = 0;
    while stream.write_all(b"x-more: and more\r\n").await.is_ok() {
        sent += 1;
        assert!(sent < 1_000_000, "18 MB of headers are not kept");
    }
    let mut many = connect_and_send(
        server.running.addresses.http,
        &format!("GET /health HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5_000)),
    )
    .await;
    let response = read_to_close(&mut many).await;
    assert!(response.is_empty() || response.starts_with("HTTP/1.1 431"), "{response}");
    assert_eq!(server.client().get("/health").await.0, StatusCode::OK);
}

#[tokio::test]
async fn clients_that_vanish_leave_nothing_behind() {
    let server = Server::start(&[("BODIES_BYTES", "1048576"), ("MAX_BODY_BYTES", "1048576")]).await;
    let whole = sample("gone", 1.0, "LOW").to_string();
    for round in 0..100 {
        let head = format!("POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n", whole.len());
        let part = &whole[..whole.len() * (round % 3) / 2];
        drop(connect_and_send(server.running.addresses.http, &format!("{head}{part}")).await);
        let half = format!("{}{}", HEAD.replace("100", "1000000"), "x".repeat(50_000));
        drop(connect_and_send(server.running.addresses.http, &half).await);
    }
    // Otherwise the memory budget for bodies would be used up many times over.
    until("others are served", async || {
        send(server.client(), &sample("a", 1.0, "LOW")).await.0 == StatusCode::ACCEPTED
    })
    .await;
}

/// Bodies above the limit, in one piece and in chunks.
#[tokio::test]
async fn bodies_that_are_too_long_are_refused() {
    let server = Server::start(&[("MAX_BODY_BYTES", "2000")]).await;
    let long = format!("[{}]", vec![sample("a", 1.0, "LOW").to_string(); 20].join(","));
    assert_eq!(server.client().post("/telemetry", &long).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    let head =
        "POST /telemetry HTTP/1.1\r\nhost: t\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut stream =
        connect_and_send(server.running.addresses.http, &format!("{head}{}0\r\n\r\n", chunk.repeat(2))).await;
    let response = read_to_close(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 413"), "{response}");
}

/// The response is sent before the body, and is read by a client that sends all of the body first.
#[tokio::test]
async fn a_response_sent_before_the_body_was_read_is_not_lost() {
    let server = Server::start(&[("MAX_BODY_BYTES", "2000")]).await;
    for _ in 0..20 {
        let (status, response) = server.client().post("/telemetry", &" ".repeat(500_000)).await;
        assert_eq!((status, response["error"].is_string()), (StatusCode::PAYLOAD_TOO_LARGE, true));
    }
}

/// One device's slow bodies would use up the memory for all bodies.
#[tokio::test]
async fn a_device_with_many_slow_bodies_is_refused_and_the_others_are_served() {
    let guarded = Guarded::start(&[("BODIES_BYTES", "16384"), ("MAX_BODY_BYTES", "2048")]).await;
    let address = guarded.server.running.addresses.http;
    let send = async |subject: &str| {
        let bearer = guarded.bearer(&claims(subject));
        let body = sample("d-1", 1.0, "LOW").to_string().replace("d-1", subject);
        let headers = [("authorization", bearer.as_str())];
        guarded.server.client().exchange(request(Method::POST, "/telemetry", &headers, body)).await
    };
    let begin = async |subject: &str, count: usize, part: &str| {
        let bearer = guarded.bearer(&claims(subject));
        let head =
            HEAD.replace("content-length: 100", &format!("authorization: {bearer}\r\ncontent-length: 2048"));
        let mut slow = Vec::new();
        for _ in 0..count {
            slow.push(connect_and_send(address, &format!("{head}{part}")).await);
        }
        slow
    };
    let slow = begin("d-1", 8, &" ".repeat(2_040)).await;
    until("it is refused", async || send("d-1").await.status != StatusCode::ACCEPTED).await;
    let other = send("d-2").await;
    assert_eq!(other.status, StatusCode::ACCEPTED, "another device: {}", other.json());
    let refused = send("d-1").await;
    assert_eq!(
        (refused.status, &refused.headers["retry-after"]),
        (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap())
    );
    drop(slow);
    until("it is served again", async || send("d-1").await.status == StatusCode::ACCEPTED).await;
    // A service sends for many devices.
    let _slow = begin("loader", 8, "[").await;
    assert_eq!(send("loader").await.status, StatusCode::ACCEPTED);
}
