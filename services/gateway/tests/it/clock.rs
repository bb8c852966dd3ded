//! A clock that is set back, or on: nothing is decided by the time of day, so nothing can go wrong by it.

use crate::clients::{rest, saying};
use crate::pitfalls::sources;
use crate::process::{Process, serving};
use crate::redis::listed;
use crate::support::{Client, Home, metric, request, sample, until};
use hyper::{Method, StatusCode};
use kit::clock::UtcMs;
use peers::faketime::Clock;
use peers::redis::Redis;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const HOUR_S: i64 = 3_600;
const HOUR_MS: i64 = 1_000 * HOUR_S;

fn start(clock: &Clock, settings: &[(&str, &str)]) -> Process {
    Process::started(serving(settings).envs(clock.env()).stderr(Stdio::null()))
}

/// How far the clock was from the true time when a task was made; a test takes far less than half an hour.
fn hours_ahead(task: &Value) -> i64 {
    let told = UtcMs::parse(task["created_at"].as_str().unwrap()).unwrap();
    (told.0 - UtcMs::now().0 + HOUR_MS / 2).div_euclid(HOUR_MS)
}

fn value(task: &Value) -> u32 {
    task["payload"]["value"].as_f64().unwrap() as u32
}

/// Sends one sample after the other until it is over; each is taken.
async fn send(client: Client, (taken, is_over): (Arc<AtomicU32>, Arc<AtomicBool>)) {
    while !is_over.load(Ordering::Relaxed) {
        let value = f64::from(taken.load(Ordering::Relaxed));
        let (status, answer) = client.send(&sample("a", value, "MEDIUM")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
        taken.fetch_add(1, Ordering::Relaxed);
    }
}

/// The process's clock is set back by an hour, on by two and right again, while samples come and are handed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_loses_doubles_and_reorders_nothing() {
    let (clock, redis, home) = (Clock::start().unwrap(), Redis::start(&[]).unwrap(), Home::new());
    let (url, journal) = (format!("redis://{}", redis.address()), home.at("journal"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("JOURNAL_SEGMENT_BYTES", "4096")];
    let sink = [("SINK", "redis"), ("REDIS_URL", &url), ("WORKERS", "1"), ("HEAD_TIMEOUT_MS", "300")];
    let settings: Vec<(&str, &str)> = disk.into_iter().chain(sink).collect();
    let process = start(&clock, &settings);
    let shared = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (taken, is_over) = shared.clone();
    let sending = tokio::spawn(send(process.client, shared));
    for ahead_s in [0, -HOUR_S, HOUR_S, 0] {
        let mut silent = saying(process.client.address, "").await;
        clock.set(ahead_s).unwrap();
        let before = taken.load(Ordering::Relaxed);
        until("samples are taken", async || {
            assert!(!sending.is_finished());
            taken.load(Ordering::Relaxed) > before + 50
        })
        .await;
        assert_eq!(rest(&mut silent).await, "", "who says nothing is cut off whatever time it is");
    }
    is_over.store(true, Ordering::Relaxed);
    sending.await.unwrap();
    assert!(process.terminate().success());
    let tasks = listed(&redis);
    assert_eq!(
        tasks.iter().map(value).collect::<Vec<_>>(),
        (0..taken.load(Ordering::Relaxed)).collect::<Vec<_>>()
    );
    let ids: BTreeSet<&str> = tasks.iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), tasks.len());
    let hours: BTreeSet<i64> = tasks.iter().map(hours_ahead).collect();
    assert_eq!(hours, BTreeSet::from([-1, 0, 1]), "the clock was set");
}

