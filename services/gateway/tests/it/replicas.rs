//! Two processes with one Redis: each has its own journal, and both hand on to one list.

use std::collections::BTreeSet;

use hyper::StatusCode;
use peers::redis::Redis;
use serde_json::Value;
use testkit::http::Client;
use testkit::process::Process;
use testkit::until;
use tokio::task::JoinSet;

use crate::process::started;
use crate::redis::listed;
use crate::support::{Home, sample, send};

const SENDERS: u32 = 4;
const EACH: u32 = 100;

/// Sends the samples of one device, one after the other.
async fn send_each(client: Client, device: String) {
    for value in 0..EACH {
        let (status, response) = send(client, &sample(&device, value.into(), "MEDIUM")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{response}");
    }
}

/// Sends to both processes at once; each sender's device is its own.
async fn send_to_both(replicas: &[Process; 2], round: u32) {
    let mut senders = JoinSet::new();
    for (index, process) in replicas.iter().enumerate() {
        for sender in 0..SENDERS {
            senders.spawn(send_each(process.client(), format!("{round}-{index}-{sender}")));
        }
    }
    senders.join_all().await;
}

/// The devices and values of tasks, and their ids.
fn samples_and_ids(tasks: &[Value]) -> (BTreeSet<(String, u32)>, BTreeSet<&str>) {
    let name = |task: &Value| {
        let payload = &task["payload"];
        (payload["device_id"].as_str().unwrap().to_owned(), payload["value"].as_f64().unwrap() as u32)
    };
    (tasks.iter().map(name).collect(), tasks.iter().map(|task| task["id"].as_str().unwrap()).collect())
}

/// Once with a running Redis, and once with a Redis that is started only when every sample was accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_hand_on_every_sample_once_with_distinct_ids() {
    let mut redis = Redis::start(&[]).unwrap();
    let (url, home) = (format!("redis://{}", redis.address()), Home::new());
    let replicas = ["one", "two"].map(|name| {
        let folder = home.at(name);
        let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", folder.as_str())];
        let sink = [("SINK", "redis"), ("REDIS_URL", url.as_str())];
        started(&disk.into_iter().chain(sink).collect::<Vec<_>>())
    });
    let all = (2 * SENDERS * EACH) as usize;
    send_to_both(&replicas, 0).await;
    until("all are in the list", async || listed(&redis).len() >= all).await;
    let tasks = listed(&redis);
    let (samples, ids) = samples_and_ids(&tasks);
    assert_eq!((tasks.len(), samples.len(), ids.len()), (all, all, all));

    redis.stop();
    send_to_both(&replicas, 1).await;
    // It starts with an empty list.
    redis.start_again().unwrap();
    for process in replicas {
        until("the queue is empty", async || process.client().get("/metrics").await.1["queue_depth"] == 0)
            .await;
        assert!(process.terminate().success());
    }
    let later = listed(&redis);
    let (later_samples, later_ids) = samples_and_ids(&later);
    assert_eq!((later.len(), later_samples.len(), later_ids.len()), (all, all, all));
    assert!(samples.is_disjoint(&later_samples) && ids.is_disjoint(&later_ids));
}
