//! Targets watched without any load, and what that shows of leaks.

use std::process;

use peers::go::{Settings, Target};
use peers::postgres::{ADMIN, Cluster, DATABASE};
use peers::redis::Redis;
use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{Place, closed};

#[test]
fn a_process_is_watched_a_line_a_second_and_kept() {
    let place = Place::new("");
    let pid = process::id().to_string();
    let ran = place.plimsoll(&["monitor", &pid, "--for", "3s", "-o", "seen.plimsoll"]);
    ran.ended(0);
    assert!(
        ran.stdout.lines().count() >= 2 && ran.stdout.contains("rss ") && ran.stdout.contains("cpu "),
        "{}",
        ran.stdout
    );
    let report = place.plimsoll(&["report", "seen.plimsoll"]);
    report.ended(0);
    assert!(report.stdout.starts_with("MEASURED"), "{}", report.stdout);
    place.plimsoll(&["report", "seen.plimsoll", "--json", "seen.json"]).ended(0);
    let seen = place.json("seen.json");
    let memory = seen["series"].as_array().unwrap().iter().find(|series| series["name"] == "rss");
    assert!(memory.is_some_and(|rss| rss["samples"].as_u64().unwrap() >= 2), "{seen}");
    let leaks = place.plimsoll(&["leaks", "seen.plimsoll"]);
    leaks.ended(4);
    assert!(leaks.stdout.contains("UNDETERMINED") && !leaks.stdout.contains("NO_LEAK"), "{}", leaks.stdout);
    place
        .plimsoll(&["monitor", &pid, "--for", "1s", "-o", "seen.plimsoll"])
        .ended(2)
        .complains(&["seen.plimsoll"]);
}

#[test]
fn an_interrupt_ends_an_open_watch_well() {
    let place = Place::new("");
    let mut running = place.start(&["monitor", &process::id().to_string(), "-o", "seen.plimsoll"]);
    let log = place.path("seen.plimsoll-wal");
    running.until("something is kept", || std::fs::metadata(&log).is_ok_and(|file| file.len() > 0));
    running.signal(Signal::INT);
    let ran = running.end();
    ran.ended(0).complains(&["stopping: the watch ends here", "what was seen is in seen.plimsoll"]);
    assert!(!ran.stderr.contains("arrivals"), "{}", ran.stderr);
    let report = place.plimsoll(&["report", "seen.plimsoll"]);
    report.ended(0);
    assert!(report.stdout.starts_with("MEASURED"), "{}", report.stdout);
}

#[test]
fn everything_that_is_watched_says_who_it_is_and_no_password_is_kept() {
    let shop = Target::start(Settings::default()).unwrap();
    let cluster = Cluster::start().unwrap();
    let redis = Redis::start(&[]).unwrap();
    let place = Place::new("");
    let database = format!("db=postgresql://{ADMIN}:geheim3000@{}/{DATABASE}", cluster.address());
    let (process, page) =
        (format!("shop=:{}", shop.address().port()), format!("http://{}/metrics", shop.address()));
    let (cache, group) = (format!("redis://{}", redis.address()), "cgroup:/no/such/group");
    let page = format!("shop={page}");
    let ran = place.plimsoll(&["monitor", &process, &page, &database, &cache, group, "--for", "4s"]);
    ran.ended(0).says(&[
        "shop  ",
        "go_goroutines",
        "pg_connections",
        "redis_clients",
        "no control group of version 2",
    ]);
    let file = place.files(".plimsoll").pop().unwrap();
    assert!(file.starts_with("monitor-"), "a run file of its own name is kept: {file}");
    place.plimsoll(&["report", &file, "--json", "seen.json"]).ended(0);
    let targets = &place.json("seen.json")["run"]["targets"];
    assert_eq!(targets["shop"]["pid"], shop.pid().to_string());
    assert!(targets["db"]["postgres_version"].is_string(), "{targets}");
    let bytes = std::fs::read(place.path(&file)).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"geheim3000") && !ran.stdout.contains("geheim3000"));
    let leaks = place.plimsoll(&["leaks", &file]);
    leaks.ended(4).says(&["UNDETERMINED  go_memstats_heap_alloc_bytes of shop", "UNDETERMINED  rss of shop"]);
}

#[test]
fn what_cannot_be_watched_is_refused_in_words() {
    let place = Place::new("");
    for (target, why) in
        [("web", "neither a process"), (":0", "neither a process"), ("4294967294", "4294967294")]
    {
        place.plimsoll(&["monitor", target, "--for", "1s"]).ended(2).complains(&[why]);
    }
    place.plimsoll(&["monitor", "--for", "1s"]).ended(2).complains(&["say what to watch"]);
    place.plimsoll(&["leaks", "missing.plimsoll"]).ended(2).complains(&["there is no run file"]);
}

#[test]
fn a_run_that_watched_nothing_says_so() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    place.plimsoll(&["run", "plan.toml", "-q", "-o", "run.plimsoll"]).ended(0);
    place.plimsoll(&["leaks", "run.plimsoll"]).ended(2).complains(&["nothing was observed"]);
}
