//! A clock that is set back: nothing is decided by the time of day, so nothing can go wrong by it.

use crate::pitfalls::sources;
use crate::support::Home;
use std::path::Path;

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
        let mut sample = crate::support::sample("a", 1.0, "LOW");
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
    let process = crate::process::Process::start(&away);
    for value in 0..40 {
        process.client.send(&crate::support::sample("a", f64::from(value), "LOW")).await;
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
    let _process = crate::process::Process::start(&to_file);
    crate::support::until("they are handed on", async || home.tasks().len() == 40).await;
    let values: Vec<f64> =
        home.tasks().iter().map(|task| task["payload"]["value"].as_f64().unwrap()).collect();
    assert!(values.is_sorted(), "{values:?}");
}
