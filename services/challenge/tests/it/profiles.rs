//! Profiles of the process on the admin port, and what `/metrics` says of it.

use crate::database::TestDatabase;
use crate::process::Process;

#[test]
fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = Process::start_with(&TestDatabase::new(), &[]);
    for path in ["/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"] {
        let missing = peers::go::get(process.addresses.admin, path).unwrap_err().to_string();
        assert!(missing.contains("404"), "{path}: {missing}");
    }
    let metrics = String::from_utf8(peers::go::get(process.addresses.admin, "/metrics").unwrap()).unwrap();
    for name in ["process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds "] {
        assert!(metrics.lines().any(|line| line.starts_with(name)), "{name} is not in {metrics}");
    }
}

#[cfg(feature = "profiling")]
mod built_in {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use peers::go::Toolchain;

    use super::*;
    use crate::support::Player;

    #[tokio::test]
    async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
        let on = [("PROFILING", "on".to_owned()), ("PROFILING_BYTES", "4096".to_owned())];
        let process = Process::start_with(&TestDatabase::new(), &on);
        let (admin, is_over) = (process.addresses.admin, Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&is_over);
        let profiles = tokio::task::spawn_blocking(move || {
            let top = |path: &str| Toolchain::find().unwrap().top_of(admin, path);
            let tops =
                ["profile?seconds=3", "heap", "allocs"].map(|name| top(&format!("/debug/pprof/{name}")));
            ends.store(true, Ordering::Relaxed);
            tops
        });
        let player = Player::new(process.addresses.http.unwrap(), "ann");
        let load = async || {
            while !is_over.load(Ordering::Relaxed) {
                player.get("/challenge/v1/challenges").await;
            }
        };
        tokio::join!(load(), load(), load(), load());
        let [cpu, heap, allocated] = profiles.await.unwrap().map(Result::unwrap);
        assert!(cpu.contains("Type: cpu") && cpu.contains("challenge::http::"), "{cpu}");
        assert!(heap.contains("Type: inuse_space") && heap.contains("challenge::"), "{heap}");
        assert!(
            allocated.contains("Type: alloc_space") && allocated.contains("challenge::http::"),
            "{allocated}"
        );
    }
}
