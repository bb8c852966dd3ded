//! Targets watched without any load, and what that shows of leaks.

use std::process;

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
    running.end().ended(0);
    place.plimsoll(&["report", "seen.plimsoll"]).ended(0);
}

#[test]
fn what_cannot_be_watched_is_refused_in_words() {
    let place = Place::new("");
    for (target, why) in
        [("web", "neither a process id"), (":0", "neither a process id"), ("4294967294", "4294967294")]
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
