//! Profiles of a service, as `go tool pprof -top` prints them, and what its metrics say of its process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use peers::PeerError;
use peers::go::{self, Toolchain};

/// The settings of a service that makes profiles.
pub const ON: [(&str, &str); 2] = [("PROFILING", "on"), ("PROFILING_BYTES", "4096")];

/// Asserts that profiles of the service at `admin`, of CPU time over 3 s, are each of its kind and name functions of the
/// service: `of_load` those that four callers call meanwhile.
pub async fn assert_named(admin: SocketAddr, of_service: &str, of_load: &str, call: impl AsyncFn()) {
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let profiles = tokio::task::spawn_blocking(move || {
        let profiles = ["profile?seconds=3", "heap", "allocs"].map(|name| top(admin, name));
        ends.store(true, Ordering::Relaxed);
        profiles
    });
    let load = async || {
        while !is_over.load(Ordering::Relaxed) {
            call().await;
        }
    };
    tokio::join!(load(), load(), load(), load());
    let [cpu, heap, allocated] = profiles.await.unwrap().map(Result::unwrap);
    assert!(cpu.contains("Type: cpu") && cpu.contains("Duration: 3") && cpu.contains(of_load), "{cpu}");
    assert!(heap.contains("Type: inuse_space") && heap.contains(of_service), "{heap}");
    assert!(allocated.contains("Type: alloc_space") && allocated.contains(of_load), "{allocated}");
}

fn top(admin: SocketAddr, name: &str) -> Result<String, PeerError> {
    Toolchain::find()?.top_of(admin, &format!("/debug/pprof/{name}"))
}

/// Asserts that the service at `admin` has no profiles, and that its metrics describe its process.
pub fn assert_no_profiles(admin: SocketAddr) {
    for path in ["/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"] {
        let answer = go::get(admin, path);
        let is_missing = answer.as_ref().is_err_and(|error| error.to_string().contains("404"));
        assert!(is_missing, "{path}: {answer:?}");
    }
    let metrics = go::get(admin, "/metrics").unwrap_or_else(|error| panic!("{error}"));
    let metrics = String::from_utf8_lossy(&metrics);
    let value = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    for (name, above) in [
        ("process_cpu_seconds_total ", 0.0),
        ("process_resident_memory_bytes ", 1e6),
        ("process_open_fds ", 1.0),
        ("process_threads ", 1.0),
    ] {
        assert!(value(name).is_some_and(|found: f64| found >= above), "{name} is not in {metrics}");
    }
}
