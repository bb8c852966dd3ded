//! Files that are no run files, run files that are newer than the command, and run files that are there already.

use rusqlite::Connection;
use testbed::Behaviour;

use crate::command::{TestFolder, closed};

/// A folder with a finished run in `run.plimsoll`.
fn with_run() -> TestFolder {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
    folder
}

#[test]
fn a_run_file_of_a_newer_version_is_refused_with_both_versions() {
    let folder = with_run();
    let file = Connection::open(folder.path("run.plimsoll")).unwrap();
    file.pragma_update(None, "user_version", 99).unwrap();
    drop(file);
    let ran = folder.plimsoll(&["report", "run.plimsoll"]);
    ran.exits_with(2).stderr_contains(&[
        "run.plimsoll has schema version 99",
        "reads up to 7",
        "use a newer plimsoll",
    ]);
    assert!(ran.stdout.is_empty());
}

#[test]
fn a_file_of_another_kind_is_refused_with_the_reason() {
    let folder = TestFolder::new("");
    folder.write("text.plimsoll", "just some text");
    folder.write("empty.plimsoll", "");
    Connection::open(folder.path("other.plimsoll")).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    for (file, reason) in [
        ("text.plimsoll", "it is a file of another kind"),
        ("empty.plimsoll", "it is empty"),
        ("other.plimsoll", "database of another program"),
        (".", "it is a folder"),
        ("missing.plimsoll", "there is no run file"),
    ] {
        let ran = folder.plimsoll(&["report", file]);
        ran.exits_with(2).stderr_contains(&["plimsoll: ", file, reason]);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    }
    assert!(folder.files("missing.plimsoll").is_empty(), "report makes no files");
}

#[test]
fn a_damaged_run_file_is_refused_without_a_panic() {
    let folder = with_run();
    let mut bytes = std::fs::read(folder.path("run.plimsoll")).unwrap();
    let half = bytes.len() / 2;
    bytes.truncate(half);
    folder.write("half.plimsoll", &bytes);
    bytes[4096..].fill(0xa5);
    folder.write("noise.plimsoll", &bytes);
    for file in ["half.plimsoll", "noise.plimsoll"] {
        folder.plimsoll(&["report", file]).exits_with(2).stderr_contains(&[file, "damaged"]);
    }
}

#[test]
fn a_run_file_is_not_overwritten_unless_asked() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let run = |more: &[&str]| {
        folder.plimsoll(&[&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"], more].concat())
    };
    run(&[]).exits_with(0);
    let before = std::fs::read(folder.path("run.plimsoll")).unwrap();
    let sent = target.requests();
    run(&[]).exits_with(2).stderr_contains(&["run.plimsoll exists already", "--force"]);
    assert_eq!(std::fs::read(folder.path("run.plimsoll")).unwrap(), before, "nothing may be lost");
    assert_eq!(target.requests(), sent, "nothing may be sent");
    run(&["--force"]).exits_with(0);
    assert_ne!(std::fs::read(folder.path("run.plimsoll")).unwrap(), before);
}

#[test]
fn force_replaces_only_run_files() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    folder.write("thesis.txt", "three years of work");
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "thesis.txt", "--force"]);
    ran.exits_with(2).stderr_contains(&["thesis.txt is not a run file"]);
    assert_eq!(folder.read("thesis.txt"), "three years of work");
    assert_eq!(target.requests(), 0);
}

#[test]
fn a_run_file_is_named_after_plan_and_time_by_default() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet"]);
    let files = folder.files(".plimsoll");
    assert!(files.len() == 1 && files[0].starts_with("plan-2"), "{files:?}");
    ran.exits_with(0).stdout_contains(&[&files[0]]);
}
