//! Run files from other people: files beside a run file do no harm, and a command that reads one is confined.

#[path = "../../../archive/tests/it/forged.rs"]
mod forged;

use std::fs;
use std::io::{Write as _, pipe};

use archive::{Overwrite, Stored, Writer};
use evidence::{
    Ending, Instant, Manifest, Observed, Profile, ProfileKind, Run as _, RunEnd, Sampling, Sink as _,
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::command::TestFolder;
use forged::{content, journal, log};

/// A run file as the first version wrote it, sealed.
const SEALED: &[u8] = include_bytes!("../../../archive/tests/files/version-1.plimsoll");

/// Every command that reads a run file.
const READERS: [&[&str]; 4] = [
    &["report", "run.plimsoll", "--html", "run.html"],
    &["compare", "whole.plimsoll", "run.plimsoll"],
    &["export", "run.plimsoll", "--profiles", "out"],
    &["leaks", "run.plimsoll"],
];

/// A folder with two run files.
fn folder() -> TestFolder {
    let folder = TestFolder::new("");
    folder.write("whole.plimsoll", SEALED);
    folder.write("run.plimsoll", SEALED);
    folder
}

#[test]
fn a_rollback_journal_deletes_nothing_whatever_the_command() {
    for arguments in READERS {
        let folder = folder();
        folder.write("thesis.txt", "three years of work\n");
        let forged = journal(&folder.path("run.plimsoll"), &folder.path("thesis.txt"));
        folder.write("run.plimsoll-journal", forged);
        let ran = folder.plimsoll(arguments);
        assert!(folder.path("thesis.txt").exists(), "{arguments:?} deleted the file that the journal names");
        ran.exits_with(2).stderr_contains(&[
            "run.plimsoll-journal lies beside",
            "rollback journal",
            "delete other files",
        ]);
        assert!(ran.stdout.is_empty() && folder.path("run.plimsoll-journal").exists(), "{}", ran.stdout);
        assert_eq!(fs::read(folder.path("run.plimsoll")).unwrap(), SEALED);
        assert!(folder.files("run.html").is_empty() && folder.files("out").is_empty());
    }
}

#[test]
fn a_forged_log_is_not_folded_in_whatever_the_command() {
    for arguments in READERS {
        let folder = folder();
        fs::create_dir(folder.path("received")).unwrap();
        folder.write("received/run.plimsoll", SEALED);
        folder.write("received/run.plimsoll-wal", log(&SEALED[..4096]));
        let before = content(&folder.path("received"));
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| argument.replace("run.plimsoll", "received/run.plimsoll"))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        folder.plimsoll(&arguments).exits_with(2).stderr_contains(&["run.plimsoll is damaged"]);
        assert!(content(&folder.path("received")) == before, "{arguments:?} changed the folder");
    }
}

fn manifest() -> Manifest {
    let folder = folder();
    let schema_version = evidence::manifest::SCHEMA_VERSION;
    Manifest { schema_version, ..Stored::open(&folder.path("whole.plimsoll")).unwrap().manifest().clone() }
}

/// A run that is going on: its log lies beside it as long as the writer lives.
fn begun(folder: &TestFolder) -> Writer {
    let mut writer = Writer::create(&folder.path("run.plimsoll"), &manifest(), Overwrite::Replace).unwrap();
    let (target, kind) = ("shop".to_owned(), ProfileKind::Cpu);
    let (begin, end) = (Instant::EPOCH, Instant::from_nanos(1_000_000_000));
    let (mark, bytes) = ("0s".to_owned(), b"anything".to_vec());
    let profile = Profile { target, kind, mark, begin, end, sampling: Sampling::On, bytes };
    writer.observed(&Observed { profiles: vec![profile], ..Observed::default() }).unwrap();
    writer.flush().unwrap();
    writer
}

#[test]
fn a_file_with_a_log_is_read_from_a_copy_that_goes_away() {
    let folder = folder();
    let writer = begun(&folder);
    fs::create_dir(folder.path("scratch")).unwrap();
    let exported = folder.plimsoll_after(
        "TMPDIR=$PWD/scratch; export TMPDIR",
        &["export", "run.plimsoll", "--profiles", "out"],
    );
    exported.exits_with(0).stdout_contains(&["shop-cpu-0s.pb.gz"]);
    assert_eq!(folder.read("out/shop-cpu-0s.pb.gz"), "anything");
    assert!(content(&folder.path("scratch")).is_empty(), "the copy stays");
    let full = folder.plimsoll_after("trap '' XFSZ; ulimit -f 2", &["report", "run.plimsoll"]);
    full.exits_with(2).stderr_contains(&[
        "run.plimsoll has a write-ahead log",
        "private copy",
        "Free ",
        "TMPDIR",
    ]);
    let nowhere = folder.plimsoll_after("TMPDIR=/no/such; export TMPDIR", &["report", "run.plimsoll"]);
    nowhere.exits_with(2).stderr_contains(&["/no/such cannot take that copy"]);
    drop(writer);
}

/// The kernel shows from outside that a process gave up to gain rights, which comes with confining itself.
#[test]
fn commands_that_read_files_of_others_are_confined_when_they_print() {
    let folder = folder();
    let mut writer = begun(&folder);
    writer.end(&RunEnd::new(Ending::Completed, 0)).unwrap();
    drop(writer);
    let mut builder =
        profile::Builder::new(vec![profile::ValueType { name: "cpu".into(), unit: "ns".into() }]);
    builder.sample(&[profile::Frame { function: "main", binary: "" }], &[1]).unwrap();
    folder.write("cpu.pb.gz", profile::write(&builder.finish()).unwrap());
    folder.write("k6.csv", include_bytes!("../../../import/tests/fixtures/k6.csv"));
    let verbs: [&[&str]; 6] = [
        &["report", "whole.plimsoll", "--html", "report.html"],
        &["compare", "whole.plimsoll", "run.plimsoll", "--md", "compare.md"],
        &["export", "run.plimsoll", "--profiles", "out"],
        &["leaks", "whole.plimsoll"],
        &["profile", "cpu.pb.gz", "--flame", "flame.html"],
        &["import", "k6.csv", "-o", "k6.plimsoll", "--html", "k6.html"],
    ];
    for arguments in verbs {
        // Nothing in that file can show a leak.
        let code = if arguments[0] == "leaks" { 2 } else { 0 };
        // Its output is read only after the check, so that it stays alive until then.
        let (reader, mut full) = pipe().unwrap();
        let flags = fcntl_getfl(&full).unwrap();
        fcntl_setfl(&full, flags | OFlags::NONBLOCK).unwrap();
        while full.write(&[b'.'; 4096]).is_ok() {}
        fcntl_setfl(&full, flags).unwrap();
        let mut running = folder.start_onto(arguments, full.into());
        let status = running.status_file();
        running.until("it is confined", || {
            fs::read_to_string(&status).is_ok_and(|status| status.contains("NoNewPrivs:\t1"))
        });
        drop(reader);
        running.end().exits_with(code);
    }
    for file in ["report.html", "flame.html", "k6.html"] {
        assert!(folder.read(file).contains("</html>"), "{file}");
    }
    assert!(folder.read("compare.md").contains('#'));
}
