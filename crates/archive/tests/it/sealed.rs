//! What the seal promises: one small file, roll-ups, a digest that notices every change.

use std::fs;

use archive::{DIGEST_TABLES, Overwrite, Stored, Writer};
use evidence::exemplar::EXEMPLARS_PER_OUTCOME;
use evidence::{
    ExemplarKind, Instant, Key, KeyId, Metric, Observed, Provenance, Run, Sample, SeriesKey, Sink, Tick,
};
use rusqlite::Connection;

use crate::sample::{completed, empty_tick, failure, manifest, slow, tick, write_sealed};

#[test]
fn one_single_file_is_left_with_all_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 5);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.manifest(), run.end()), (&manifest(), Some(&completed(4))));
    assert_eq!((run.is_sealed(), run.verify_digest().unwrap()), (true, Provenance::Intact));
    assert_eq!(run.digest().unwrap().len(), 64);
    let mode: String =
        Connection::open(&path).unwrap().query_row("PRAGMA journal_mode", [], |r| r.get(0)).unwrap();
    assert_eq!(mode, "delete");
}

#[test]
fn the_seal_is_durable_while_another_process_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    writer.tick(&tick(0)).unwrap();
    writer.flush().unwrap();
    let reader = Connection::open(&path).unwrap();
    reader.pragma_update(None, "busy_timeout", 0).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM keys").unwrap();
    writer.end(&completed(0)).unwrap();
    drop((writer, reader));
    let run = Stored::open(&path).unwrap();
    assert_eq!(run.verify_digest().unwrap(), Provenance::Intact);
}

#[test]
fn closing_samples_are_part_of_the_last_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    let cpu = SeriesKey::new("cpu", "challenge", "cores");
    for (second, at_us) in [(0, 1_000_087_u64), (1, 2_000_142), (2, 3_000_311)] {
        writer.tick(&tick(second)).unwrap();
        let sample = Sample { at: Instant::from_nanos(at_us * 1_000), value: 1.0 };
        writer.observed(&Observed { samples: vec![(cpu.clone(), sample)], ..Observed::default() }).unwrap();
    }
    writer.end(&completed(2)).unwrap();
    let run = Stored::open(&path).unwrap();
    let at_us = |window| -> Vec<u64> {
        let samples = run.samples(&cpu, window).unwrap();
        samples.iter().map(|sample| sample.at.as_nanos() / 1_000).collect()
    };
    assert_eq!(run.seconds(), 3);
    assert_eq!(at_us(run.whole()), [1_000_087, 2_000_142, 3_000_311]);
    assert_eq!((at_us(2..3), at_us(1..2)), (vec![2_000_142, 3_000_311], vec![1_000_087]));
}

#[test]
fn nothing_is_added_after_the_seal() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer =
        Writer::create(&folder.path().join("run.plimsoll"), &manifest(), Overwrite::Refuse).unwrap();
    writer.end(&completed(0)).unwrap();
    assert!(writer.tick(&tick(0)).unwrap_err().to_string().contains("sealed already"));
}

#[test]
fn the_digest_notices_a_change_in_every_table() {
    for (table, _, columns) in DIGEST_TABLES {
        let last = columns.rsplit(", ").next().unwrap();
        let change = match (table, last) {
            ("histograms" | "rollups" | "profiles", last) => {
                format!("UPDATE {table} SET {last} = CAST({last} || x'00' AS BLOB)")
            }
            ("metric_values", last) => {
                format!("UPDATE {table} SET {last} = CAST(coalesce({last}, '') || x'00' AS BLOB)")
            }
            (_, last @ "instance") => format!("UPDATE {table} SET {last} = iif({last} IS NULL, 0, NULL)"),
            ("exemplars" | "manifest" | "metrics", last) => {
                format!("UPDATE {table} SET {last} = coalesce({last}, '') || ' '")
            }
            (_, last) => format!("UPDATE {table} SET {last} = {last} + 1"),
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        write_sealed(&path, 2);
        let changed = Connection::open(&path).unwrap().execute(&change, []).unwrap();
        assert!(changed > 0, "{change}");
        assert_eq!(Stored::open(&path).unwrap().verify_digest().unwrap(), Provenance::Changed, "{change}");
    }
}

#[test]
fn a_seal_that_was_removed_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 2);
    let of = |statement: &str| {
        Connection::open(&path).unwrap().execute(statement, []).unwrap();
        let run = Stored::open(&path).unwrap();
        (run.digest().map(str::to_owned), run.verify_digest().unwrap())
    };
    assert_eq!(of("DELETE FROM seal"), (None, Provenance::Changed));
    assert_eq!(of("INSERT INTO seal VALUES (1, '00ff')"), (Some("00ff".to_owned()), Provenance::Changed));
}

