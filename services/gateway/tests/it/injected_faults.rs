//! Fault injection: each fault has its documented effect. `cargo xtask tests` checks that other builds have none.

#[cfg(feature = "faults")]
mod built_in {
    use std::time::{Duration, Instant};

    use hyper::StatusCode;
    use peers::service::refused;
    use serde_json::Value;
    use tokio::task::JoinSet;

    use crate::process::{Process, serving};
    use crate::support::{Home, sample, until};

    fn start(faults: &str) -> Process {
        Process::start(&[("INJECT_FAULTS", faults)])
    }

    /// Sends `count` samples, all at once; returns how long it took.
    async fn send(process: &Process, count: u32) -> Duration {
        let began = Instant::now();
        let mut sent = JoinSet::new();
        for value in 0..count {
            let client = process.client;
            sent.spawn(async move { client.send(&sample("a", f64::from(value), "LOW")).await });
        }
        sent.join_all().await;
        began.elapsed()
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        let message = refused(&mut serving(&[("INJECT_FAULTS", "mess=1")]));
        assert!(
            message.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && message.contains("slow-sink"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn sleep_lock_and_narrow_delay_requests() {
        for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
            let took = send(&start(faults), 10).await;
            assert!(took >= Duration::from_millis(at_least), "{faults}: {took:?}");
        }
    }

    #[tokio::test]
    async fn burn_uses_cpu_of_the_process() {
        let process = start("burn=10000");
        send(&process, 1).await;
        let before = process.service.cpu_ticks().unwrap();
        send(&process, 40).await;
        // 40 × 10 ms; other processes may have used the CPU meanwhile.
        assert!(process.service.cpu_ticks().unwrap() - before >= 10);
    }

    #[tokio::test]
    async fn leaks_grow_with_the_requests() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        send(&process, 1).await;
        let before = process.service.resources().unwrap();
        send(&process, 100).await;
        let after = process.service.resources().unwrap();
        assert!(after.resident_kb - before.resident_kb >= 95_000, "{before:?} {after:?}");
        assert!(after.descriptors - before.descriptors >= 45, "{before:?} {after:?}");
    }

    /// Some samples wait on disk beside refused ones when the process is killed, as its sink takes nothing.
    #[tokio::test]
    async fn samples_refused_by_a_failed_fsync_do_not_come_back() {
        let home = Home::new();
        let (journal, file) = (home.at("journal"), home.at("tasks"));
        let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", journal.as_str())];
        let unreachable = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
        let faults = [("INJECT_FAULTS", "failing-sync=4")];
        let process = Process::start(&[disk.as_slice(), &unreachable, &faults].concat());
        let mut acknowledged = Vec::new();
        for value in 0..20 {
            let (status, response) = process.client.send(&sample("a", f64::from(value), "LOW")).await;
            let is_hit = value % 4 == 0;
            let expect = if is_hit { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::ACCEPTED };
            assert_eq!(status, expect, "{value}: {response}");
            acknowledged.extend((!is_hit).then_some(f64::from(value)));
        }
        process.kill();
        let process = Process::start(&[disk.as_slice(), &[("SINK", "file"), ("SINK_FILE", &file)]].concat());
        until("acknowledged samples are handed on", async || home.tasks().len() >= acknowledged.len()).await;
        until("the queue is empty", async || process.client.get("/metrics").await.1["queue_depth"] == 0)
            .await;
        let handed_on: Vec<f64> =
            home.tasks().iter().map(|task| task["payload"]["value"].as_f64().unwrap()).collect();
        assert_eq!(handed_on, acknowledged, "all of them, and no refused sample");
    }

    /// Handing on takes a minute, so that every sample stays queued.
    #[tokio::test]
    async fn boundless_accepts_more_samples_than_fit() {
        let small = [("QUEUE_SIZE", "1000"), ("WORKERS", "1"), ("DRAIN_TIMEOUT_S", "1")];
        let batch: Vec<Value> = (0..1000).map(|value| sample("a", f64::from(value), "LOW")).collect();
        let batch = Value::from(batch);
        for (faults, fits) in [("slow-sink=60000", false), ("slow-sink=60000,boundless=1000000", true)] {
            let process = Process::start(&[small[0], small[1], small[2], ("INJECT_FAULTS", faults)]);
            assert_eq!(process.client.send(&batch).await.0, StatusCode::ACCEPTED);
            let more = process.client.send(&batch).await.0;
            assert_eq!(more == StatusCode::ACCEPTED, fits, "{faults}: {more}");
            if fits {
                process.client.send(&batch).await;
                let deep =
                    async || process.client.get("/metrics").await.1["queue_depth"].as_u64() > Some(2_000);
                until("the queue exceeds its size", deep).await;
            }
        }
    }
}
