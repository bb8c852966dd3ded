//! What is said while a run goes on, and to readers who have gone.

use testbed::Behaviour;

use crate::command::{Place, closed};

#[test]
fn without_a_terminal_progress_is_plain_lines_and_quiet_is_none() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 6));
    let ran = place.plimsoll(&["run", "plan.toml"]);
    assert_eq!(ran.ended(0).stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains(['\r', '\x1b']), "{:?}", ran.stderr);
    assert!(!ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
    let ran = place.plimsoll(&["run", "plan.toml", "-q", "--time-scale", "0.2"]);
    assert_eq!(ran.ended(0).stderr, "");
}

#[test]
fn readers_who_have_gone_fail_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 6));
    // The other end of both streams is closed as soon as `true` has ended.
    let script = "mkfifo gone; true < gone & exec > gone 2>&1; wait";
    place.plimsoll_after(script, &["run", "plan.toml", "-o", "run.plimsoll"]).ended(0);
    place.plimsoll_after(&format!("rm gone; {script}"), &["report", "run.plimsoll"]).ended(0);
    place.plimsoll_after(&format!("rm gone; {script}"), &["check", "nope.toml"]).ended(2);
}
