//! A queue that is full: who is refused, when, and what is dropped for what matters more.

use crate::support::{Client, Home, Server, metric, request, sample, until};
use hyper::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A sink that nobody answers for, so that everything waits.
const NOBODY: [(&str, &str); 2] = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
const SMALL: [(&str, &str); 3] = [("QUEUE_SIZE", "10"), ("MAX_BATCH", "10"), ("DRAIN_TIMEOUT_S", "1")];
const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

async fn filled(priority: &str) -> (Server, Client) {
    let server = Server::start(&[NOBODY.as_slice(), &SMALL].concat()).await;
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
    let (server, client) = filled("LOW").await;
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
    let (server, client) = filled("LOW").await;
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

/// Sends samples of a priority until one is refused; yields how many had a place, also when nobody knows yet whether
/// they were handed on.
async fn fill(client: Client, priority: &str) -> usize {
    let mut places = 0;
    while client.send(&sample("a", 1.0, priority)).await.1["error"] != "no room for more samples now" {
        places += 1;
        assert!(places < 100, "nothing is refused");
    }
    places
}

/// Nothing that was promised is dropped for anything; so the last places are kept for what matters more.
#[tokio::test]
async fn what_was_promised_is_never_shed_and_the_lowest_is_refused_first_on_disk_and_handed_on() {
    let home = Home::new();
    let folder = home.at("journal");
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", folder.as_str())];
    let handed_on = [("DURABILITY", "handed-on"), ("HANDED_ON_WITHIN_MS", "20")];
    for durable in [disk, handed_on] {
        let small = [("QUEUE_SIZE", "20"), ("MAX_BATCH", "10"), ("DRAIN_TIMEOUT_S", "1")];
        let server = Server::start(&[NOBODY.as_slice(), &small, &durable].concat()).await;
        let client = server.client();
        assert_eq!(fill(client, "LOW").await, 16, "{durable:?}");
        let low = sample("a", 1.0, "LOW").to_string();
        let says_so = [("x-telemetry-priority", "LOW")];
        assert_eq!(client.ask(Method::POST, "/telemetry", &says_so, low).await.0, UNAVAILABLE);
        assert_eq!(fill(client, "MEDIUM").await, 2, "{durable:?}");
        assert_eq!(fill(client, "HIGH").await, 2, "{durable:?}");
        assert_eq!(fill(client, "HIGH").await, 0, "{durable:?}");
        let answer = refused_without_a_body(client).await;
        assert!(answer.starts_with("HTTP/1.1 503"), "full for everybody: {answer}");
        let text = metrics(&server).await;
        for priority in ["LOW", "MEDIUM", "HIGH"] {
            let shed = metric(&text, &format!("gateway_samples_shed_total{{priority=\"{priority}\"}}"));
            assert_eq!(shed, Some(0.0), "{priority}, {durable:?}");
        }
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
