//! Files that are no run files, or those of another version, and files that must not be overwritten.

use std::fs;
use std::path::Path;
use std::time::Duration;

use archive::{ArchiveError, Overwrite, Stored, Writer, append_judgement};
use evidence::metric::{MetricKey, MetricKind, MetricSums};
use evidence::run::select;
use evidence::{Instance, Instant, Metric, Provenance, Run, SeriesKey};
use rusqlite::Connection;

use crate::sample::{manifest, write_sealed};

/// The error of opening a file of this content, with the folder's name left out.
fn refusal(content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    fs::write(&path, content).unwrap();
    message(&path, &folder)
}

fn message(path: &Path, folder: &tempfile::TempDir) -> String {
    let error = Stored::open(path).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn files_of_other_kinds_are_distinguished() {
    let other_kind = "run.plimsoll is not a run file: it is a file of another kind. \
                      Name a file that `plimsoll run` wrote";
    assert_eq!(refusal(b"[scenarios]\nplay = 1\n"), other_kind);
    assert_eq!(refusal(b"SQLite"), other_kind);
    assert!(refusal(b"").contains("it is empty"));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(message(&folder.path().join("no"), &folder), "there is no run file no: check the name");
    assert!(message(folder.path(), &folder).contains("it is a folder"));
    assert!(message(Path::new("/dev/null"), &folder).contains("it is not a regular file"));
}

#[test]
fn an_sqlite_file_of_another_program_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE manifest (name, value)").unwrap();
    assert!(message(&path, &folder).contains("an SQLite database of another program"));
    let replaced = Writer::create(&path, &manifest(), Overwrite::Replace);
    assert!(matches!(replaced, Err(ArchiveError::NotAnArchive { .. })), "{replaced:?}");
    assert!(path.exists());
}

#[test]
fn a_newer_schema_is_refused_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 1);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 8).unwrap();
    assert_eq!(
        message(&path, &folder),
        "run.plimsoll has schema version 8, and this version of plimsoll reads up to 7: use a newer plimsoll"
    );
}

/// A file as the first version wrote it: without the tables that came later.
const VERSION_1: &[u8] = include_bytes!("../files/version-1.plimsoll");

#[test]
fn a_file_of_an_earlier_schema_is_read_and_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    fs::write(&path, VERSION_1).unwrap();
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.manifest().schema_version, run.verify_digest().unwrap()), (1, Provenance::Intact));
    assert_eq!((run.notices().unwrap(), run.profiles().unwrap()), (Vec::new(), Vec::new()));
    let requests = select(run.keys(), Metric::Requests, |_| true).map(|(key, _)| run.total(key).unwrap());
    assert_eq!(requests.sum::<u64>(), 20);
    let before = run.judgements().unwrap().len();
    let again = run.judgements().unwrap().remove(0).judgement;
    drop(run);
    append_judgement(&path, &again, "2026-11-21T10:13:00Z").unwrap();
    let run = Stored::open(&path).unwrap();
    assert_eq!(
        (run.judgements().unwrap().len(), run.verify_digest().unwrap()),
        (before + 1, Provenance::Intact)
    );
}

/// A file as version 2 wrote it, of a run of two loops: their numbers were part of the names of series.
const VERSION_2: &[u8] = include_bytes!("../files/version-2.plimsoll");

#[test]
fn the_loops_of_a_file_of_version_2_are_instances() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    fs::write(&path, VERSION_2).unwrap();
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.manifest().schema_version, run.verify_digest().unwrap()), (2, Provenance::Intact));
    let of = |name: &str| {
        let of_generator = run.series().iter().filter(|s| &*s.target == SeriesKey::GENERATOR);
        let named = of_generator.filter(|series| &*series.name == name);
        named.map(|series| (series.part.to_string(), series.instance, series.label())).collect::<Vec<_>>()
    };
    let loops = [0, 1].map(|index| Some(Instance::of_loop(index)));
    assert_eq!(of("loop_cpu"), [0, 1].map(|at| (String::new(), loops[at], format!("loop {at}"))));
    let active = [(0, "play"), (0, "missing"), (1, "play loop 1"), (1, "missing loop 1")];
    let active =
        active.map(|(at, label)| (label.trim_end_matches(" loop 1").to_owned(), loops[at], label.to_owned()));
    assert_eq!(of("active"), active);
    assert_eq!(of("cpu"), [(String::new(), None, String::new())]);
    assert!(run.keys().iter().all(|(_, key)| key.instance.is_none()));
    assert!(run.recorded() > Duration::from_secs(2) && run.recorded() < Duration::from_secs(4));
}

