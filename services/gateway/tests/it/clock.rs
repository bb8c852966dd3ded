//! A clock that is set back or forward: no decision depends on the time of day.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hyper::StatusCode;
use peers::faketime::Clock;
use peers::redis::Redis;
use serde_json::Value;
use testkit::http::{Client, connect_and_send};
use testkit::process::Process;
use testkit::time::HOUR_S;
use testkit::until;

use crate::clients::read_to_close;
use crate::process::{serving, started};
use crate::redis::listed;
use crate::support::{Home, sample, send};

fn start(clock: &Clock, settings: &[(&str, &str)]) -> Process {
    Process::start(serving(settings).envs(clock.env()))
}

fn hours_ahead(task: &Value) -> i64 {
    testkit::time::hours_ahead(task["created_at"].as_str().unwrap())
}

fn value(task: &Value) -> u32 {
    task["payload"]["value"].as_f64().unwrap() as u32
}

/// Counts the samples of a sender, and stops it.
#[derive(Debug, Clone, Default)]
struct SenderControl {
    accepted: Arc<AtomicU32>,
    is_stopped: Arc<AtomicBool>,
}

/// Sends one sample after the other until it is stopped; each is accepted.
async fn keep_sending(client: Client, control: SenderControl) {
    while !control.is_stopped.load(Ordering::Relaxed) {
        let value = f64::from(control.accepted.load(Ordering::Relaxed));
        let (status, response) = send(client, &sample("a", value, "MEDIUM")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{response}");
        control.accepted.fetch_add(1, Ordering::Relaxed);
    }
}

/// The process's clock is set back by an hour, forward by two and back to the true time, while samples are accepted and
/// handed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_clock_loses_duplicates_and_reorders_no_sample() {
    let (clock, redis, home) = (Clock::start().unwrap(), Redis::start(&[]).unwrap(), Home::new());
    let (url, journal) = (format!("redis://{}", redis.address()), home.at("journal"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("JOURNAL_SEGMENT_BYTES", "4096")];
    let sink = [("SINK", "redis"), ("REDIS_URL", &url), ("WORKERS", "1"), ("HEAD_TIMEOUT_MS", "300")];
    let settings: Vec<(&str, &str)> = disk.into_iter().chain(sink).collect();
    let process = start(&clock, &settings);
    let control = SenderControl::default();
    let sending = tokio::spawn(keep_sending(process.client(), control.clone()));
    for ahead_s in [0, -HOUR_S, HOUR_S, 0] {
        let mut silent = connect_and_send(process.client().address, "").await;
        clock.set(ahead_s).unwrap();
        let before = control.accepted.load(Ordering::Relaxed);
        until("samples are accepted", async || {
            assert!(!sending.is_finished());
            control.accepted.load(Ordering::Relaxed) > before + 50
        })
        .await;
        assert_eq!(read_to_close(&mut silent).await, "", "a silent client is cut off at any time of day");
    }
    control.is_stopped.store(true, Ordering::Relaxed);
    sending.await.unwrap();
    assert!(process.terminate().success());
    let tasks = listed(&redis);
    assert_eq!(
        tasks.iter().map(value).collect::<Vec<_>>(),
        (0..control.accepted.load(Ordering::Relaxed)).collect::<Vec<_>>()
    );
    let ids: BTreeSet<&str> = tasks.iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), tasks.len());
    let hours: BTreeSet<i64> = tasks.iter().map(hours_ahead).collect();
    assert_eq!(hours, BTreeSet::from([-1, 0, 1]), "the clock was set");
}

