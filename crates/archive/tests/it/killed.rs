//! `kill -9` in the middle of a run leaves its evidence up to the last second that was flushed.

use archive::{Overwrite, Stored, Writer};
use evidence::{KeyId, Provenance, Run, Sink};

use crate::child::{Limit, Other};
use crate::sample::{completed, manifest, tick};

/// Seconds of load, each made durable.
fn write(writer: &mut Writer, seconds: std::ops::Range<u32>) {
    for second in seconds {
        writer.tick(&tick(second)).unwrap();
        writer.flush().unwrap();
    }
}

#[test]
fn a_killed_run_is_readable_up_to_its_last_flush() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut other = Other::start(&path, Limit::None);
    for _ in 0..7 {
        other.order("write");
        other.order("flush");
    }
    other.order("write");
    other.kill();

    for _ in 0..2 {
        // No reader folds the log in: the second finds what the first found.
        let run = Stored::open(&path).unwrap();
        assert_eq!((run.seconds(), run.end(), run.is_sealed()), (7, None, false));
        assert_eq!(run.verify_digest().unwrap(), Provenance::Unsealed);
        assert_eq!(run.total(KeyId(1)).unwrap(), 77);
        assert_eq!(run.histogram(KeyId(0), run.whole()).unwrap().count(), 70);
        assert_eq!(run.exemplars().unwrap().len(), 6);
    }
}

#[test]
fn what_there_is_of_a_run_so_far_stays_as_it_is_while_its_writer_continues() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    write(&mut writer, 0..3);
    let so_far = Stored::so_far(&path).unwrap();
    assert_eq!((so_far.seconds(), so_far.end()), (3, None));
    // So much that the log is folded into the file if no reader hinders it.
    write(&mut writer, 3..1_000);
    assert_eq!(so_far.total(KeyId(1)).unwrap(), 33);
    assert_eq!(Stored::so_far(&path).unwrap().seconds(), 1_000);
    drop(so_far);
    writer.end(&completed(999)).unwrap();
    drop(writer);
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.seconds(), run.verify_digest().unwrap()), (1_000, Provenance::Intact));
    assert!(!folder.path().join("run.plimsoll-wal").exists(), "one single file is left");
}

#[test]
fn a_run_killed_in_its_first_second_says_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut other = Other::start(&path, Limit::None);
    other.order("write");
    other.kill();
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.seconds(), run.manifest().name.as_str(), run.keys().len()), (0, "demo", 0));
}

#[test]
fn without_its_log_a_killed_run_still_says_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut other = Other::start(&path, Limit::None);
    other.order("write");
    other.order("flush");
    other.kill();
    std::fs::copy(&path, folder.path().join("moved.plimsoll")).unwrap();
    let run = Stored::open(&folder.path().join("moved.plimsoll")).unwrap();
    assert_eq!((run.seconds(), run.manifest().name.as_str()), (0, "demo"));
}

#[test]
fn the_index_of_a_log_is_never_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut other = Other::start(&path, Limit::None);
    other.order("write");
    other.order("flush");
    other.kill();
    let index = folder.path().join("run.plimsoll-shm");
    std::fs::remove_file(&index).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &index).unwrap();
    assert_eq!(Stored::open(&path).unwrap().seconds(), 1);
    // Without its log the file may be read as it is.
    std::fs::remove_file(folder.path().join("run.plimsoll-wal")).unwrap();
    assert_eq!(Stored::open(&path).unwrap().manifest().name, "demo");
}
