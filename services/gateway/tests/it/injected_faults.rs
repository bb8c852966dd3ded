//! Fault injection: each fault has its documented effect. `cargo xtask tests` checks that other builds have none.

#[cfg(feature = "faults")]
mod built_in {
    use std::time::Duration;

    use hyper::StatusCode;
    use serde_json::Value;
    use testkit::faults;
    use testkit::process::Process;
    use testkit::until;

    use crate::process::{serving, started};
    use crate::support::{Home, sample, send};

    fn start(faults: &str) -> Process {
        started(&[("INJECT_FAULTS", faults)])
    }

    /// Sends `count` samples, all at once; returns how long it took.
    async fn load(process: &Process, count: u32) -> Duration {
        let client = process.client();
        let send = move |value: u32| async move { send(client, &sample("a", value.into(), "LOW")).await };
        faults::at_once(count, send).await
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        faults::assert_unknown_is_refused(&mut serving(&[]), "slow-sink");
    }

    #[tokio::test]
    async fn sleep_lock_and_narrow_delay_requests() {
        faults::assert_delays(start, load).await;
    }

    #[tokio::test]
    async fn burn_uses_cpu_of_the_process() {
        faults::assert_burns(start, load).await;
    }

    #[tokio::test]
    async fn leaks_grow_with_the_requests() {
        faults::assert_leaks(start, load).await;
    }

    /// Some samples wait on disk beside refused ones when the process is killed, as its sink takes nothing.
    #[tokio::test]
    async fn samples_refused_by_a_failed_fsync_do_not_come_back() {
        let home = Home::new();
        let (journal, file) = (home.at("journal"), home.at("tasks"));
        let disk = [("DURABILITY", "disk"), ("JOURNAL_DIR", journal.as_str())];
        let unreachable = [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1")];
        let faults = [("INJECT_FAULTS", "failing-sync=4")];
        let process = started(&[disk.as_slice(), &unreachable, &faults].concat());
        let mut acknowledged = Vec::new();
        for value in 0..20 {
            let (status, response) = send(process.client(), &sample("a", f64::from(value), "LOW")).await;
            let is_hit = value % 4 == 0;
            let expect = if is_hit { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::ACCEPTED };
            assert_eq!(status, expect, "{value}: {response}");
            acknowledged.extend((!is_hit).then_some(f64::from(value)));
        }
        process.kill();
        let process = started(&[disk.as_slice(), &[("SINK", "file"), ("SINK_FILE", &file)]].concat());
        until("acknowledged samples are handed on", async || home.tasks().len() >= acknowledged.len()).await;
        until("the queue is empty", async || process.client().get("/metrics").await.1["queue_depth"] == 0)
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
            let process = started(&[small[0], small[1], small[2], ("INJECT_FAULTS", faults)]);
            assert_eq!(send(process.client(), &batch).await.0, StatusCode::ACCEPTED);
            let more = send(process.client(), &batch).await.0;
            assert_eq!(more == StatusCode::ACCEPTED, fits, "{faults}: {more}");
            if fits {
                send(process.client(), &batch).await;
                let deep =
                    async || process.client().get("/metrics").await.1["queue_depth"].as_u64() > Some(2_000);
                until("the queue exceeds its size", deep).await;
            }
        }
    }
}
