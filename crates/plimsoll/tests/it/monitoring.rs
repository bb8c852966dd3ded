//! Targets watched without any load, and what that shows of leaks.

use std::process;

use peers::go::{Settings, Target};
use peers::postgres::{ADMIN, Cluster, DATABASE};
use peers::redis::Redis;
use rusqlite::Connection;
use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{TestFolder, closed};

#[test]
fn a_watched_process_is_printed_once_a_second_and_recorded() {
    let folder = TestFolder::new("");
    let pid = process::id().to_string();
    let ran = folder.plimsoll(&["monitor", &pid, "--for", "3s", "-o", "seen.plimsoll"]);
    ran.exits_with(0);
    assert!(
        ran.stdout.lines().count() >= 2 && ran.stdout.contains("rss ") && ran.stdout.contains("cpu "),
        "{}",
        ran.stdout
    );
    let report = folder.plimsoll(&["report", "seen.plimsoll"]);
    report.exits_with(0);
    assert!(report.stdout.starts_with("MEASURED"), "{}", report.stdout);
    folder.plimsoll(&["report", "seen.plimsoll", "--json", "seen.json"]).exits_with(0);
    let seen = folder.json("seen.json");
    let memory = seen["series"].as_array().unwrap().iter().find(|series| series["name"] == "rss");
    assert!(memory.is_some_and(|rss| rss["samples"].as_u64().unwrap() >= 2), "{seen}");
    let leaks = folder.plimsoll(&["leaks", "seen.plimsoll"]);
    leaks.exits_with(4);
    assert!(leaks.stdout.contains("UNDETERMINED") && !leaks.stdout.contains("NO_LEAK"), "{}", leaks.stdout);
    folder
        .plimsoll(&["monitor", &pid, "--for", "1s", "-o", "seen.plimsoll"])
        .exits_with(2)
        .stderr_contains(&["seen.plimsoll"]);
}

#[test]
fn the_end_of_a_watch_is_sampled_between_seconds_too() {
    let folder = TestFolder::new("");
    let pid = process::id().to_string();
    let ran = folder.plimsoll(&["monitor", &pid, "--for", "1500ms", "-o", "seen.plimsoll"]);
    ran.exits_with(0);
    let file = Connection::open(folder.path("seen.plimsoll")).unwrap();
    for name in ["cpu", "rss"] {
        let last =
            "SELECT max(at_ns) FROM samples JOIN series USING (series) WHERE target = ?1 AND name = ?2";
        let last: i64 = file.query_row(last, [&pid, name], |row| row.get(0)).unwrap();
        assert!(last >= 1_500_000_000, "{name}: {last}");
    }
    assert_eq!(ran.stdout.lines().filter(|line| line.contains("rss ")).count(), 3, "{}", ran.stdout);
}

#[test]
fn a_watched_process_that_has_ended_is_a_gap_and_no_failure() {
    let folder = TestFolder::new("");
    let mut sleeper = process::Command::new("sleep").arg("300").spawn().unwrap();
    let mut running = folder.start(&["monitor", &sleeper.id().to_string(), "-o", "seen.plimsoll"]);
    let log = folder.path("seen.plimsoll-wal");
    running.until("something is kept", || std::fs::metadata(&log).is_ok_and(|file| file.len() > 0));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    running.signal(Signal::INT);
    let ran = running.end();
    ran.exits_with(0).stdout_contains(&["gone: process"]);
    folder.plimsoll(&["report", "seen.plimsoll"]).exits_with(0);
}

#[test]
fn an_interrupt_ends_a_watch_without_length_cleanly() {
    let folder = TestFolder::new("");
    let mut running = folder.start(&["monitor", &process::id().to_string(), "-o", "seen.plimsoll"]);
    let log = folder.path("seen.plimsoll-wal");
    running.until("something is kept", || std::fs::metadata(&log).is_ok_and(|file| file.len() > 0));
    running.signal(Signal::INT);
    let ran = running.end();
    ran.exits_with(0).stderr_contains(&["stopping: the watch ends here", "the samples are in seen.plimsoll"]);
    assert!(!ran.stderr.contains("arrivals"), "{}", ran.stderr);
    let report = folder.plimsoll(&["report", "seen.plimsoll"]);
    report.exits_with(0);
    assert!(report.stdout.starts_with("MEASURED"), "{}", report.stdout);
}

