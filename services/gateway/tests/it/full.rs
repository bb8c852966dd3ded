//! A queue that is full: who is refused, when, and what is dropped for what matters more.

use crate::support::{Client, Home, Server, metric, request, sample, until};
use hyper::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A sink that nobody answers for, so that everything waits.
const NOBODY: [(&str, &str); 2] = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
const SMALL: [(&str, &str); 3] = [("QUEUE_SIZE", "10"), ("MAX_BATCH", "10"), ("DRAIN_TIMEOUT_S", "1")];
const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

async fn filled(more: &[(&str, &str)], priority: &str) -> (Server, Client) {
    let settings: Vec<_> = NOBODY.into_iter().chain(SMALL).chain(more.iter().copied()).collect();
    let server = Server::start(&settings).await;
    let client = server.client();
    let batch: Vec<Value> = (0..10).map(|value| sample("a", f64::from(value), priority)).collect();
    assert_eq!(client.send(&batch.into()).await.0, StatusCode::ACCEPTED);
    (server, client)
}

async fn metrics(server: &Server) -> String {
    let answer = server.admin().exchange(request(Method::GET, "/metrics", &[], "")).await.unwrap();
    String::from_utf8(answer.body).unwrap()
}

/// A head that promises a body, and no body: the answer can only have come before it was read.
async fn refused_without_a_body(client: Client) -> String {
    let mut stream = tokio::net::TcpStream::connect(client.address).await.unwrap();
    let head = "POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-length: 1000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test]
async fn a_full_queue_refuses_before_a_body_is_read_and_says_when_to_come_again() {
    let (server, client) = filled(&[], "LOW").await;
    let answer = refused_without_a_body(client).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1"), "{answer}");
    assert!(answer.ends_with(r#"{"error":"no room for more samples now"}"#), "{answer}");
    assert_eq!(metric(&metrics(&server).await, "gateway_refused_early_total"), Some(1.0));
    for path in ["/health", "/status", "/metrics"] {
        assert_eq!(client.get(path).await.0, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn what_says_that_it_matters_more_is_taken_and_the_lowest_is_shed_and_counted() {
    let (server, client) = filled(&[], "LOW").await;
    assert_eq!(client.send(&sample("a", 1.0, "HIGH")).await.0, UNAVAILABLE, "it did not say so");
    let high = sample("a", 1.0, "HIGH").to_string();
    let announced = [("x-telemetry-priority", "HIGH")];
    // While a worker tries to hand them on, they cannot be shed.
    until("it is taken", async || {
        client.ask(Method::POST, "/telemetry", &announced, high.clone()).await.0 == StatusCode::ACCEPTED
    })
    .await;
    let low = sample("a", 1.0, "LOW").to_string();
    assert_eq!(
        client.ask(Method::POST, "/telemetry", &announced, low).await.0,
        UNAVAILABLE,
        "it only said so"
    );
    let text = metrics(&server).await;
    let shed = |priority| metric(&text, &format!("gateway_samples_shed_total{{priority=\"{priority}\"}}"));
    assert_eq!([shed("LOW"), shed("MEDIUM"), shed("HIGH")], [Some(1.0), Some(0.0), Some(0.0)]);
    let (_, told) = client.get("/metrics").await;
    assert_eq!(
        told["samples_dropped"].as_u64(),
        Some(1 + metric(&text, "gateway_samples_without_room_total").unwrap() as u64)
    );
}

/// Nothing that was promised to outlive the process is dropped for anything.
#[tokio::test]
async fn what_is_on_disk_is_never_shed() {
    let home = Home::new();
    let folder = home.at("journal");
    let (_server, client) = filled(&[("DURABILITY", "disk"), ("JOURNAL_DIR", &folder)], "LOW").await;
    let high = sample("a", 1.0, "HIGH").to_string();
    for _ in 0..20 {
        let announced = [("x-telemetry-priority", "HIGH")];
        assert_eq!(client.ask(Method::POST, "/telemetry", &announced, high.clone()).await.0, UNAVAILABLE);
    }
}

#[tokio::test]
async fn a_batch_that_does_not_fit_is_refused_as_a_whole() {
    let settings: Vec<_> = NOBODY.into_iter().chain(SMALL).collect();
    let server = Server::start(&settings).await;
    let client = server.client();
    let batch =
        |count: u32| Value::from((0..count).map(|n| sample("a", f64::from(n), "LOW")).collect::<Vec<_>>());
    assert_eq!(client.send(&batch(6)).await.0, StatusCode::ACCEPTED);
    assert_eq!(client.send(&batch(5)).await.0, UNAVAILABLE);
    assert_eq!(client.send(&batch(4)).await.0, StatusCode::ACCEPTED, "the refused one took no room");
}

/// Samples that nobody takes are not waited for: the sender learns that it is not known what became of them.
#[tokio::test]
async fn samples_that_are_not_handed_on_in_time_are_no_promise() {
    let within = [("DURABILITY", "handed-on"), ("HANDED_ON_WITHIN_MS", "50"), ("DRAIN_TIMEOUT_S", "1")];
    let settings: Vec<_> = NOBODY.into_iter().chain(within).collect();
    let server = Server::start(&settings).await;
    let (status, answer) = server.client().send(&sample("a", 1.0, "LOW")).await;
    assert_eq!(
        (status, &answer["error"]),
        (UNAVAILABLE, &"the samples were not handed on in time; they may be later".into())
    );
}
