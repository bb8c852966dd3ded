//! Known faults: absent from builds that did not ask for them, and doing what is said of them in those that did.

#[cfg(not(feature = "faults"))]
#[test]
fn a_build_without_fault_injection_contains_no_fault() {
    let binary = std::fs::read(crate::process::BINARY).unwrap();
    let has = |text: &str| binary.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("JOURNAL_SEGMENT_BYTES"), "this is how a variable's name looks");
    for text in ["INJECT_FAULTS", "leak-memory", "leak-descriptors", "boundless", "slow-sink"] {
        assert!(!has(text), "{text}");
    }
}

#[cfg(feature = "faults")]
mod built_in {
    use crate::process::{Process, serving};
    use crate::support::{sample, until};
    use hyper::StatusCode;
    use serde_json::Value;
    use std::time::{Duration, Instant};
    use tokio::task::JoinSet;

    fn start(faults: &str) -> Process {
        Process::start(&[("INJECT_FAULTS", faults)])
    }

    /// Sends so many samples, all at once; returns how long it took.
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
        let told = serving(&[("INJECT_FAULTS", "mess=1")]).output().unwrap();
        assert_eq!(told.status.code(), Some(2));
        let said = String::from_utf8(told.stderr).unwrap();
        assert!(
            said.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && said.contains("slow-sink"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_sleep_a_lock_and_a_narrow_place_hold_requests_up() {
        for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
            let took = send(&start(faults), 10).await;
            assert!(took >= Duration::from_millis(at_least), "{faults}: {took:?}");
        }
    }

    #[tokio::test]
    async fn burnt_cpu_is_the_processes_own() {
        let process = start("burn=10000");
        send(&process, 1).await;
        let before = cpu_ticks(&process);
        send(&process, 40).await;
        // 400 ms of it, at 100 ticks a second; others may have held the processor while it burnt.
        assert!(cpu_ticks(&process) - before >= 10);
    }

    fn cpu_ticks(process: &Process) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    #[tokio::test]
    async fn leaks_grow_with_the_requests() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", process.child.id())).unwrap().count();
        send(&process, 1).await;
        let before = (process.told("VmRSS:"), descriptors());
        send(&process, 100).await;
        assert!(process.told("VmRSS:") - before.0 >= 95_000, "in kB, from {before:?}");
        assert!(descriptors() - before.1 >= 45, "{} from {before:?}", descriptors());
    }

    /// Handing on takes a minute, so that everything waits.
    #[tokio::test]
    async fn without_a_bound_more_is_taken_than_fits() {
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
                until("it grows without bound", deep).await;
            }
        }
    }
}
