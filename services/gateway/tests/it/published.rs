//! The published interface of gateways of this kind, compared with ours: routes, members of requests and responses, fields
//! of messages. What is left out or differs on purpose is listed in `docs/gateway.md`.

use std::collections::BTreeSet;

use gateway::http::routes;
use hyper::StatusCode;
use serde_json::{Value, json};
use testkit::documents::assert_says;

use crate::support::{Server, sample, send};

/// Route: members of its successful response, of any depth.
const ROUTES: [(&str, &str); 7] = [
    ("GET /health", "status"),
    ("POST /telemetry", "ok message"),
    ("GET /status", "state latest_sample latest_sample.seq latest_sample.value latest_sample.unit metrics"),
    ("POST /start", "ok"),
    ("POST /stop", "ok"),
    ("POST /reset", "ok"),
    (
        "GET /metrics",
        "samples_processed samples_dropped queue_depth latency_p99_ms uptime_seconds thread_pool \
         thread_pool.jobs_processed thread_pool.jobs_queued thread_pool.avg_processing_ms thread_pool.num_threads",
    ),
];

/// Message of `telemetry.proto`: its fields.
const MESSAGES: [(&str, &str); 2] = [
    ("TelemetrySample", "timestamp_us 1, value 2, unit 3, sequence_id 4"),
    ("TelemetryBatch", "samples, device_id, batch_timestamp_us"),
];

/// What the published interface has and ours has not.
const LEFT_OUT: [&str; 3] = [
    "serial commands (`CALIBRATE`, `GET_STATUS`, `RESET`, `SET_RATE`)",
    "`sampling_interval_ms`",
    "the messages `DeviceStatus` and `TelemetrySample.sequence_id` in responses",
];

/// What ours does otherwise.
const DIFFERENT: [&str; 4] = [
    "invalid ones are 400 and a full queue 503",
    "with 202, or with 200 by `ACCEPTED_STATUS`",
    "`/start` and `/stop` may be repeated",
    "queue depth, drops and latency are true",
];

/// The published clients take nothing but 200 for success.
#[tokio::test]
async fn every_published_route_answers_200_with_its_members() {
    let server = Server::start(&[("ACCEPTED_STATUS", "200"), ("FAULT_AFTER_SAMPLES", "1")]).await;
    let client = server.client();
    let ours: BTreeSet<String> =
        routes::all().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    for (route, members) in ROUTES {
        assert!(ours.contains(route), "{route}");
        let (method, path) = route.split_once(' ').unwrap();
        let before = match path {
            "/status" => Some(send(client, &sample("default", 1.0, "HIGH")).await.0),
            // From SafeState, which the one sample leads to.
            "/reset" => {
                client.post("/start", "").await;
                Some(send(client, &sample("default", 1.0, "HIGH")).await.0)
            }
            _ => None,
        };
        assert!(before.is_none_or(|status| status == StatusCode::OK), "{before:?}");
        let body =
            if path == "/telemetry" { sample("sensor", 1.5, "MEDIUM").to_string() } else { String::new() };
        let (status, response) = client.request(method.parse().unwrap(), path, &[], body).await;
        assert_eq!(status, StatusCode::OK, "{route}: {response}");
        for member in members.split_whitespace() {
            let pointer = format!("/{}", member.replace('.', "/"));
            assert!(response.pointer(&pointer).is_some(), "{route}: {member} is not in {response}");
        }
    }
    let (status, response) = client.post("/telemetry", "").await;
    assert_eq!((status, &response["error"]), (StatusCode::BAD_REQUEST, &json!("Empty request body")));
    assert_eq!(client.get("/health").await.1, json!({ "status": "ok" }));
}

/// The payload of the published load tests.
#[tokio::test]
async fn the_published_payload_is_accepted() {
    let server = Server::start(&[]).await;
    let payload = json!({
        "device_id": "device-7", "type": "temperature", "value": 21.5, "unit": "celsius", "priority": "HIGH",
        "timestamp": "2026-01-31T12:00:00.000Z", "metadata": { "location": "hall 2", "firmware_version": "1.0.0" },
    });
    let (status, response) = send(server.client(), &payload).await;
    assert_eq!((status, &response["ok"]), (StatusCode::ACCEPTED, &Value::Bool(true)), "{response}");
    assert_eq!(response["message"], "Telemetry received");
}

#[test]
fn every_published_field_is_in_the_messages() {
    let proto = include_str!("../../../../proto/telemetry/telemetry.proto");
    assert!(proto.contains("package telemetry;"));
    for (message, fields) in MESSAGES {
        let body =
            proto.split(&format!("message {message} {{")).nth(1).unwrap_or_else(|| panic!("{message}"));
        let body = body.split('}').next().unwrap();
        for field in fields.split(", ") {
            let declared = match field.split_once(' ') {
                Some((name, number)) => format!(" {name} = {number};"),
                None => format!(" {field} = "),
            };
            assert!(body.contains(&declared), "{message} has no `{declared}`: {body}");
        }
    }
}

#[test]
fn what_is_left_out_or_differs_is_documented() {
    assert_says(include_str!("../../../../docs/gateway.md"), LEFT_OUT.into_iter().chain(DIFFERENT));
}
