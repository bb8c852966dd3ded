//! Who may read the files that commands make, and that temporary evidence goes away.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use archive::{Overwrite, Writer};
use evidence::{Ending, Manifest, RunEnd, Sink as _};
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{TestFolder, closed, recorded_seconds};

const IN_SCRATCH: &str = "umask 000; mkdir -p scratch; TMPDIR=$PWD/scratch; export TMPDIR";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode()
        & 0o777
}

/// Everything in the folder, and the folders in it.
fn contents(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    for inner in all.clone() {
        all.extend(contents(&inner));
    }
    all
}

#[test]
fn evidence_is_readable_for_its_owner_only_and_reports_follow_the_umask() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 60));
    let run = ["run", "plan.toml", "-o", "run.plimsoll", "--json", "run.json"];
    let mut run = folder.start_after("umask 000", &run);
    let path = folder.path("run.plimsoll");
    run.until("a second is recorded", || recorded_seconds(&path) > 0);
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&folder.path(&format!("run.plimsoll{suffix}"))), 0o600, "{suffix}");
    }
    run.signal(Signal::INT);
    run.end().exits_with(4);
    assert_eq!((mode(&path), mode(&folder.path("run.json"))), (0o600, 0o666));
}

#[test]
fn exported_profiles_are_readable_for_their_owner_only() {
    let folder = TestFolder::new("");
    let writer = begun(&folder, 0);
    drop(writer);
    folder.plimsoll_after("umask 000", &["export", "run.plimsoll", "--profiles", "out"]).exits_with(0);
    assert_eq!(mode(&folder.path("out/shop-cpu-0s.pb.gz")), 0o600);
}

#[test]
fn a_temporary_run_file_is_private_and_goes_away_however_the_run_is_broken_off() {
    let signals: [&[Signal]; 3] = [&[Signal::INT], &[Signal::TERM], &[Signal::INT, Signal::INT]];
    for signals in signals {
        let target = testbed::http(Behaviour::never()).unwrap();
        let folder = TestFolder::new("");
        let url = format!("http://{}/", target.addr());
        let mut run = folder
            .start_after(IN_SCRATCH, &["http", &url, "-z", "60s", "-c", "1", "-t", "2s", "--no-precheck"]);
        let scratch = folder.path("scratch");
        run.until("there is evidence", || contents(&scratch).iter().any(|path| recorded_seconds(path) > 0));
        for path in contents(&scratch) {
            assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        }
        for signal in signals {
            run.signal(*signal);
            run.until("it was noticed", || folder.read("stderr.txt").contains("stopping"));
        }
        run.end();
        assert_eq!(contents(&scratch), [] as [&Path; 0], "{signals:?}");
    }
}

#[test]
fn a_temporary_run_file_goes_away_when_it_cannot_be_written() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/", target.addr());
    let full = format!("{IN_SCRATCH}; trap '' XFSZ; ulimit -f 400");
    let ran = folder.plimsoll_after(&full, &["http", &url, "-z", "60s", "-c", "1"]);
    ran.exits_with(1).stderr_contains(&["not recorded to its end"]);
    assert_eq!(contents(&folder.path("scratch")), [] as [&Path; 0]);
}

/// A run that is going on: its log lies beside it as long as the writer lives, and has so many bytes at least.
fn begun(folder: &TestFolder, bytes: usize) -> Writer {
    let mut writer = Writer::create(&folder.path("run.plimsoll"), &manifest(), Overwrite::Replace).unwrap();
    for number in 0..=bytes >> 20 {
        let profile = evidence::Profile {
            target: "shop".to_owned(),
            kind: evidence::ProfileKind::Cpu,
            mark: format!("{number}s"),
            begin: evidence::Instant::EPOCH,
            end: evidence::Instant::from_nanos(1_000_000_000),
            sampling: evidence::Sampling::On,
            bytes: vec![7; 1 << 20],
        };
        let seen = evidence::Observed { profiles: vec![profile], ..evidence::Observed::default() };
        writer.observed(&seen).unwrap();
    }
    if bytes == 0 {
        let end = RunEnd::new(Ending::Completed, 0);
        writer.end(&end).unwrap();
    } else {
        writer.flush().unwrap();
    }
    writer
}

/// Of a run without load.
pub(crate) fn manifest() -> Manifest {
    Manifest { workload: workload(), seed: 1, ..Manifest::named("demo") }
}

fn workload() -> serde_json::Value {
    serde_json::json!({
        "name": "demo", "seed": 1, "targets": {}, "data": {}, "setup": [], "objectives": [],
        "phases": [{ "name": "run", "start": { "secs": 0, "nanos": 0 }, "end": { "secs": 1, "nanos": 0 } }],
        "scenarios": [], "precheck": false, "traceparent": false, "secrets": [],
    })
}

#[test]
fn a_private_copy_goes_away_when_its_command_is_interrupted() {
    for (signal, arguments) in [
        (Signal::INT, &["report", "run.plimsoll"][..]),
        (Signal::TERM, &["leaks", "run.plimsoll"]),
        (Signal::TERM, &["compare", "run.plimsoll", "run.plimsoll"]),
        (Signal::INT, &["export", "run.plimsoll", "--profiles", "out"]),
    ] {
        let folder = TestFolder::new("");
        let writer = begun(&folder, 64 << 20);
        let mut reading = folder.start_after(IN_SCRATCH, arguments);
        let scratch = folder.path("scratch");
        reading.until("it copies", || contents(&scratch).iter().any(|path| path.is_file()));
        for path in contents(&scratch) {
            let Ok(found) = fs::metadata(&path) else { continue };
            let private = if found.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(found.permissions().mode() & 0o777, private, "{}", path.display());
        }
        reading.signal(signal);
        let ended = reading.end();
        assert_eq!(
            (ended.code, ended.signal),
            (None, Some(signal.as_raw())),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(contents(&scratch), [] as [&Path; 0], "{arguments:?}");
        drop(writer);
    }
}

#[test]
fn a_private_copy_is_gone_as_soon_as_it_is_open() {
    let folder = TestFolder::new("");
    let writer = begun(&folder, 1 << 20);
    folder.start_after(&format!("{IN_SCRATCH}; mkfifo report.json"), &["explain"]).end();
    // The pipe is full and is not read: the command waits there with its report.
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let pipe = File::from(rustix::fs::open(folder.path("report.json"), flags, Mode::empty()).unwrap());
    while (&pipe).write(&[b' '; 4096]).is_ok() {}
    let preparation = "TMPDIR=$PWD/scratch; export TMPDIR";
    let mut reading = folder.start_after(preparation, &["report", "run.plimsoll", "--json", "report.json"]);
    reading.until("it reports", || folder.read("stdout.txt").contains("killed at second"));
    reading.signal(Signal::KILL);
    reading.end();
    assert_eq!(contents(&folder.path("scratch")), [] as [&Path; 0]);
    drop((pipe, writer));
}
