//! A full disk: samples that cannot be persisted are refused, acknowledged samples stay.

use hyper::StatusCode;
use testkit::process::{Process, on_a_small_disk};
use testkit::until;

use crate::process::{serving, started};
use crate::support::{Home, sample, send};

#[tokio::test]
async fn a_full_disk_refuses_samples_and_loses_no_acknowledged_one() {
    let home = Home::new();
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("DRAIN_TIMEOUT_S", "1")];
    let unreachable = [disk[0], disk[1], disk[2], ("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let process = Process::start(&mut on_a_small_disk(&serving(&unreachable), 100));
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    // After a refusal the next file begins, up to the same size.
    for number in 0_u32.. {
        let (status, response) = send(process.client(), &sample("a", f64::from(number), "LOW")).await;
        if status == StatusCode::ACCEPTED {
            acknowledged.push(number);
        } else {
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{response}");
            assert_eq!(response["error"], "the samples could not be kept: the disk cannot be written");
            refused += 1;
        }
        if refused == 3 {
            break;
        }
        assert!(number < 1_000, "three times 50 kB hold fewer samples");
    }
    assert_eq!(process.client().get("/health").await.0, StatusCode::OK);
    process.kill();
    let process = started(&[disk[0], disk[1], disk[2], ("SINK", "file"), ("SINK_FILE", &file)]);
    until("acknowledged samples are handed on", async || home.tasks().len() >= acknowledged.len()).await;
    let values: Vec<u32> =
        home.tasks().iter().map(|task| task["payload"]["value"].as_f64().unwrap() as u32).collect();
    assert_eq!(values, acknowledged, "all of them, and no refused sample");
    assert_eq!(send(process.client(), &sample("a", 0.0, "LOW")).await.0, StatusCode::ACCEPTED);
}

/// The sink's file: samples wait until it can be written.
#[tokio::test]
async fn samples_wait_while_the_file_cannot_be_written() {
    let home = Home::new();
    let file = home.at("tasks");
    let process = started(&[("SINK", "file"), ("SINK_FILE", &file)]);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    for value in 0..5 {
        assert_eq!(
            send(process.client(), &sample("a", f64::from(value), "LOW")).await.0,
            StatusCode::ACCEPTED
        );
    }
    until("all are queued", async || process.client().get("/metrics").await.1["queue_depth"] == 5).await;
    std::fs::remove_dir(&file).unwrap();
    until("all are handed on", async || home.tasks().len() == 5).await;
}
