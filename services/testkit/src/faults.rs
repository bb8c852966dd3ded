//! Faults that every service can inject: each has its documented effect.

use std::process::Command;
use std::time::{Duration, Instant};

use peers::service::refused;
use tokio::task::JoinSet;

use crate::process::Process;

/// Sends `count` requests, all at once; returns how long it took.
pub async fn at_once<R>(count: u32, send: impl Fn(u32) -> R) -> Duration
where
    R: Future<Output: Send + 'static> + Send + 'static,
{
    let began = Instant::now();
    (0..count).map(send).collect::<JoinSet<_>>().join_all().await;
    began.elapsed()
}

/// An unknown fault is refused, with a list that has `own`.
pub fn assert_unknown_is_refused(command: &mut Command, own: &str) {
    let message = refused(command.env("INJECT_FAULTS", "mess=1"));
    assert!(
        message.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && message.contains(own),
        "{message}"
    );
}

/// `load` sends a number of requests, all at once, and returns how long it took.
pub async fn assert_delays(start: impl Fn(&str) -> Process, load: impl AsyncFn(&Process, u32) -> Duration) {
    for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
        let took = load(&start(faults), 10).await;
        assert!(took >= Duration::from_millis(at_least), "{faults}: {took:?}");
    }
}

pub async fn assert_burns(start: impl Fn(&str) -> Process, load: impl AsyncFn(&Process, u32) -> Duration) {
    let process = start("burn=10000");
    load(&process, 1).await;
    let before = process.cpu_ticks();
    load(&process, 40).await;
    // 40 × 10 ms; other processes may have used the processor meanwhile.
    assert!(process.cpu_ticks() - before >= 10);
}

pub async fn assert_leaks(start: impl Fn(&str) -> Process, load: impl AsyncFn(&Process, u32) -> Duration) {
    let process = start("leak-memory=1000000,leak-descriptors=2");
    // Before any connection, which would be missing again once it is closed.
    let idle = process.resources();
    load(&process, 1).await;
    let before = process.resources();
    load(&process, 100).await;
    let after = process.resources();
    assert!(after.resident_kb - before.resident_kb >= 95_000, "{before:?} {after:?}");
    assert!(after.descriptors - idle.descriptors >= 50, "{idle:?} {after:?}");
}
