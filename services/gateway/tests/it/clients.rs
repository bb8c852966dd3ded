//! Clients that are slow, silent, endless or gone: each costs a connection for a stated time, and nobody a worker.

use crate::support::{Server, sample, until};
use hyper::StatusCode;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) async fn saying(address: SocketAddr, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

/// Everything that comes until the other side ends; nothing when it cut the connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    let _reset = ended.expect("the connection is ended");
    String::from_utf8_lossy(&answer).into_owned()
}

const HEAD: &str = "POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-length: 100\r\n\r\n";

#[tokio::test]
async fn the_silent_the_slow_and_the_half_open_are_cut_off_while_others_are_served() {
    let server =
        Server::start(&[("HEAD_TIMEOUT_MS", "300"), ("BODY_TIMEOUT_MS", "300"), ("WORKERS", "1")]).await;
    let address = server.running.addresses.http;
    let mut held = Vec::new();
    for _ in 0..50 {
        held.push((saying(address, "").await, ""));
        held.push((saying(address, "POST /telemetry HT").await, ""));
        held.push((saying(address, HEAD).await, "HTTP/1.1 408"));
        held.push((saying(address, &format!("{HEAD}{{\"device_id\":")).await, "HTTP/1.1 408"));
    }
    for value in 0..20 {
        let (status, _) = server.client().send(&sample("a", f64::from(value), "HIGH")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "200 connections that do nothing hold nobody up");
    }
    for (stream, begin) in &mut held {
        let answer = rest(stream).await;
        assert!(answer.starts_with(*begin), "{begin:?}: {answer}");
    }
}

#[tokio::test]
async fn endless_headers_end_their_connection() {
    let server = Server::start(&[]).await;
    let mut stream = saying(server.running.addresses.http, "POST /telemetry HTTP/1.1\r\n").await;
    let mut sent = 0;
    while stream.write_all(b"x-more: and more\r\n").await.is_ok() {
        sent += 1;
        assert!(sent < 1_000_000, "18 MB of headers are not held");
    }
    let mut many = saying(
        server.running.addresses.http,
        &format!("GET /health HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5_000)),
    )
    .await;
    let answer = rest(&mut many).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(server.client().get("/health").await.0, StatusCode::OK);
}

#[tokio::test]
async fn clients_that_vanish_leave_nothing_behind() {
    let server = Server::start(&[("BODIES_BYTES", "1048576"), ("MAX_BODY_BYTES", "1048576")]).await;
    let whole = sample("gone", 1.0, "LOW").to_string();
    for round in 0..100 {
        let head = format!("POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n", whole.len());
        let part = &whole[..whole.len() * (round % 3) / 2];
        drop(saying(server.running.addresses.http, &format!("{head}{part}")).await);
        let half = format!("{}{}", HEAD.replace("100", "1000000"), "x".repeat(50_000));
        drop(saying(server.running.addresses.http, &half).await);
    }
    // Their bodies' places would be used up many times over.
    until("others are served", async || {
        server.client().send(&sample("a", 1.0, "LOW")).await.0 == StatusCode::ACCEPTED
    })
    .await;
}

/// More is sent than may be, at once and piece by piece.
#[tokio::test]
async fn bodies_that_are_too_long_are_refused() {
    let server = Server::start(&[("MAX_BODY_BYTES", "2000")]).await;
    let long = format!("[{}]", vec![sample("a", 1.0, "LOW").to_string(); 20].join(","));
    assert_eq!(server.client().post("/telemetry", &long).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    let head =
        "POST /telemetry HTTP/1.1\r\nhost: t\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut stream =
        saying(server.running.addresses.http, &format!("{head}{}0\r\n\r\n", chunk.repeat(2))).await;
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

/// The answer comes before the body is sent, and is read by a client that sends all of it first.
#[tokio::test]
async fn an_answer_given_before_the_body_was_read_is_not_lost() {
    let server = Server::start(&[("MAX_BODY_BYTES", "2000")]).await;
    for _ in 0..20 {
        let (status, answer) = server.client().post("/telemetry", &" ".repeat(500_000)).await;
        assert_eq!((status, answer["error"].is_string()), (StatusCode::PAYLOAD_TOO_LARGE, true));
    }
}