/// A sink that stalls while the clock is set: it times out, and is used again when it responds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts_and_pauses_of_the_sink_do_not_depend_on_the_time_of_day() {
    let (clock, redis, home) = (Clock::start().unwrap(), Redis::start(&[]).unwrap(), Home::new());
    let (url, journal) = (format!("redis://{}", redis.address()), home.at("journal"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", journal.as_str())];
    let sink = [("SINK", "redis"), ("REDIS_URL", &url), ("SINK_TIMEOUT_MS", "200")];
    let settings: Vec<(&str, &str)> = disk.into_iter().chain(sink).collect();
    let process = start(&clock, &settings);
    let admin = process.admin();
    let mut sent = 0;
    for ahead_s in [-HOUR_S, HOUR_S] {
        let opened = admin.metric("gateway_sink_breaker_opened_total").await;
        redis.pause();
        for _ in 0..30 {
            assert_eq!(
                send(process.client(), &sample("a", f64::from(sent), "LOW")).await.0,
                StatusCode::ACCEPTED
            );
            sent += 1;
        }
        clock.set(ahead_s).unwrap();
        until("the breaker is open", async || {
            admin.metric("gateway_sink_breaker_opened_total").await > opened
        })
        .await;
        redis.resume();
        until("the queue is empty", async || admin.metric("gateway_queue_depth").await == 0.0).await;
    }
    assert!(process.terminate().success());
    let values: BTreeSet<u32> = listed(&redis).iter().map(value).collect();
    assert_eq!(values, (0..sent).collect(), "samples in flight may be there twice, and none is missing");
}

/// Samples that one process left on disk are handed on before those that the next one accepted at an earlier time of
/// day.
#[tokio::test]
async fn a_process_with_an_earlier_clock_keeps_the_order_of_the_journal() {
    let (clock, home) = (Clock::start().unwrap(), Home::new());
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let disk = [
        ("DURABILITY", "disk"),
        ("JOURNAL_DIR", journal.as_str()),
        ("JOURNAL_SEGMENT_BYTES", "4096"),
        ("DRAIN_TIMEOUT_S", "1"),
        ("WORKERS", "1"),
    ];
    let unreachable = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let unreachable: Vec<(&str, &str)> = disk.into_iter().chain(unreachable).collect();
    for (ahead_s, first) in [(HOUR_S, 0), (-HOUR_S, 20)] {
        clock.set(ahead_s).unwrap();
        let process = start(&clock, &unreachable);
        for value in first..first + 20 {
            let (status, _) = send(process.client(), &sample("a", f64::from(value), "LOW")).await;
            assert_eq!(status, StatusCode::ACCEPTED);
        }
        assert!(process.terminate().success(), "a drain ends in time with an unreachable sink");
    }
    let to_file: Vec<(&str, &str)> =
        disk.into_iter().chain([("SINK", "file"), ("SINK_FILE", &file)]).collect();
    let process = start(&clock, &to_file);
    until("all are handed on", async || home.tasks().len() == 40).await;
    assert!(process.terminate().success());
    let tasks = home.tasks();
    assert_eq!(tasks.iter().map(value).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    assert_eq!((hours_ahead(&tasks[0]), hours_ahead(&tasks[39])), (1, -1));
}

/// The time of day is read in one place, for the `created_at` of tasks; besides by simulated devices, which are clients.
#[test]
fn the_time_of_day_is_read_for_created_at_alone() {
    let files = peers::document::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    assert!(files.iter().all(|(_, text)| !text.contains("SystemTime")));
    let serving = files.iter().filter(|(path, _)| !path.ends_with("src/simulate.rs"));
    let readers: Vec<_> = serving.filter(|(_, text)| text.contains("UtcMs::now()")).collect();
    assert_eq!(readers.len(), 1, "{readers:?}");
    assert!(readers[0].0.ends_with("src/accept.rs"));
}

/// Samples with past and future timestamps are accepted alike: a device's clock, or the gateway's, may be wrong by
/// years.
#[tokio::test]
async fn samples_with_any_timestamp_are_accepted() {
    let home = Home::new();
    let server = crate::support::Server::start(&[("SINK", "file"), ("SINK_FILE", &home.at("tasks"))]).await;
    for timestamp in
        ["1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2099-12-31T23:59:59Z", "1999-01-01T00:00:00Z"]
    {
        let mut sample = sample("a", 1.0, "LOW");
        sample["timestamp"] = timestamp.into();
        assert_eq!(send(server.client(), &sample).await.0.as_u16(), 202, "{timestamp}");
    }
    let (_, status) = server.client().get("/status?device=a").await;
    assert_eq!(
        status["latest_sample"]["timestamp"], "1999-01-01T00:00:00Z",
        "the latest sample is the last one that arrived"
    );
}

/// Files of the journal are read in the order of their numbers, not of their times on disk.
#[tokio::test]
async fn a_journal_written_by_a_later_clock_is_handed_on_in_its_order() {
    let home = Home::new();
    let (journal, file) = (home.at("journal"), home.at("tasks"));
    let disk = [
        ("DURABILITY", "disk"),
        ("JOURNAL_DIR", &journal),
        ("JOURNAL_SEGMENT_BYTES", "4096"),
        ("DRAIN_TIMEOUT_S", "1"),
    ];
    let unreachable: Vec<_> =
        disk.into_iter().chain([("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")]).collect();
    let process = started(&unreachable);
    for value in 0..40 {
        send(process.client(), &sample("a", f64::from(value), "LOW")).await;
    }
    process.kill();
    let mut files: Vec<_> = std::fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 3);
    for (index, path) in files.iter().enumerate() {
        let earlier =
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 - index as u64 * 86_400);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(earlier).unwrap();
    }
    let to_file: Vec<_> =
        disk.into_iter().chain([("SINK", "file"), ("SINK_FILE", &file), ("WORKERS", "1")]).collect();
    let _process = started(&to_file);
    until("all are handed on", async || home.tasks().len() == 40).await;
    let values: Vec<f64> =
        home.tasks().iter().map(|task| task["payload"]["value"].as_f64().unwrap()).collect();
    assert!(values.is_sorted(), "{values:?}");
}
