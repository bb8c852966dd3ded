//! Progress during a run, and output streams that were closed.

use testbed::Behaviour;

use crate::command::{TestFolder, closed};

#[test]
fn without_a_terminal_progress_is_plain_lines_and_quiet_is_none() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 6));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    assert_eq!(ran.exits_with(0).stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains(['\r', '\x1b']), "{:?}", ran.stderr);
    assert!(!ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "--time-scale", "0.2"]);
    assert_eq!(ran.exits_with(0).stderr, "");
}

#[test]
fn plain_lines_say_when_an_objective_is_decided() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let objectives = "[objectives]\nslow = \"p50(all) > 10s\"\nfew = \"error_rate(all) < 90%\"\n";
    let folder = TestFolder::new(&(closed(target.addr(), 6) + objectives));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    ran.exits_with(3).stderr_contains(&[
        "\nslow: violated so far (p50(all) > 10s)\n",
        "\nfew: met so far (error_rate(all) < 90%)\n",
    ]);
}

#[test]
fn closed_output_streams_fail_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 6));
    // The other end of both streams is closed as soon as `true` has ended.
    let script = "mkfifo gone; true < gone & exec > gone 2>&1; wait";
    folder.plimsoll_after(script, &["run", "plan.toml", "-o", "run.plimsoll"]).exits_with(0);
    folder.plimsoll_after(&format!("rm gone; {script}"), &["report", "run.plimsoll"]).exits_with(0);
    folder.plimsoll_after(&format!("rm gone; {script}"), &["check", "nope.toml"]).exits_with(2);
}