#[test]
fn the_digest_is_of_the_rows_and_not_of_their_layout() {
    let folder = tempfile::tempdir().unwrap();
    let digest_of = |name: &str, layout: &str| {
        let path = folder.path().join(name);
        write_sealed(&path, 3);
        Connection::open(&path).unwrap().execute_batch(layout).unwrap();
        let run = Stored::open(&path).unwrap();
        assert_eq!(run.verify_digest().unwrap(), Provenance::Intact);
        run.digest().unwrap().to_owned()
    };
    assert_eq!(digest_of("a.plimsoll", ""), digest_of("b.plimsoll", "PRAGMA page_size = 8192; VACUUM"));
}

#[test]
fn the_first_failures_and_the_single_slowest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    for (second, slowest_ns) in [30, 50, 40, 50, 10].into_iter().enumerate() {
        let mut tick = empty_tick(0, second as u32);
        tick.exemplars.push(slow(slowest_ns));
        tick.exemplars.extend((0..3).map(|i| failure(&format!("{second}.{i}"))));
        writer.tick(&tick).unwrap();
    }
    writer.end(&completed(4)).unwrap();
    let kept = Stored::open(&path).unwrap().exemplars().unwrap();
    let of = |kind| kept.iter().filter(move |e| e.kind == kind);
    let failures: Vec<&str> = of(ExemplarKind::Failed).map(|e| e.detail.as_str()).collect();
    assert_eq!(failures, ["0.0", "0.1", "0.2", "1.0", "1.1"]);
    assert_eq!(failures.len(), EXEMPLARS_PER_OUTCOME);
    assert_eq!(of(ExemplarKind::Slowest).map(|e| e.response_time_ns).collect::<Vec<_>>(), [50]);
}

#[test]
fn evidence_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer =
        Writer::create(&folder.path().join("run.plimsoll"), &manifest(), Overwrite::Refuse).unwrap();
    let mut unknown = Tick::default();
    unknown.add(KeyId(3), 0, 1);
    let error = writer.tick(&unknown).unwrap_err().to_string();
    assert!(error.contains("series 3, which was never registered"), "{error}");
    let mut misused = Tick::default();
    misused.new_keys.push((KeyId(0), Key::of(Metric::Started)));
    misused.record_ns(KeyId(0), 5);
    assert!(writer.tick(&misused).unwrap_err().to_string().contains("shape"));
}

#[test]
fn the_time_that_thousands_of_requests_waited_is_kept() {
    // Ten thousand answers in one second, each of which took 30 s, by each of two loops; and for two hours ten
    // thousand at once.
    const STALLED_NS: u64 = 10_000 * 30_000_000_000;
    const WAITED_NS: u64 = 10_000 * 1_000_000_000;
    const SECONDS: u32 = 7_200;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    for second in 0..SECONDS {
        for loop_index in 0..2 {
            let mut tick = empty_tick(loop_index, second);
            if second == 0 {
                tick.new_keys = vec![(KeyId(0), Key::of(Metric::WaitingNs).endpoint("list"))];
            }
            tick.add(KeyId(0), second, if second == 9 { STALLED_NS } else { WAITED_NS / 2 });
            writer.tick(&tick).unwrap();
        }
    }
    writer.end(&completed(SECONDS - 1)).unwrap();
    let run = Stored::open(&path).unwrap();
    assert_eq!(run.counts(KeyId(0), 9..10).unwrap(), [(9, 2 * STALLED_NS)]);
    assert_eq!(run.total(KeyId(0)).unwrap(), u64::from(SECONDS - 1) * WAITED_NS + 2 * STALLED_NS);
}
