//! What goes wrong on the way to a capacity, or is not as a search expects it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use peers::go;
use rustix::process::Signal;
use tempfile::TempDir;
use testbed::{Behaviour, CannedResponse};

use super::{SEARCH, SLO, experiment, runs};
use crate::command::{TestFolder, open};

#[test]
fn a_full_disk_ends_the_search_with_an_error_and_it_can_be_judged_and_resumed() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment(target.addr(), "to = \"60/s\"\n");
    folder.write("ex.toml", folder.read("ex.toml").replacen("hold = \"0s\"", "hold = \"12s\"", 1));
    // The kernel's limit on the size of a file replaces a full disk: the write-ahead log of the hold exceeds it.
    let search = ["capacity", "ex.toml", "-o", "out.capacity", "--quiet"];
    let ran = folder.plimsoll_after("trap '' XFSZ; ulimit -f 320", &search);
    ran.exits_with(1).stderr_contains(&[
        "the run was not recorded to its end",
        "out.capacity/probe-009.plimsoll",
        "space",
        "go on with `--resume out.capacity`",
    ]);
    assert_eq!(runs(&folder), 8, "what was made before is kept");
    let judged = folder.plimsoll(&["capacity", "--judge", "out.capacity"]);
    judged.exits_with(4).stdout_contains(&["holds 60", "8 probes", "can be resumed", "not-held"]);
    let resumed = folder.plimsoll(&["capacity", "ex.toml", "--resume", "out.capacity", "--quiet"]);
    resumed.exits_with(4).stderr_contains(&["resumed with 8 probes", "probe 9, hold"]);
    resumed.stdout_contains(&["holds 60", "for 12 s: PASS"]);
    assert_eq!(runs(&folder), 9);
}

#[test]
fn a_number_of_which_a_higher_and_a_lower_one_break_is_no_capacity() {
    let state = TempDir::new().unwrap();
    let file = state.path().join("level");
    let level = file.clone();
    let answer = move || {
        let is_best = fs::read_to_string(&level).is_ok_and(|level| level.trim() == "8");
        CannedResponse::new(200).after(Duration::from_millis(if is_best { 20 } else { 400 }))
    };
    let target = testbed::http(Behaviour::computed(answer)).unwrap();
    let folder = experiment(target.addr(), "from = 4\nto = 16\nbetter = \"higher\"\n");
    let arm = format!(
        "[arms.service]\nenv = {{ LEVEL = \"${{level}}\" }}\nreset = \"echo $LEVEL > {}\"\n",
        file.display()
    );
    folder.write("ex.toml", folder.read("ex.toml").replacen("[arms.service]\n", &arm, 1));
    let search = ["capacity", "ex.toml", "-o", "out.capacity", "--json", "r.json", "--quiet"];
    folder.plimsoll(&search).exits_with(4).stdout_contains(&[
        "INCONCLUSIVE",
        "A higher load did better than a lower one.",
        "inconclusive  not-monotone",
        "`fast` is better at 8 than at 9, beyond noise.",
    ]);
    let judgement = &folder.json("r.json")["judgement"];
    assert!(judgement["holds"].is_null() && judgement["estimate"].is_null(), "{judgement}");
    let mut stages =
        judgement["probes"].as_array().unwrap().iter().map(|probe| probe["stage"].as_str().unwrap());
    assert_eq!(stages.next_back(), Some("grid"), "what has no order is neither held nor overloaded");
}

#[test]
fn an_arm_that_does_not_start_any_more_ends_the_search_which_keeps_its_probes() {
    let mut target = go::Target::start(go::Settings::default()).unwrap();
    let (address, program) = (target.address(), target.binary());
    target.end();
    let folder = TestFolder::new(&open(address, 1));
    // From the third start on it ends at once. The service ends when nothing holds its input open.
    let start = format!(
        "echo >> starts; test $(wc -l < starts) -lt 3 || exit 7; sleep 600 | {} -listen {address}",
        program.display()
    );
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.service]\nstart = \"{start}\"\n[search]\n{SEARCH}to = \"60/s\"\n{SLO}"
        ),
    );
    let ran = folder.plimsoll(&["capacity", "ex.toml", "-o", "out.capacity", "--quiet"]);
    ran.exits_with(5).stdout_contains(&["INVALID", "The search stopped", "2 probes"]);
    ran.stderr_contains(&["go on with `--resume out.capacity`"]);
    assert_eq!(runs(&folder), 2);
    let judged = folder.plimsoll(&["capacity", "--judge", "out.capacity"]);
    judged.exits_with(5).stdout_contains(&["The search stopped", "2 probes"]);
    // It starts twice more than it did.
    folder.write("starts", "");
    let resumed = folder.plimsoll(&["capacity", "ex.toml", "--resume", "out.capacity", "--quiet"]);
    resumed.exits_with(5).stderr_contains(&["resumed with 2 probes"]);
    assert_eq!(runs(&folder), 4);
}

/// The argument by which the processes that a start command leaves behind are known.
const LEFT_S: &str = "86407";

/// Whether this is one of those, and is still there.
fn is_left(pid: &str) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|line| line.contains(LEFT_S))
}

#[test]
fn what_a_start_command_leaves_behind_ends_with_its_probe() {
    let mut target = go::Target::start(go::Settings::default()).unwrap();
    let (address, program) = (target.address(), target.binary());
    target.end();
    let folder = TestFolder::new(&open(address, 1));
    // One in the group of the command, one that left it, and the service, which ends when nothing holds its input open. What
    // is there of earlier probes is written down.
    let start = format!(
        "for pid in $(cat left); do grep -qs {LEFT_S} /proc/$pid/cmdline && echo $pid >> still; done; \
         sleep {LEFT_S} & echo $! >> left; setsid sh -c 'echo $$ >> left; exec sleep {LEFT_S}' & \
         sleep {LEFT_S} | {} -listen {address}",
        program.display()
    );
    folder.write("left", "");
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.service]\nstart = \"{start}\"\nstop_within = \"1s\"\n[search]\n\
             {SEARCH}to = \"60/s\"\n{SLO}"
        ),
    );
    let left = || -> Vec<String> { folder.read("left").lines().map(str::to_owned).collect() };
    let ran = folder.plimsoll(&["capacity", "ex.toml", "-o", "all.capacity", "--quiet"]);
    ran.exits_with(4).stdout_contains(&["holds 60", "8 probes"]);
    assert!(left().len() >= 2 * 8, "{:?}", left());
    let mut run = folder.start(&["capacity", "ex.toml", "-o", "out.capacity", "--quiet"]);
    run.until("a probe was made", || runs(&folder) >= 1);
    run.signal(Signal::INT);
    run.end().exits_with(4).stdout_contains(&["It was interrupted"]);
    let all = left();
    assert!(all.len() >= 2 * 9 && !all.iter().any(|pid| is_left(pid)), "{all:?}");
    assert!(!folder.path("still").exists(), "left to the next probe: {}", folder.read("still"));
}
