//! Samples from the request to the sink.

use gateway::proto::{TelemetryBatch, TelemetrySample};
use hyper::{Method, StatusCode};
use kit::process::Service;
use prost::Message as _;
use serde_json::{Value, json};
use testkit::http::{metric, request};
use testkit::until;

use crate::support::{Home, Server, sample, send};

const PROTOBUF: &[(&str, &str)] = &[("content-type", "application/x-protobuf")];

async fn with_a_file(home: &Home) -> Server {
    Server::start(&[("SINK", "file"), ("SINK_FILE", &home.at("tasks"))]).await
}

async fn handed_on(home: &Home, count: usize) -> Vec<Value> {
    until("every sample is handed on", async || home.tasks().len() >= count).await;
    home.tasks()
}

#[tokio::test]
async fn a_sample_becomes_a_task_with_all_of_its_members() {
    let home = Home::new();
    let server = with_a_file(&home).await;
    let sent = sample("sensor-1", 21.5, "HIGH");
    let (status, response) = send(server.client(), &sent).await;
    let expect = json!({ "ok": true, "message": "Telemetry received", "accepted": 1, "refused": [] });
    assert_eq!((status, response), (StatusCode::ACCEPTED, expect));
    let task = handed_on(&home, 1).await.remove(0);
    assert_eq!(task["payload"], sent);
    assert_eq!(
        (&task["type"], &task["priority"], &task["max_retries"]),
        (&"telemetry.analyze".into(), &"HIGH".into(), &3.into())
    );
    assert!(kit::clock::UtcMs::parse(task["created_at"].as_str().unwrap()).is_some());
    assert!(task["id"].as_str().unwrap().len() > 16);
}

#[tokio::test]
async fn valid_samples_of_a_batch_are_accepted_and_invalid_ones_reported_by_index_and_reason() {
    let home = Home::new();
    let server = with_a_file(&home).await;
    let mut invalid = sample("a", 2.0, "LOW");
    invalid["value"] = "high".into();
    let batch =
        json!([sample("a", 1.0, "LOW"), invalid, sample("b", 3.0, "URGENT"), sample("c", 4.0, "HIGH")]);
    let (status, response) = send(server.client(), &batch).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let refused = json!([
        { "index": 1, "member": "value", "reason": "value must be a finite number" },
        { "index": 2, "member": "priority", "reason": "priority must be HIGH, MEDIUM or LOW" },
    ]);
    assert_eq!((&response["accepted"], &response["refused"]), (&2.into(), &refused));
    let tasks = handed_on(&home, 2).await;
    let values: Vec<&Value> = tasks.iter().map(|task| &task["payload"]["value"]).collect();
    assert_eq!(values, [&json!(4.0), &json!(1.0)], "the higher priority first");
    let (status, response) = send(server.client(), &json!([7, {}])).await;
    assert_eq!((status, &response["accepted"]), (StatusCode::BAD_REQUEST, &0.into()));
    assert_eq!(response["refused"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_protobuf_batch_is_accepted_like_a_json_one() {
    let home = Home::new();
    let server = with_a_file(&home).await;
    let wire_sample = |value, timestamp_us| TelemetrySample {
        timestamp_us,
        value,
        unit: "C".to_owned(),
        sequence_id: 9,
        ..TelemetrySample::default()
    };
    let samples = vec![wire_sample(1.5, 1_767_225_600_000_000), wire_sample(2.5, 0)];
    let batch = TelemetryBatch { samples, device_id: "p-1".to_owned(), batch_timestamp_us: 0 };
    let (status, response) =
        server.client().request(Method::POST, "/telemetry", PROTOBUF, batch.encode_to_vec()).await;
    assert_eq!((status, &response["accepted"]), (StatusCode::ACCEPTED, &1.into()));
    assert_eq!(response["refused"][0]["member"], "timestamp_us");
    let expect = json!({
        "device_id": "p-1", "type": "measurement", "value": 1.5, "unit": "C", "priority": "MEDIUM",
        "timestamp": "2026-01-01T00:00:00.000000Z", "sequence_id": 9,
    });
    assert_eq!(handed_on(&home, 1).await[0]["payload"], expect);
}

#[tokio::test]
async fn the_metrics_are_correct_in_both_formats() {
    let home = Home::new();
    let server = with_a_file(&home).await;
    let client = server.client();
    for (value, priority) in [(1.0, "HIGH"), (2.0, "LOW"), (3.0, "LOW"), (1e12, "LOW")] {
        send(client, &sample("a", value, priority)).await;
    }
    handed_on(&home, 3).await;
    until("the workers have counted", async || client.get("/metrics").await.1["samples_processed"] == 3)
        .await;
    let (_, report) = client.get("/metrics").await;
    assert_eq!((&report["samples_dropped"], &report["queue_depth"]), (&0.into(), &0.into()));
    assert!(report["latency_p99_ms"].as_f64().unwrap() > 0.0, "{report}");
    let pool = &report["thread_pool"];
    assert_eq!(
        (&pool["jobs_processed"], &pool["jobs_queued"], &pool["num_threads"]),
        (&3.into(), &0.into(), &8.into())
    );
    assert!(pool["avg_processing_ms"].as_f64().unwrap() > 0.0 && report["uptime_seconds"].is_u64());
    let request_openmetrics =
        request(Method::GET, "/metrics", &[("accept", "application/openmetrics-text;q=0.9,*/*")], "");
    let response = client.exchange(request_openmetrics).await;
    assert!(response.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    for text in [response.text(), server.admin().text("/metrics").await] {
        for (name, expect) in [
            ("gateway_samples_accepted_total{priority=\"HIGH\"}", 1.0),
            ("gateway_samples_accepted_total{priority=\"LOW\"}", 2.0),
            ("gateway_samples_shed_total{priority=\"LOW\"}", 0.0),
            ("gateway_samples_handed_on_total", 3.0),
            ("gateway_samples_invalid_total", 1.0),
            ("gateway_queue_depth", 0.0),
            ("gateway_queue_wait_seconds_count", 3.0),
            ("gateway_requests_total{endpoint=\"telemetry\",outcome=\"202\"}", 3.0),
        ] {
            assert_eq!(metric(&text, name), Some(expect), "{name} in\n{text}");
        }
        assert!(metric(&text, "gateway_latency_seconds{quantile=\"0.99\"}").unwrap() > 0.0, "{text}");
    }
}

/// With `handed-on`, the acknowledgement means that the sink has the samples.
#[tokio::test]
async fn handed_on_means_that_the_sink_has_the_samples_before_the_response() {
    let home = Home::new();
    let file = home.at("tasks");
    let server = Server::start(&[("SINK", "file"), ("SINK_FILE", &file), ("DURABILITY", "handed-on")]).await;
    let batch: Vec<Value> = (0..50).map(|value| sample("a", f64::from(value), "LOW")).collect();
    let (status, _) = send(server.client(), &batch.into()).await;
    assert_eq!((status, home.tasks().len()), (StatusCode::ACCEPTED, 50));
}

#[tokio::test]
async fn accepted_samples_are_handed_on_before_shutdown() {
    let home = Home::new();
    let server = with_a_file(&home).await;
    let batch: Vec<Value> = (0..900).map(|value| sample("a", f64::from(value), "LOW")).collect();
    assert_eq!(send(server.client(), &batch.into()).await.0, StatusCode::ACCEPTED);
    server.running.stop().await;
    assert_eq!(home.tasks().len(), 900);
}
