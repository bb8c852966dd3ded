//! Files that are no run files, run files that are newer than the command, and run files that are there already.

use rusqlite::Connection;
use testbed::Behaviour;

use crate::command::{Place, closed};

/// A place with a finished run in `run.plimsoll`.
fn with_run() -> Place {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    place.plimsoll(&["run", "plan.toml", "-q", "-o", "run.plimsoll"]).ended(0);
    place
}

#[test]
fn a_run_file_of_a_newer_version_is_refused_with_both_versions() {
    let place = with_run();
    let file = Connection::open(place.path("run.plimsoll")).unwrap();
    file.pragma_update(None, "user_version", 99).unwrap();
    drop(file);
    let ran = place.plimsoll(&["report", "run.plimsoll"]);
    ran.ended(2).complains(&["run.plimsoll has schema version 99", "reads up to 2", "use a newer plimsoll"]);
    assert!(ran.stdout.is_empty());
}

#[test]
fn what_is_no_run_file_is_refused_in_words() {
    let place = Place::new("");
    place.write("text.plimsoll", "just some text");
    place.write("empty.plimsoll", "");
    Connection::open(place.path("other.plimsoll")).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    for (file, reason) in [
        ("text.plimsoll", "it is a file of another kind"),
        ("empty.plimsoll", "it is empty"),
        ("other.plimsoll", "database of another program"),
        (".", "it is a folder"),
        ("missing.plimsoll", "there is no run file"),
    ] {
        let ran = place.plimsoll(&["report", file]);
        ran.ended(2).complains(&["plimsoll: ", file, reason]);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    }
    assert!(place.files("missing.plimsoll").is_empty(), "report makes no files");
}

#[test]
fn a_damaged_run_file_is_refused_without_a_panic() {
    let place = with_run();
    let mut bytes = std::fs::read(place.path("run.plimsoll")).unwrap();
    let half = bytes.len() / 2;
    bytes.truncate(half);
    place.write("half.plimsoll", &bytes);
    bytes[4096..].fill(0xa5);
    place.write("noise.plimsoll", &bytes);
    for file in ["half.plimsoll", "noise.plimsoll"] {
        place.plimsoll(&["report", file]).ended(2).complains(&[file, "damaged"]);
    }
}

#[test]
fn a_run_file_is_not_overwritten_unless_asked() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    let run =
        |more: &[&str]| place.plimsoll(&[&["run", "plan.toml", "-q", "-o", "run.plimsoll"], more].concat());
    run(&[]).ended(0);
    let before = std::fs::read(place.path("run.plimsoll")).unwrap();
    let sent = target.requests();
    run(&[]).ended(2).complains(&["run.plimsoll exists already", "--force"]);
    assert_eq!(std::fs::read(place.path("run.plimsoll")).unwrap(), before, "nothing may be lost");
    assert_eq!(target.requests(), sent, "nothing may be sent");
    run(&["--force"]).ended(0);
    assert_ne!(std::fs::read(place.path("run.plimsoll")).unwrap(), before);
}

#[test]
fn even_force_replaces_nothing_but_run_files() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    place.write("thesis.txt", "three years of work");
    let ran = place.plimsoll(&["run", "plan.toml", "-q", "-o", "thesis.txt", "--force"]);
    ran.ended(2).complains(&["thesis.txt is not a run file"]);
    assert_eq!(place.read("thesis.txt"), "three years of work");
    assert_eq!(target.requests(), 0);
}

#[test]
fn without_a_name_a_run_file_is_named_after_plan_and_time() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    let ran = place.plimsoll(&["run", "plan.toml", "-q"]);
    let files = place.files(".plimsoll");
    assert!(files.len() == 1 && files[0].starts_with("plan-2"), "{files:?}");
    ran.ended(0).says(&[&files[0]]);
}
