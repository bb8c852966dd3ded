//! A full queue: which requests are refused, when, and which samples are shed for higher priorities.

use hyper::{Method, StatusCode};
use serde_json::Value;
use testkit::http::{Client, connect_and_send, metric};
use testkit::until;
use tokio::io::AsyncReadExt;

use crate::support::{Home, Server, sample, send};

/// A sink that cannot be reached, so that every sample stays queued.
const UNREACHABLE_SINK: [(&str, &str); 2] = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
const SMALL: [(&str, &str); 3] = [("QUEUE_SIZE", "10"), ("MAX_BATCH", "10"), ("DRAIN_TIMEOUT_S", "1")];
const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

async fn filled(priority: &str) -> (Server, Client) {
    let server = Server::start(&[UNREACHABLE_SINK.as_slice(), &SMALL].concat()).await;
    let client = server.client();
    let batch: Vec<Value> = (0..10).map(|value| sample("a", f64::from(value), priority)).collect();
    assert_eq!(send(client, &batch.into()).await.0, StatusCode::ACCEPTED);
    (server, client)
}

/// The response to a head without its body: it was sent before the body was read.
async fn response_without_a_body(client: Client) -> String {
    let head = "POST /telemetry HTTP/1.1\r\nhost: t\r\ncontent-length: 1000000\r\n\r\n";
    let mut stream = connect_and_send(client.address, head).await;
    let mut response = vec![0; 4096];
    let read = stream.read(&mut response).await.unwrap();
    String::from_utf8_lossy(&response[..read]).into_owned()
}

#[tokio::test]
async fn a_full_queue_refuses_before_the_body_is_read_and_sends_retry_after() {
    let (server, client) = filled("LOW").await;
    let response = response_without_a_body(client).await;
    assert!(response.starts_with("HTTP/1.1 503") && response.contains("retry-after: 1"), "{response}");
    assert!(response.ends_with(r#"{"error":"no space for more samples now"}"#), "{response}");
    assert_eq!(metric(&server.admin().text("/metrics").await, "gateway_refused_early_total"), Some(1.0));
    for path in ["/health", "/status", "/metrics"] {
        assert_eq!(client.get(path).await.0, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn an_announced_higher_priority_is_accepted_and_the_lowest_is_shed_and_counted() {
    let (server, client) = filled("LOW").await;
    assert_eq!(
        send(client, &sample("a", 1.0, "HIGH")).await.0,
        UNAVAILABLE,
        "the priority was not announced"
    );
    let high = sample("a", 1.0, "HIGH").to_string();
    let announced = [("x-telemetry-priority", "HIGH")];
    // Samples that a worker is handing on cannot be shed.
    until("it is accepted", async || {
        client.request(Method::POST, "/telemetry", &announced, &high).await.0 == StatusCode::ACCEPTED
    })
    .await;
    let low = sample("a", 1.0, "LOW").to_string();
    assert_eq!(
        client.request(Method::POST, "/telemetry", &announced, low).await.0,
        UNAVAILABLE,
        "the announced priority is not that of the sample"
    );
    let text = server.admin().text("/metrics").await;
    let shed = |priority| metric(&text, &format!("gateway_samples_shed_total{{priority=\"{priority}\"}}"));
    assert_eq!([shed("LOW"), shed("MEDIUM"), shed("HIGH")], [Some(1.0), Some(0.0), Some(0.0)]);
    let (_, report) = client.get("/metrics").await;
    assert_eq!(
        report["samples_dropped"].as_u64(),
        Some(1 + metric(&text, "gateway_samples_without_room_total").unwrap() as u64)
    );
}

/// Sends samples of a priority until one is refused; returns how many got a slot, whether or not it is known that they
/// were handed on.
async fn fill(client: Client, priority: &str) -> usize {
    let mut slots = 0;
    while send(client, &sample("a", 1.0, priority)).await.1["error"] != "no space for more samples now" {
        slots += 1;
        assert!(slots < 100, "nothing is refused");
    }
    slots
}

/// Promised samples are never shed; instead the last slots are reserved for higher priorities.
#[tokio::test]
async fn promised_samples_are_never_shed_and_the_lowest_priority_is_refused_first() {
    let home = Home::new();
    let folder = home.at("journal");
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", folder.as_str())];
    let handed_on = [("DURABILITY", "handed-on"), ("HANDED_ON_WITHIN_MS", "20")];
    for durable in [disk, handed_on] {
        let small = [("QUEUE_SIZE", "20"), ("MAX_BATCH", "10"), ("DRAIN_TIMEOUT_S", "1")];
        let server = Server::start(&[UNREACHABLE_SINK.as_slice(), &small, &durable].concat()).await;
        let client = server.client();
        assert_eq!(fill(client, "LOW").await, 16, "{durable:?}");
        let low = sample("a", 1.0, "LOW").to_string();
        let announced = [("x-telemetry-priority", "LOW")];
        assert_eq!(client.request(Method::POST, "/telemetry", &announced, low).await.0, UNAVAILABLE);
        assert_eq!(fill(client, "MEDIUM").await, 2, "{durable:?}");
        assert_eq!(fill(client, "HIGH").await, 2, "{durable:?}");
        assert_eq!(fill(client, "HIGH").await, 0, "{durable:?}");
        let response = response_without_a_body(client).await;
        assert!(response.starts_with("HTTP/1.1 503"), "full for every priority: {response}");
        let text = server.admin().text("/metrics").await;
        for priority in ["LOW", "MEDIUM", "HIGH"] {
            let shed = metric(&text, &format!("gateway_samples_shed_total{{priority=\"{priority}\"}}"));
            assert_eq!(shed, Some(0.0), "{priority}, {durable:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_that_does_not_fit_is_refused_as_a_whole() {
    let settings: Vec<_> = UNREACHABLE_SINK.into_iter().chain(SMALL).collect();
    let server = Server::start(&settings).await;
    let client = server.client();
    let batch =
        |count: u32| Value::from((0..count).map(|n| sample("a", f64::from(n), "LOW")).collect::<Vec<_>>());
    assert_eq!(send(client, &batch(6)).await.0, StatusCode::ACCEPTED);
    assert_eq!(send(client, &batch(5)).await.0, UNAVAILABLE);
    assert_eq!(send(client, &batch(4)).await.0, StatusCode::ACCEPTED, "the refused one took no slots");
}

/// A request does not wait longer for an unreachable sink: the response states that the outcome is unknown.
#[tokio::test]
async fn samples_that_are_not_handed_on_in_time_are_not_acknowledged() {
    let within = [("DURABILITY", "handed-on"), ("HANDED_ON_WITHIN_MS", "50"), ("DRAIN_TIMEOUT_S", "1")];
    let settings: Vec<_> = UNREACHABLE_SINK.into_iter().chain(within).collect();
    let server = Server::start(&settings).await;
    let (status, response) = send(server.client(), &sample("a", 1.0, "LOW")).await;
    assert_eq!(
        (status, &response["error"]),
        (UNAVAILABLE, &"the samples were not handed on in time; they may be later".into())
    );
}
