//! Fault injection: each fault has its documented effect. `cargo xtask tests` checks that other builds have none.

#[cfg(feature = "faults")]
mod built_in {
    use std::time::Duration;

    use testkit::data::TestDatabase;
    use testkit::faults;
    use testkit::process::Process;

    use crate::process::{serving, started};
    use crate::support::Player;

    fn start(faults: &str) -> Process {
        started(&TestDatabase::new(), &[("INJECT_FAULTS", faults.to_owned())])
    }

    /// Requests `count` lists, all at once; returns how long it took.
    async fn load(process: &Process, count: u32) -> Duration {
        let http = process.address("http");
        let list = |user| {
            let player = Player::new(http, &format!("user-{user}"));
            async move { player.get("/challenge/v1/challenges").await }
        };
        faults::at_once(count, list).await
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        faults::assert_unknown_is_refused(&mut serving(&TestDatabase::new()), "goal-by-goal");
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
}
