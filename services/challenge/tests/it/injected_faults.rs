//! Fault injection: absent from builds without the feature, and with the documented effect in builds with it.

#[cfg(not(feature = "faults"))]
#[test]
fn a_build_without_fault_injection_contains_no_fault() {
    let binary = std::fs::read(crate::process::BINARY).unwrap();
    let has = |text: &str| binary.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("TEST_IDENTITY_HEADER"), "names of variables are found in the binary");
    for text in ["INJECT_FAULTS", "leak-descriptors", "goal-by-goal"] {
        assert!(!has(text), "{text}");
    }
}

#[cfg(feature = "faults")]
mod built_in {
    use std::time::{Duration, Instant};

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

    /// A number from the status of the process in `/proc`, in the line that begins with `name`.
    fn status_field(process: &Process, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }

    fn descriptors(process: &Process) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", process.child.id())).unwrap().count()
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        let output = serving(&TestDatabase::new()).env("INJECT_FAULTS", "mess=1").output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
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
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.child.id())).unwrap();
        let before = ticks(&stat);
        request_lists(&process, 40).await;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.child.id())).unwrap();
        // 400 ms at 100 ticks a second; other processes may have used the processor meanwhile.
        assert!(ticks(&stat) - before >= 10, "{stat}");
    }

    fn ticks(stat: &str) -> u64 {
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    #[tokio::test]
    async fn leaks_grow_with_the_requests() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        request_lists(&process, 1).await;
        let before = (status_field(&process, "VmRSS:"), descriptors(&process));
        request_lists(&process, 100).await;
        let after = (status_field(&process, "VmRSS:"), descriptors(&process));
        assert!(after.0 - before.0 >= 95_000, "{before:?} {after:?} in kB");
        assert!(after.1 - before.1 >= 50, "{before:?} {after:?}");
    }
}
