//! Devices: their states, their latest samples, and their routes.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::support::{Server, sample, send};

const OK: StatusCode = StatusCode::OK;
const BAD: StatusCode = StatusCode::BAD_REQUEST;

#[tokio::test]
async fn each_command_is_accepted_in_its_states_only() {
    let server = Server::start(&[("FAULT_AFTER_SAMPLES", "2")]).await;
    let client = server.client();
    let state = async || client.get("/status").await.1["state"].clone();
    assert_eq!(state().await, "Idle");
    for (command, status, after) in [
        ("stop", OK, "Idle"),
        ("reset", BAD, "Idle"),
        ("start", OK, "Measuring"),
        ("start", OK, "Measuring"),
        ("reset", BAD, "Measuring"),
        ("stop", OK, "Idle"),
        ("start", OK, "Measuring"),
    ] {
        let (got, response) = client.post(&format!("/{command}"), "").await;
        assert_eq!((got, state().await), (status, after.into()), "{command}: {response}");
        assert!(if status == OK { response == json!({ "ok": true }) } else { response["error"].is_string() });
    }
    send(client, &json!([sample("default", 1.0, "LOW"), sample("default", 2.0, "LOW")])).await;
    assert_eq!(state().await, "SafeState");
    assert_eq!((client.post("/start", "").await.0, client.post("/reset", "").await.0), (BAD, OK));
    assert_eq!(state().await, "Idle");
}

#[tokio::test]
async fn a_measuring_device_that_sends_invalid_samples_is_in_error_until_it_is_reset() {
    let server = Server::start(&[("DEFAULT_DEVICE", "d-1")]).await;
    let client = server.client();
    client.post("/start", "").await;
    let invalid: Vec<Value> = (0..5).map(|_| sample("d-1", 1e300, "LOW")).collect();
    assert_eq!(send(client, &invalid.into()).await.0, BAD);
    assert_eq!(client.get("/status").await.1["state"], "Error");
    assert_eq!(
        send(client, &sample("d-1", 1.0, "LOW")).await.0,
        StatusCode::ACCEPTED,
        "samples are accepted in any state"
    );
    assert_eq!((client.post("/stop", "").await.0, client.post("/reset", "").await.0), (BAD, OK));
}

#[tokio::test]
async fn each_device_has_its_own_state_and_latest_sample() {
    let server = Server::start(&[("MAX_DEVICES", "3")]).await;
    let client = server.client();
    let (_, unused) = client.get("/status").await;
    assert_eq!((&unused["latest_sample"], &unused["device"]), (&Value::Null, &"default".into()));
    send(client, &json!([sample("a", 1.0, "LOW"), sample("b", 2.0, "HIGH"), sample("a", 3.0, "MEDIUM")]))
        .await;
    client.post("/start?device=b", "").await;
    let (_, a) = client.get("/status?device=a").await;
    let (_, b) = client.get("/status?device=b").await;
    let expect = json!({
        "seq": 2, "value": 3.0, "unit": "C", "type": "temperature", "priority": "MEDIUM",
        "timestamp": "2026-01-01T00:00:00.123Z",
    });
    assert_eq!((&a["state"], &a["latest_sample"], &a["devices"]), (&"Idle".into(), &expect, &2.into()));
    assert_eq!((&b["state"], &b["latest_sample"]["value"]), (&"Measuring".into(), &2.0.into()));
    assert!(a["metrics"]["queue_depth"].is_u64(), "{a}");
    assert_eq!(client.get("/status?device=c").await.0, StatusCode::NOT_FOUND);
    for query in ["?device=", "?device=a%20b", "?device=%ff", "?device=a&device=b"] {
        assert_eq!(client.get(&format!("/status{query}")).await.0, BAD, "{query}");
    }
    send(client, &json!([sample("c", 1.0, "LOW"), sample("d", 1.0, "LOW")])).await;
    assert_eq!(client.get("/status?device=c").await.0, OK);
    assert_eq!(
        client.get("/status?device=d").await.0,
        StatusCode::NOT_FOUND,
        "a device beyond the maximum is not recorded"
    );
    assert_eq!(client.post("/start?device=d", "").await.0, StatusCode::SERVICE_UNAVAILABLE);
}
