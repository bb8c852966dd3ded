//! Files that somebody else made: what lies beside a run file does no harm, and what a command may still do once it reads
//! them.

#[path = "../../../archive/tests/it/forged.rs"]
mod forged;

use std::fs;
use std::io::{Write as _, pipe};

use archive::{Overwrite, Stored, Writer};
use evidence::{
    Ending, Instant, Manifest, Observed, Profile, ProfileKind, Run as _, RunEnd, Sampling, Sink as _,
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::command::Place;
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

/// A place with two run files.
fn place() -> Place {
    let place = Place::new("");
    place.write("whole.plimsoll", SEALED);
    place.write("run.plimsoll", SEALED);
    place
}

#[test]
fn a_rollback_journal_deletes_nothing_whatever_the_command() {
    for arguments in READERS {
        let place = place();
        place.write("thesis.txt", "three years of work\n");
        let forged = journal(&place.path("run.plimsoll"), &place.path("thesis.txt"));
        place.write("run.plimsoll-journal", forged);
        let ran = place.plimsoll(arguments);
        assert!(place.path("thesis.txt").exists(), "{arguments:?} deleted the file that the journal names");
        ran.ended(2).complains(&[
            "run.plimsoll-journal lies beside",
            "rollback journal",
            "delete other files",
        ]);
        assert!(ran.stdout.is_empty() && place.path("run.plimsoll-journal").exists(), "{}", ran.stdout);
        assert_eq!(fs::read(place.path("run.plimsoll")).unwrap(), SEALED);
        assert!(place.files("run.html").is_empty() && place.files("out").is_empty());
    }
}

#[test]
fn a_forged_log_is_not_folded_in_whatever_the_command() {
    for arguments in READERS {
        let place = place();
        fs::create_dir(place.path("received")).unwrap();
        place.write("received/run.plimsoll", SEALED);
        place.write("received/run.plimsoll-wal", log(&SEALED[..4096]));
        let before = content(&place.path("received"));
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| argument.replace("run.plimsoll", "received/run.plimsoll"))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        place.plimsoll(&arguments).ended(2).complains(&["run.plimsoll is damaged"]);
        assert!(content(&place.path("received")) == before, "{arguments:?} changed the folder");
    }
}

fn manifest() -> Manifest {
    let place = place();
    let schema_version = evidence::manifest::SCHEMA_VERSION;
    Manifest { schema_version, ..Stored::open(&place.path("whole.plimsoll")).unwrap().manifest().clone() }
}

/// A run that is going on: its log lies beside it as long as the writer lives.
fn begun(place: &Place) -> Writer {
    let mut writer = Writer::create(&place.path("run.plimsoll"), &manifest(), Overwrite::Replace).unwrap();
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
    let place = place();
    let writer = begun(&place);
    fs::create_dir(place.path("scratch")).unwrap();
    let exported = place.plimsoll_after(
        "TMPDIR=$PWD/scratch; export TMPDIR",
        &["export", "run.plimsoll", "--profiles", "out"],
    );
    exported.ended(0).says(&["shop-cpu-0s.pb.gz"]);
    assert_eq!(place.read("out/shop-cpu-0s.pb.gz"), "anything");
    assert!(content(&place.path("scratch")).is_empty(), "the copy stays");
    let full = place.plimsoll_after("trap '' XFSZ; ulimit -f 2", &["report", "run.plimsoll"]);
    full.ended(2).complains(&["run.plimsoll has a write-ahead log", "private copy", "Free ", "TMPDIR"]);
    let nowhere = place.plimsoll_after("TMPDIR=/no/such; export TMPDIR", &["report", "run.plimsoll"]);
    nowhere.ended(2).complains(&["/no/such cannot take that copy"]);
    drop(writer);
}

/// The kernel shows from outside that a process gave up to gain rights, which comes with confining itself.
#[test]
fn commands_that_read_files_of_others_are_confined_when_they_print() {
    let place = place();
    let mut writer = begun(&place);
    writer
        .end(&RunEnd {
            ending: Ending::Completed,
            last_second: 0,
            requests_in_flight: 0,
            iterations_in_flight: 0,
            folded_endpoints: 0,
            folded_ticks: 0,
        })
        .unwrap();
    drop(writer);
    let mut builder =
        profile::Builder::new(vec![profile::ValueType { name: "cpu".into(), unit: "ns".into() }]);
    builder.sample(&[profile::Frame { function: "main", binary: "" }], &[1]).unwrap();
    place.write("cpu.pb.gz", profile::write(&builder.finish()).unwrap());
    place.write("k6.csv", include_bytes!("../../../import/tests/fixtures/k6.csv"));
    let verbs: [&[&str]; 5] = [
        &["report", "whole.plimsoll", "--html", "report.html"],
        &["compare", "whole.plimsoll", "run.plimsoll", "--md", "compare.md"],
        &["export", "run.plimsoll", "--profiles", "out"],
        &["profile", "cpu.pb.gz", "--flame", "flame.html"],
        &["import", "k6.csv", "-o", "k6.plimsoll", "--html", "k6.html"],
    ];
    for arguments in verbs {
        // Nobody reads what it prints, until it was looked at.
        let (reader, mut full) = pipe().unwrap();
        let flags = fcntl_getfl(&full).unwrap();
        fcntl_setfl(&full, flags | OFlags::NONBLOCK).unwrap();
        while full.write(&[b'.'; 4096]).is_ok() {}
        fcntl_setfl(&full, flags).unwrap();
        let mut running = place.start_onto(arguments, full.into());
        let status = running.status_file();
        running.until("it is confined", || {
            fs::read_to_string(&status).is_ok_and(|status| status.contains("NoNewPrivs:\t1"))
        });
        drop(reader);
        running.end().ended(0);
    }
    for file in ["report.html", "flame.html", "k6.html"] {
        assert!(place.read(file).contains("</html>"), "{file}");
    }
    assert!(place.read("compare.md").contains('#'));
}
