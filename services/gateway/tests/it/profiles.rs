//! Profiles of the process on the admin port, and what `/metrics` says of it.

use hyper::StatusCode;

use crate::process::Process;
use crate::support::metric;

#[tokio::test]
async fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = Process::start(&[]);
    for path in ["/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"] {
        assert_eq!(process.admin.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let metrics = peers::go::get(process.admin.address, "/metrics").unwrap();
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(metric(&metrics, "process_resident_memory_bytes").unwrap() > 1e6, "{metrics}");
    assert!(metric(&metrics, "process_threads").unwrap() > 1.0);
}

#[cfg(not(feature = "profiling"))]
#[test]
fn a_build_without_profiles_does_not_start_with_them() {
    let output = crate::process::serving(&[("PROFILING", "on")]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && message.contains("--features profiling"), "{message}");
}

#[cfg(feature = "profiling")]
mod built_in {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use peers::go::Toolchain;

    use super::*;
    use crate::support::sample;

    /// Sends requests until `is_over`.
    async fn load(process: &Process, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            process.client.send(&sample("a", 1.5, "LOW")).await;
        }
    }

    #[tokio::test]
    async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
        let process = Process::start(&[("PROFILING", "on"), ("PROFILING_BYTES", "4096")]);
        let (admin, is_over) = (process.admin.address, Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&is_over);
        let profiles = tokio::task::spawn_blocking(move || {
            let top = |path: &str| Toolchain::find().unwrap().top_of(admin, path);
            let tops =
                ["profile?seconds=3", "heap", "allocs"].map(|name| top(&format!("/debug/pprof/{name}")));
            ends.store(true, Ordering::Relaxed);
            tops
        });
        let load = async || load(&process, &is_over).await;
        tokio::join!(load(), load(), load(), load());
        let [cpu, heap, allocated] = profiles.await.unwrap().map(Result::unwrap);
        assert!(cpu.contains("Type: cpu") && cpu.contains("Duration: 3"), "{cpu}");
        assert!(cpu.contains("gateway::http::"), "{cpu}");
        assert!(heap.contains("Type: inuse_space") && heap.contains("gateway::"), "{heap}");
        assert!(
            allocated.contains("Type: alloc_space") && allocated.contains("gateway::http::"),
            "{allocated}"
        );
    }
}