#[test]
fn a_run_file_is_replaced_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 3);
    let before = fs::read(&path).unwrap();
    let refused = Writer::create(&path, &manifest(), Overwrite::Refuse);
    assert!(matches!(refused, Err(ArchiveError::Exists { .. })), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // A log that a killed run left must not be mistaken for one of the new file.
    fs::write(folder.path().join("run.plimsoll-wal"), b"old").unwrap();
    drop(Writer::create(&path, &manifest(), Overwrite::Replace).unwrap());
    assert_eq!(Stored::open(&path).unwrap().seconds(), 0);
}

#[test]
fn a_log_without_its_file_is_not_destroyed() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.plimsoll-wal");
    fs::write(&log, b"evidence").unwrap();
    let path = folder.path().join("run.plimsoll");
    let refused = Writer::create(&path, &manifest(), Overwrite::Refuse);
    assert!(matches!(refused, Err(ArchiveError::Exists { path }) if path == log));
    assert_eq!(fs::read(&log).unwrap(), b"evidence");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no").join("run.plimsoll");
    let error = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap_err().to_string();
    assert!(error.starts_with("cannot create ") && error.contains("/no/run.plimsoll"), "{error}");
}

/// Makes the values of metrics what version 6 wrote: buckets are text, by the first 22 bits of 3 and of 0.25 as numbers.
const AS_VERSION_6: &str =
    "CREATE TEMP TABLE earlier AS SELECT metric, second, count, nonzero, sum, min, max,
  coalesce(last, max) AS last, coalesce(last_at_ns, second * 1000000000) AS last_at_ns,
  iif(buckets IS NULL, NULL, '[[-1049089,1],[1045504,1]]') AS buckets FROM metric_values;
DROP TABLE metric_values;
CREATE TABLE metric_values (
  metric INTEGER NOT NULL,
  second INTEGER NOT NULL,
  count INTEGER NOT NULL,
  nonzero INTEGER NOT NULL,
  sum REAL NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  last REAL NOT NULL,
  last_at_ns INTEGER NOT NULL,
  buckets TEXT,
  PRIMARY KEY (metric, second)
) STRICT, WITHOUT ROWID;
INSERT INTO metric_values SELECT * FROM earlier;
PRAGMA user_version = 6";

#[test]
fn the_values_of_metrics_in_a_file_of_version_6_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 3);
    let read = || {
        let run = Stored::open(&path).unwrap();
        let of_each = run.metrics().iter().map(|(id, key)| {
            let last = |sums: MetricSums| match key.kind {
                MetricKind::Gauge => sums,
                _ => MetricSums { last: 0.0, last_at: Instant::EPOCH, ..sums },
            };
            let seconds = run.metric_intervals(*id, 1..3).unwrap().into_iter();
            let seconds: Vec<_> = seconds.map(|(seconds, sums)| (seconds, last(sums))).collect();
            (last(run.metric(*id, run.whole()).unwrap()), seconds)
        });
        of_each.collect::<Vec<_>>()
    };
    let before = read();
    assert_eq!(
        before.iter().map(|(all, seconds)| (all.count, seconds.len())).collect::<Vec<_>>(),
        [(6, 2); 4]
    );
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(AS_VERSION_6).unwrap();
    drop(connection);
    assert_eq!(read(), before);
}

/// Makes the metrics of a file what version 3 wrote.
const AS_VERSION_3: &str = "CREATE TEMP TABLE copied AS SELECT metric, kind, name, tags FROM metrics;
DROP TABLE metrics;
CREATE TABLE metrics (
  metric INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  tags TEXT NOT NULL
) STRICT;
INSERT INTO metrics SELECT * FROM copied;
PRAGMA user_version = 3";

#[test]
fn the_metrics_of_a_file_of_version_3_have_no_phase() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 1);
    let metrics = Stored::open(&path).unwrap().metrics().to_vec();
    assert!(!metrics.is_empty() && metrics.iter().all(|(_, key)| &*key.phase == "steady"));
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(AS_VERSION_6).unwrap();
    connection.execute_batch(AS_VERSION_3).unwrap();
    drop(connection);
    let run = Stored::open(&path).unwrap();
    let without = metrics.into_iter().map(|(id, key)| (id, MetricKey { phase: "".into(), ..key }));
    let without: Vec<_> = without.collect();
    assert_eq!(run.metrics(), without);
}
