//! A disk that is full: what cannot be kept is refused, what was acknowledged stays.

use crate::process::{BINARY, Process};
use crate::support::{Home, PORTS, sample, until};
use hyper::StatusCode;
use std::process::{Command, Stdio};

/// A file may grow to so many blocks of 512 bytes; past that a write fails, as it does on a disk that is full.
fn on_a_small_disk(settings: &[(&str, &str)], blocks: u32) -> Process {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {BINARY} serve");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .env_clear()
        .envs(PORTS)
        .envs(settings.iter().copied())
        .stderr(Stdio::null());
    Process::started(&mut command)
}

#[tokio::test]
async fn a_full_disk_refuses_and_loses_nothing_that_was_acknowledged() {
    let home = Home::new();
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("DRAIN_TIMEOUT_S", "1")];
    let away = [disk[0], disk[1], disk[2], ("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let process = on_a_small_disk(&away, 100);
    let mut acknowledged = Vec::new();
    let mut in_a_row = 0;
    // The first refusal may still find room for less: only when nothing fits any more is the disk full.
    for number in 0_u32.. {
        let (status, answer) = process.client.send(&sample("a", f64::from(number), "LOW")).await;
        if status == StatusCode::ACCEPTED {
            acknowledged.push(number);
            in_a_row = 0;
        } else {
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
            assert_eq!(answer["error"], "the samples could not be kept: the disk does not take it");
            in_a_row += 1;
        }
        if in_a_row == 20 {
            break;
        }
        assert!(number < 1_000, "50 kB hold fewer samples");
    }
    assert_eq!(process.client.get("/health").await.0, StatusCode::OK);
    process.kill();
    let process = Process::start(&[disk[0], disk[1], disk[2], ("SINK", "file"), ("SINK_FILE", &file)]);
    until("what was acknowledged is handed on", async || home.tasks().len() >= acknowledged.len()).await;
    let values: Vec<u32> =
        home.tasks().iter().map(|task| task["payload"]["value"].as_f64().unwrap() as u32).collect();
    assert_eq!(values, acknowledged, "all of it, and nothing that was refused");
    assert_eq!(process.client.send(&sample("a", 0.0, "LOW")).await.0, StatusCode::ACCEPTED);
}

/// The sink's disk: samples wait until it takes them.
#[tokio::test]
async fn a_file_that_cannot_be_written_is_waited_for() {
    let home = Home::new();
    let file = home.at("tasks");
    let process = Process::start(&[("SINK", "file"), ("SINK_FILE", &file)]);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    for value in 0..5 {
        assert_eq!(process.client.send(&sample("a", f64::from(value), "LOW")).await.0, StatusCode::ACCEPTED);
    }
    until("they wait", async || process.client.get("/metrics").await.1["queue_depth"] == 5).await;
    std::fs::remove_dir(&file).unwrap();
    until("they are handed on", async || home.tasks().len() == 5).await;
}
