//! Two processes with one Redis: each keeps what it took on a disk of its own, and both hand on to one list.

use crate::process::Process;
use crate::redis::listed;
use crate::support::{Client, Home, sample, until};
use hyper::StatusCode;
use peers::redis::Redis;
use serde_json::Value;
use std::collections::BTreeSet;
use tokio::task::JoinSet;

const SENDERS: u32 = 4;
const EACH: u32 = 100;

/// Sends the samples of one device, one after the other.
async fn send(client: Client, device: String) {
    for value in 0..EACH {
        let (status, answer) = client.send(&sample(&device, value.into(), "MEDIUM")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
    }
}

/// Sends to both processes at once; each sender's device is its own.
async fn send_to_both(replicas: &[Process; 2], round: u32) {
    let mut senders = JoinSet::new();
    for (place, process) in replicas.iter().enumerate() {
        for sender in 0..SENDERS {
            senders.spawn(send(process.client, format!("{round}-{place}-{sender}")));
        }
    }
    senders.join_all().await;
}

/// Everything in the list by its device and value, with the ids.
fn named(tasks: &[Value]) -> (BTreeSet<(String, u32)>, BTreeSet<&str>) {
    let name = |task: &Value| {
        let payload = &task["payload"];
        (payload["device_id"].as_str().unwrap().to_owned(), payload["value"].as_f64().unwrap() as u32)
    };
    (tasks.iter().map(name).collect(), tasks.iter().map(|task| task["id"].as_str().unwrap()).collect())
}

/// Once while Redis is there, and once while it comes only when all has been taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_hand_on_everything_once_and_number_it_apart() {
    let mut redis = Redis::start(&[]).unwrap();
    let (url, home) = (format!("redis://{}", redis.address()), Home::new());
    let replicas = ["one", "two"].map(|name| {
        let folder = home.at(name);
        let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", folder.as_str())];
        let sink = [("SINK", "redis"), ("REDIS_URL", url.as_str())];
        Process::start(&disk.into_iter().chain(sink).collect::<Vec<_>>())
    });
    let all = (2 * SENDERS * EACH) as usize;
    send_to_both(&replicas, 0).await;
    until("all are in the list", async || listed(&redis).len() >= all).await;
    let tasks = listed(&redis);
    let (names, ids) = named(&tasks);
    assert_eq!((tasks.len(), names.len(), ids.len()), (all, all, all));

    redis.stop();
    send_to_both(&replicas, 1).await;
    // It begins anew with nothing.
    redis.start_again().unwrap();
    for process in replicas {
        until("nothing waits", async || process.client.get("/metrics").await.1["queue_depth"] == 0).await;
        assert!(process.terminate().success());
    }
    let later = listed(&redis);
    let (names_later, ids_later) = named(&later);
    assert_eq!((later.len(), names_later.len(), ids_later.len()), (all, all, all));
    assert!(names.is_disjoint(&names_later) && ids.is_disjoint(&ids_later));
}