/// A sink that stands still while the clock is set: given up in time, and found again when it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patience_and_pauses_towards_the_sink_are_not_of_the_time_of_day() {
    let (clock, redis, home) = (Clock::start().unwrap(), Redis::start(&[]).unwrap(), Home::new());
    let (url, journal) = (format!("redis://{}", redis.address()), home.at("journal"));
    let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", journal.as_str())];
    let sink = [("SINK", "redis"), ("REDIS_URL", &url), ("SINK_TIMEOUT_MS", "200")];
    let settings: Vec<(&str, &str)> = disk.into_iter().chain(sink).collect();
    let process = start(&clock, &settings);
    let count = async |name: &str| {
        let answer = process.admin.exchange(request(Method::GET, "/metrics", &[], "")).await.unwrap();
        metric(&String::from_utf8(answer.body).unwrap(), name).unwrap()
    };
    let mut sent = 0;
    for ahead_s in [-HOUR_S, HOUR_S] {
        let opened = count("gateway_sink_breaker_opened_total").await;
        redis.pause();
        for _ in 0..30 {
            assert_eq!(
                process.client.send(&sample("a", f64::from(sent), "LOW")).await.0,
                StatusCode::ACCEPTED
            );
            sent += 1;
        }
        clock.set(ahead_s).unwrap();
        until("the breaker is open", async || count("gateway_sink_breaker_opened_total").await > opened)
            .await;
        redis.resume();
        until("nothing waits", async || count("gateway_queue_depth").await == 0.0).await;
    }
    assert!(process.terminate().success());
    let values: BTreeSet<u32> = listed(&redis).iter().map(value).collect();
    assert_eq!(values, (0..sent).collect(), "what was on its way may be there twice, and all of it is");
}

/// What one process left on disk is handed on before what the next one was given at an earlier time of day.
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
    let away = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let away: Vec<(&str, &str)> = disk.into_iter().chain(away).collect();
    for (ahead_s, first) in [(HOUR_S, 0), (-HOUR_S, 20)] {
        clock.set(ahead_s).unwrap();
        let process = start(&clock, &away);
        for value in first..first + 20 {
            let (status, _) = process.client.send(&sample("a", f64::from(value), "LOW")).await;
            assert_eq!(status, StatusCode::ACCEPTED);
        }
        assert!(process.terminate().success(), "a drain ends in time with nobody to hand on to");
    }
    let to_file: Vec<(&str, &str)> =
        disk.into_iter().chain([("SINK", "file"), ("SINK_FILE", &file)]).collect();
    let process = start(&clock, &to_file);
    until("they are handed on", async || home.tasks().len() == 40).await;
    assert!(process.terminate().success());
    let tasks = home.tasks();
    assert_eq!(tasks.iter().map(value).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    assert_eq!((hours_ahead(&tasks[0]), hours_ahead(&tasks[39])), (1, -1));
}

/// The time of day is read in one place, for the `created_at` of tasks.
#[test]
fn the_time_of_day_is_read_for_created_at_alone() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert!(files.iter().all(|path| !text(path).contains("SystemTime")));
    let readers: Vec<_> = files.iter().filter(|path| text(path).contains("UtcMs::now()")).collect();
    assert_eq!(readers.len(), 1, "{readers:?}");
    assert!(readers[0].ends_with("src/accept.rs"));
}

/// Samples from before and from after now are taken alike: a device's clock, or ours, may be wrong by years.
#[tokio::test]
async fn samples_are_taken_whatever_time_they_tell() {
    let home = Home::new();
    let server = crate::support::Server::start(&[("SINK", "file"), ("SINK_FILE", &home.at("tasks"))]).await;
    for timestamp in
        ["1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2099-12-31T23:59:59Z", "1999-01-01T00:00:00Z"]
    {
        let mut sample = sample("a", 1.0, "LOW");
        sample["timestamp"] = timestamp.into();
        assert_eq!(server.client().send(&sample).await.0.as_u16(), 202, "{timestamp}");
    }
    let (_, status) = server.client().get("/status?device=a").await;
    assert_eq!(
        status["latest_sample"]["timestamp"], "1999-01-01T00:00:00Z",
        "the last is the last that came"
    );
}

/// Files of the journal are read in the order of their numbers, whatever times the disk has for them.
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
    let away: Vec<_> =
        disk.into_iter().chain([("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")]).collect();
    let process = Process::start(&away);
    for value in 0..40 {
        process.client.send(&sample("a", f64::from(value), "LOW")).await;
    }
    process.kill();
    let mut files: Vec<_> = std::fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 3);
    for (place, path) in files.iter().enumerate() {
        let earlier =
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 - place as u64 * 86_400);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(earlier).unwrap();
    }
    let to_file: Vec<_> =
        disk.into_iter().chain([("SINK", "file"), ("SINK_FILE", &file), ("WORKERS", "1")]).collect();
    let _process = Process::start(&to_file);
    until("they are handed on", async || home.tasks().len() == 40).await;
    let values: Vec<f64> =
        home.tasks().iter().map(|task| task["payload"]["value"].as_f64().unwrap()).collect();
    assert!(values.is_sorted(), "{values:?}");
}
