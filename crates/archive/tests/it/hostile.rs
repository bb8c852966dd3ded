//! Files made to hurt: every one is answered with an error or with numbers, none with a panic.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use rusqlite::Connection;

use crate::sample::{read_all, write_sealed};

/// What reading everything says after `change` was made to a sealed run.
fn after(change: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 3);
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    read_all(&path)
}

#[test]
fn rows_that_make_no_sense_are_named() {
    let deep = format!("UPDATE manifest SET value = '{}' WHERE name = 'workload'", "[".repeat(100_000));
    for (change, expected) in [
        ("UPDATE keys SET metric = 'latency'", "`latency` is not a metric"),
        ("UPDATE keys SET outcome = 'grpc:NOPE'", "is not an outcome"),
        ("UPDATE keys SET tags = '{\"check\": 1}'", "the tags of a series"),
        ("UPDATE keys SET key = 4294967296 WHERE key = 4", "out of range"),
        ("DELETE FROM keys WHERE key = 1", "its key 1 is missing"),
        ("UPDATE keys SET instance = 7", "its instance 7 is missing"),
        ("UPDATE metrics SET kind = 'sum'", "`sum` is not a kind of metric"),
        ("DELETE FROM metrics WHERE metric = 1", "its metric 1 is missing"),
        ("UPDATE metric_values SET min = 9e9", "contradict each other"),
        ("UPDATE metric_values SET count = 1 << 61", "more values than any run"),
        ("UPDATE metric_values SET buckets = x'14'", "not those of its values"),
        ("UPDATE metric_values SET buckets = x'8888888818'", "the buckets are out of range"),
        ("UPDATE metric_values SET buckets = x'88'", "the buckets are cut off"),
        ("UPDATE metric_values SET seconds = 0", "of no interval"),
        ("UPDATE metric_values SET seconds = 1 << 31", "of no interval"),
        ("UPDATE metric_values SET place = place + (1 << 60)", "of no second"),
        ("UPDATE metric_values SET place = place - (1 << 40)", "of no second"),
        ("UPDATE metric_values SET sum = 9e999", "is not a number"),
        ("UPDATE manifest SET value = '{' WHERE name = 'name'", "is not JSON"),
        ("UPDATE manifest SET value = '1' WHERE name = 'name'", "its manifest"),
        ("DELETE FROM manifest WHERE name = 'seed'", "missing field `seed`"),
        (&deep, "recursion limit"),
        ("UPDATE ticks SET second = 4294967295 WHERE second = 2", "claims to have lasted"),
        ("DELETE FROM ticks WHERE second > 0; UPDATE ticks SET second = -9", "out of range"),
        ("DELETE FROM rollups; UPDATE histograms SET v2 = x''", "cut off"),
        ("UPDATE rollups SET v2 = randomblob(1000)", "histogram"),
        ("UPDATE rollups SET v2 = zeroblob(70000000)", "too big"),
        ("UPDATE counts SET value = 9223372036854775807", "more than any run"),
        ("UPDATE counts SET value = -1", "negative"),
        ("UPDATE samples SET value = 9e999", "a sample is not a number"),
        ("UPDATE notices SET kind = 'x'", "`x` is not a known name"),
        ("UPDATE notices SET at_ns = -1", "a number is negative"),
        ("UPDATE profiles SET sampling = ''", "`` is not a known name"),
        ("UPDATE profiles SET begin_ns = 2000000000", "a profile ends before it begins"),
        ("UPDATE run_end SET how = 'well'", "no way for a run to end"),
        ("UPDATE run_end SET last_second = -1", "out of range"),
        ("UPDATE exemplars SET kind = 'odd'", "not a kind of exemplar"),
        ("UPDATE exemplars SET status = 70000", "out of range"),
        ("UPDATE exemplars SET request_headers = '[1]'", "the headers of an exemplar"),
        ("UPDATE exemplars SET detail = CAST(x'ff' AS TEXT)", "utf-8"),
        ("INSERT INTO judgements VALUES (1, '', 1, 'GOOD', '', '[]', '[]')", "a judgement"),
    ] {
        let error = after(change).expect_err(change);
        assert!(error.to_lowercase().contains(&expected.to_lowercase()), "{change}: {error}");
        assert!(error.contains("run.plimsoll is damaged"), "{change}: {error}");
    }
}

#[test]
fn no_statement_of_the_files_own_is_run() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, i, i FROM n";
    for (change, expected) in [
        ("DROP TABLE exemplars", "`exemplars` is missing"),
        ("ALTER TABLE keys ADD COLUMN more INT AS (abs(key)) VIRTUAL", "`keys` is not built"),
        (&format!("DROP TABLE histograms; CREATE VIEW histograms AS {endless}"), "`histograms` is missing"),
    ] {
        let error = after(change).expect_err(change);
        assert!(error.contains(expected), "{change}: {error}");
    }
    assert!(after("CREATE INDEX mine ON counts(value); CREATE VIEW my_own AS SELECT 1").is_ok());
}

/// A sealed run's file, written once.
static SEALED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 3);
    fs::read(&path).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn broken_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = SEALED.clone();
        for (place, value) in flips {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        fs::write(&path, bytes).unwrap();
        let _ = read_all(Path::new(&path));
    }
}