#[test]
fn every_watched_target_is_identified_and_no_password_is_stored() {
    let shop = Target::start(Settings::default()).unwrap();
    let cluster = Cluster::start().unwrap();
    let redis = Redis::start(&[]).unwrap();
    let folder = TestFolder::new("");
    let database = format!("db=postgresql://{ADMIN}:geheim3000@{}/{DATABASE}", cluster.address());
    let (process, page) =
        (format!("shop=:{}", shop.address().port()), format!("http://{}/metrics", shop.address()));
    let (cache, group) = (format!("redis://{}", redis.address()), "cgroup:/no/such/group");
    let page = format!("shop={page}");
    let ran = folder.plimsoll(&["monitor", &process, &page, &database, &cache, group, "--for", "4s"]);
    ran.exits_with(0).stdout_contains(&[
        "shop  ",
        "go_goroutines",
        "pg_connections",
        "redis_clients",
        "no control group of version 2",
    ]);
    let file = folder.files(".plimsoll").pop().unwrap();
    assert!(file.starts_with("monitor-"), "a run file of its own name is kept: {file}");
    folder.plimsoll(&["report", &file, "--json", "seen.json"]).exits_with(0);
    let targets = &folder.json("seen.json")["run"]["targets"];
    assert_eq!(targets["shop"]["pid"], shop.pid().to_string());
    assert!(targets["db"]["postgres_version"].is_string(), "{targets}");
    let bytes = std::fs::read(folder.path(&file)).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"geheim3000") && !ran.stdout.contains("geheim3000"));
    let leaks = folder.plimsoll(&["leaks", &file]);
    leaks
        .exits_with(4)
        .stdout_contains(&["UNDETERMINED go_memstats_heap_alloc_bytes of shop", "UNDETERMINED rss of shop"]);
}

#[test]
fn a_secret_in_what_a_database_says_of_itself_is_not_stored() {
    let cluster = Cluster::start().unwrap();
    let folder = TestFolder::new("");
    let database = format!("db=postgresql://{ADMIN}:{DATABASE}@{}/{DATABASE}", cluster.address());
    folder.plimsoll(&["monitor", &database, "--for", "2s"]).exits_with(0);
    let file = folder.files(".plimsoll").pop().unwrap();
    folder.plimsoll(&["report", &file, "--json", "seen.json"]).exits_with(0);
    assert_eq!(folder.json("seen.json")["run"]["targets"]["db"]["postgres_database"], "[redacted]");
}

#[test]
fn a_page_without_metrics_is_refused_and_leaves_no_run_file() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/", target.addr());
    folder
        .plimsoll(&["monitor", &url, "--for", "20s"])
        .exits_with(2)
        .stderr_contains(&["a page of Prometheus metrics (`http://HOST:PORT/metrics`)"]);
    assert_eq!(folder.files(".plimsoll"), [""; 0]);
}

#[test]
fn targets_that_cannot_be_watched_are_refused_with_the_reason() {
    let folder = TestFolder::new("");
    let is_free = |id: &u16| !std::path::Path::new(&format!("/proc/{id}")).exists();
    let free = (1..=u16::MAX).rev().find(is_free).unwrap().to_string();
    let as_port = format!("no process has the id {free}; a port is `:{free}`");
    for (target, why) in [
        ("web", "`plimsoll monitor $(pidof web)`"),
        (":0", "neither a process"),
        ("4294967294", "no process has the id 4294967294"),
        (&free, &as_port),
    ] {
        folder.plimsoll(&["monitor", target, "--for", "1s"]).exits_with(2).stderr_contains(&[why]);
    }
    folder.plimsoll(&["monitor", "--for", "1s"]).exits_with(2).stderr_contains(&["name what to watch"]);
    folder.plimsoll(&["leaks", "missing.plimsoll"]).exits_with(2).stderr_contains(&["there is no run file"]);
}

#[test]
fn a_run_without_observers_is_reported() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
    folder.plimsoll(&["leaks", "run.plimsoll"]).exits_with(2).stderr_contains(&["nothing was observed"]);
}

#[test]
fn a_target_without_metrics_ends_a_search_for_leaks_at_once() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/", target.addr());
    // An hour would outlast the test.
    let ran = folder.plimsoll(&["leaks", &url, "--for", "1h", "-o", "watched.plimsoll"]);
    ran.exits_with(2).stderr_contains(&["none of its metrics", "`http://HOST:PORT/metrics`"]);
    for end in [".plimsoll", "-wal", "-shm"] {
        assert_eq!(folder.files(end), [""; 0], "a file of nothing is not kept");
    }
}
