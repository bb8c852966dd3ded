//! Known faults: absent from builds that did not ask for them, and doing what is said of them in those that did.

#[cfg(not(feature = "faults"))]
#[test]
fn a_build_without_fault_injection_contains_no_fault() {
    let binary = std::fs::read(crate::process::BINARY).unwrap();
    let has = |text: &str| binary.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("TEST_IDENTITY_HEADER"), "this is how a variable's name looks");
    for text in ["INJECT_FAULTS", "leak-descriptors", "goal-by-goal"] {
        assert!(!has(text), "{text}");
    }
}

#[cfg(feature = "faults")]
mod built_in {
    use crate::home::Home;
    use crate::process::{Process, serving};
    use crate::support::Player;
    use std::time::{Duration, Instant};
    use tokio::task::JoinSet;

    fn start(faults: &str) -> Process {
        Process::start_with(&Home::new(), &[("INJECT_FAULTS", faults.to_owned())])
    }

    /// Asks for `count` lists, all at once; returns how long it took.
    async fn ask(process: &Process, count: usize) -> Duration {
        let http = process.addresses.http.unwrap();
        let began = Instant::now();
        let mut asked = JoinSet::new();
        for user in 0..count {
            let player = Player::new(http, &format!("user-{user}"));
            asked.spawn(async move { player.get("/challenge/v1/challenges").await });
        }
        asked.join_all().await;
        began.elapsed()
    }

    /// A line of a file of the process in `/proc`, as the number that follows `name`.
    fn told(process: &Process, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }

    fn descriptors(process: &Process) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", process.child.id())).unwrap().count()
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        let told = serving(&Home::new()).env("INJECT_FAULTS", "mess=1").output().unwrap();
        assert_eq!(told.status.code(), Some(2));
        let said = String::from_utf8(told.stderr).unwrap();
        assert!(
            said.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && said.contains("goal-by-goal"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_sleep_a_lock_and_a_narrow_place_hold_requests_up() {
        for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
            let process = start(faults);
            let took = ask(&process, 10).await;
            assert!(took >= Duration::from_millis(at_least), "{faults}: {took:?}");
        }
    }

    #[tokio::test]
    async fn burnt_cpu_is_the_processes_own() {
        let process = start("burn=10000");
        ask(&process, 1).await;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.child.id())).unwrap();
        let before = ticks(&stat);
        ask(&process, 40).await;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.child.id())).unwrap();
        // 400 ms of it, at 100 ticks a second; others may have held the processor while it burnt.
        assert!(ticks(&stat) - before >= 10, "{stat}");
    }

    fn ticks(stat: &str) -> u64 {
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    #[tokio::test]
    async fn leaks_grow_with_the_requests() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        ask(&process, 1).await;
        let before = (told(&process, "VmRSS:"), descriptors(&process));
        ask(&process, 100).await;
        let after = (told(&process, "VmRSS:"), descriptors(&process));
        assert!(after.0 - before.0 >= 95_000, "{before:?} {after:?} in kB");
        assert!(after.1 - before.1 >= 50, "{before:?} {after:?}");
    }
}
