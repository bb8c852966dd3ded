//! The real binary under load, killed at an arbitrary moment: acknowledged samples are handed on.
//!
//! `GATEWAY_KILL_ROUNDS` sets how many rounds are run (3 when unset).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hyper::StatusCode;
use serde_json::Value;
use testkit::http::{Client, request};
use testkit::killed::{Load, rounds};
use testkit::until;
use tokio::task::JoinSet;

use crate::process::started;
use crate::support::{Home, Server, sample, send};

const SENDERS: usize = 8;

/// A sample, identified by its device and its value.
type SampleKey = (String, u64);

/// Sends until the connection is cut; every other request is a batch. Returns the acknowledged samples.
async fn send_until_cut(client: Client, device: String, load: Arc<Load>) -> Vec<SampleKey> {
    let mut samples = Vec::new();
    let mut number = 0_u64;
    loop {
        let count = if number.is_multiple_of(2) { 1 } else { 5 };
        let priority = ["HIGH", "MEDIUM", "LOW"][(number % 3) as usize];
        let numbers = number..number + count;
        let batch: Vec<Value> = numbers.clone().map(|n| sample(&device, n as f64, priority)).collect();
        let request = request("POST", "/telemetry", &[], Value::from(batch).to_string());
        match client.try_exchange(request).await {
            Ok(response) if response.status == StatusCode::ACCEPTED => {
                samples.extend(numbers.map(|n| (device.clone(), n)));
                load.acknowledge();
            }
            Ok(_refused) => {}
            Err(_cut) => return samples,
        }
        number += count;
    }
}

/// The ids of the tasks in the file by their sample. A line may have been cut off by the kill.
fn handed_on(home: &Home) -> HashMap<SampleKey, HashSet<String>> {
    let mut found: HashMap<SampleKey, HashSet<String>> = HashMap::new();
    let text = std::fs::read_to_string(home.at("tasks")).unwrap_or_default();
    for task in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let device = task["payload"]["device_id"].as_str().unwrap().to_owned();
        let key = (device, task["payload"]["value"].as_f64().unwrap() as u64);
        found.entry(key).or_default().insert(task["id"].as_str().unwrap().to_owned());
    }
    found
}

#[allow(clippy::print_stdout, reason = "a soak's figures are looked at")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_no_acknowledged_sample() {
    let home = Home::new();
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("JOURNAL_SEGMENT_BYTES", "65536")];
    let to_file = [disk[0], disk[1], disk[2], ("SINK", "file"), ("SINK_FILE", &file)];
    let to_unreachable = [disk[0], disk[1], disk[2], ("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let mut expected: Vec<SampleKey> = Vec::new();
    let rounds = rounds("GATEWAY_KILL_ROUNDS");
    for round in 0..rounds {
        // In every other round the sink is unreachable, and every sample stays on disk.
        let process = started(if round % 2 == 0 { &to_file } else { &to_unreachable });
        let load = Arc::new(Load::default());
        let mut senders = JoinSet::new();
        for sender in 0..SENDERS {
            senders.spawn(send_until_cut(process.client(), format!("r{round}-s{sender}"), Arc::clone(&load)));
        }
        let enough = if round % 2 == 0 { 1 + round % 12 } else { 40 + (round * 7919) % 400 };
        load.reach(enough).await;
        tokio::task::spawn_blocking(move || process.kill()).await.unwrap();
        expected.extend(senders.join_all().await.into_iter().flatten());
    }
    let process = started(&to_file);
    let missing = || {
        let found = handed_on(&home);
        expected.iter().filter(|key| !found.contains_key(*key)).count()
    };
    until("all acknowledged samples are handed on", async || missing() == 0).await;
    until("the queue is empty", async || process.client().get("/metrics").await.1["queue_depth"] == 0).await;
    assert!(process.terminate().success());
    let found = handed_on(&home);
    assert!(found.values().all(|ids| ids.len() == 1), "a sample that was handed on twice has one id");
    let files = std::fs::read_dir(&journal).unwrap().count();
    assert_eq!(files, 1, "only the lock is left in the journal");
    println!("{} rounds, {} samples acknowledged, {} handed on", rounds, expected.len(), found.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_with_an_unreachable_sink_keeps_every_sample_on_disk() {
    let home = Home::new();
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("DRAIN_TIMEOUT_S", "1")];
    let unreachable = [disk[0], disk[1], disk[2], ("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let process = started(&unreachable);
    for value in 0..20 {
        assert_eq!(
            send(process.client(), &sample("a", f64::from(value), "LOW")).await.0,
            StatusCode::ACCEPTED
        );
    }
    assert!(process.terminate().success());
    let process = started(&[disk[0], disk[1], disk[2], ("SINK", "file"), ("SINK_FILE", &file)]);
    until("all are handed on", async || home.tasks().len() == 20).await;
    assert!(process.terminate().success());
}

/// The file that was being written is full of samples that are handed on: nothing is left for the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_sigterm_no_sample_that_was_handed_on_is_handed_on_again() {
    let home = Home::new();
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let settings =
        [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("SINK", "file"), ("SINK_FILE", &file)];
    let process = started(&settings);
    for value in 0..10 {
        assert_eq!(
            send(process.client(), &sample("a", f64::from(value), "LOW")).await.0,
            StatusCode::ACCEPTED
        );
    }
    assert!(process.terminate().success());
    assert_eq!(home.tasks().len(), 10);
    // Whatever it finds in the journal is queued before it is ready, and handed on before it ends.
    assert!(started(&settings).terminate().success());
    assert_eq!(home.tasks().len(), 10, "samples are handed on once");
    assert_eq!(std::fs::read_dir(&journal).unwrap().count(), 1, "only the lock is left in the journal");
}

#[tokio::test]
async fn a_server_that_is_dropped_releases_its_journal() {
    let home = Home::new();
    let journal = home.at("journal");
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", journal.as_str())];
    drop(Server::start(&disk).await);
    let lock = std::fs::File::open(home.path().join("journal/lock")).unwrap();
    until("its lock is free", async || lock.try_lock().is_ok()).await;
}
