//! Fault injection: each fault has its documented effect. `cargo xtask tests` checks that other builds have none.

#[cfg(feature = "faults")]
mod built_in {
    use std::time::{Duration, Instant};

    use peers::service::refused;
    use tokio::task::JoinSet;

    use crate::database::TestDatabase;
    use crate::process::{Process, serving};
    use crate::support::Player;

    fn start(faults: &str) -> Process {
        Process::start_with(&TestDatabase::new(), &[("INJECT_FAULTS", faults.to_owned())])
    }

    /// Requests `count` lists, all at once; returns how long it took.
    async fn request_lists(process: &Process, count: usize) -> Duration {
        let http = process.addresses.http.unwrap();
        let began = Instant::now();
        let mut requests = JoinSet::new();
        for user in 0..count {
            let player = Player::new(http, &format!("user-{user}"));
            requests.spawn(async move { player.get("/challenge/v1/challenges").await });
        }
        requests.join_all().await;
        began.elapsed()
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        let message = refused(serving(&TestDatabase::new()).env("INJECT_FAULTS", "mess=1"));
        assert!(
            message.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && message.contains("goal-by-goal"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn sleep_lock_and_narrow_delay_requests() {
        for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
            let process = start(faults);
            let took = request_lists(&process, 10).await;
            assert!(took >= Duration::from_millis(at_least), "{faults}: {took:?}");
        }
    }

    #[tokio::test]
    async fn burn_uses_cpu_of_the_process() {
        let process = start("burn=10000");
        request_lists(&process, 1).await;
        let before = process.service.cpu_ticks().unwrap();
        request_lists(&process, 40).await;
        // 40 × 10 ms; other processes may have used the processor meanwhile.
        assert!(process.service.cpu_ticks().unwrap() - before >= 10);
    }

    #[tokio::test]
    async fn leaks_grow_with_the_requests() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        // Before any connection, which would be missing again once it is closed.
        let idle = process.service.resources().unwrap();
        request_lists(&process, 1).await;
        let before = process.service.resources().unwrap();
        request_lists(&process, 100).await;
        let after = process.service.resources().unwrap();
        assert!(after.resident_kb - before.resident_kb >= 95_000, "{before:?} {after:?}");
        assert!(after.descriptors - idle.descriptors >= 50, "{idle:?} {after:?}");
    }
}
