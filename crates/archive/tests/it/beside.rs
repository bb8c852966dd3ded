//! What lies beside a run file that was received changes nothing, deletes nothing, and is not passed over.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use archive::{ArchiveError, Overwrite, Readable, Stored, Writer, append_judgement};
use evidence::{KeyId, Run, Sink};
use tempfile::TempDir;

use crate::child::{Limit, Other};
use crate::forged::{content, journal, log};
use crate::sample::{manifest, read_all, tick, write_sealed};

/// A folder with a sealed run file, and one with a file that has nothing to do with it.
struct Received {
    folder: TempDir,
    path: PathBuf,
    _elsewhere: TempDir,
    victim: PathBuf,
}

fn received() -> Received {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 3);
    let victim = elsewhere.path().join("thesis.txt");
    fs::write(&victim, "three years of work\n").unwrap();
    Received { folder, path, _elsewhere: elsewhere, victim }
}

/// The path of the file that SQLite keeps beside `path`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// The journal that the file at `path` is refused for.
#[track_caller]
fn refused_for(path: &Path) -> PathBuf {
    match Stored::open(path) {
        Err(ArchiveError::JournalBeside { journal, .. }) => journal,
        other => panic!("it was not refused for a journal: {other:?}"),
    }
}

#[test]
fn a_rollback_journal_deletes_nothing() {
    let received = received();
    fs::write(beside(&received.path, "-journal"), journal(&received.path, &received.victim)).unwrap();
    let before = content(received.folder.path());
    let read = read_all(&received.path);
    assert!(received.victim.exists(), "the file that the journal names is gone; reading said {read:?}");
    let error = read.unwrap_err();
    for part in
        ["run.plimsoll-journal lies beside", "rollback journal", "delete other files", "move the journal"]
    {
        assert!(error.contains(part), "no `{part}` in: {error}");
    }
    assert_eq!(content(received.folder.path()), before);
}

#[test]
fn anything_named_like_a_journal_is_refused() {
    let received = received();
    let journal = beside(&received.path, "-journal");
    fs::write(&journal, "").unwrap();
    assert_eq!(refused_for(&received.path), journal);
    fs::remove_file(&journal).unwrap();
    symlink("/nowhere/at/all", &journal).unwrap();
    assert_eq!(refused_for(&received.path), journal);
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    assert_eq!(refused_for(&received.path), journal);
    fs::remove_dir(&journal).unwrap();
    assert!(read_all(&received.path).is_ok());
}

#[test]
fn a_journal_is_found_beside_a_link_and_beside_what_it_leads_to() {
    let received = received();
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("link.plimsoll");
    symlink(&received.path, &link).unwrap();
    assert!(read_all(&link).is_ok());
    fs::write(beside(&link, "-journal"), journal(&received.path, &received.victim)).unwrap();
    assert_eq!(refused_for(&link), beside(&link, "-journal"));
    fs::rename(beside(&link, "-journal"), beside(&received.path, "-journal")).unwrap();
    let resolved = received.folder.path().canonicalize().unwrap().join("run.plimsoll-journal");
    assert_eq!(refused_for(&link), resolved);
    assert!(received.victim.exists());
}

#[test]
fn a_file_with_a_journal_is_neither_added_to_nor_begun() {
    let received = received();
    let judgement = || evidence::Judgement {
        rules_version: 1,
        verdict: evidence::Verdict::Measured,
        because: String::new(),
        assumes: None,
        claims: Vec::new(),
        findings: Vec::new(),
    };
    fs::write(beside(&received.path, "-journal"), journal(&received.path, &received.victim)).unwrap();
    let before = content(received.folder.path());
    let added = append_judgement(&received.path, &judgement(), "2026-11-21T10:13:00Z");
    assert!(matches!(added, Err(ArchiveError::JournalBeside { .. })), "{added:?}");
    assert_eq!(content(received.folder.path()), before);
    fs::remove_file(&received.path).unwrap();
    let begun = Writer::create(&received.path, &manifest(), Overwrite::Refuse);
    assert!(
        matches!(&begun, Err(ArchiveError::Exists { path: found }) if *found == beside(&received.path, "-journal")),
        "{begun:?}"
    );
    assert!(received.victim.exists());
}

/// The log would cut the file down to one page.
#[test]
fn a_forged_log_changes_nothing() {
    let received = received();
    let page = &fs::read(&received.path).unwrap()[..4096];
    fs::write(beside(&received.path, "-wal"), log(page)).unwrap();
    let before = content(received.folder.path());
    let error = read_all(&received.path).unwrap_err();
    assert!(error.contains("run.plimsoll is damaged"), "the log was not read: {error}");
    assert!(content(received.folder.path()) == before, "reading changed what lies in the folder");
}

#[test]
fn a_log_that_is_no_file_is_refused() {
    let received = received();
    let log = beside(&received.path, "-wal");
    symlink(&received.victim, &log).unwrap();
    let error = Stored::open(&received.path).unwrap_err();
    assert!(matches!(error, ArchiveError::NotALog { .. }), "{error}");
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    let error = Stored::open(&received.path).unwrap_err().to_string();
    assert!(error.contains("run.plimsoll-wal is not a regular file"), "{error}");
}

#[test]
fn a_file_without_a_log_is_read_in_place() {
    let received = received();
    let readable = Readable::at(&received.path).unwrap();
    assert_eq!((readable.opened(), readable.folder()), (received.path.as_path(), None));
    // An index without a log means nothing, whatever it is.
    symlink("/nowhere/at/all", beside(&received.path, "-shm")).unwrap();
    assert!(read_all(&received.path).is_ok());
}

#[test]
fn a_file_with_a_log_is_read_from_a_copy_that_only_its_owner_sees() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    writer.tick(&tick(0)).unwrap();
    writer.flush().unwrap();
    let readable = Readable::at(&path).unwrap();
    let private = readable.folder().unwrap().to_owned();
    assert_eq!(readable.opened().parent(), Some(private.as_path()));
    let found = fs::metadata(&private).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o700);
    assert_eq!(found.uid(), fs::metadata(folder.path()).unwrap().uid());
    let run = Stored::read(readable).unwrap();
    assert_eq!((run.seconds(), run.total(KeyId(1)).unwrap()), (1, 11));
    drop(run);
    assert!(!private.exists(), "the copy stays after its reader");
    drop(writer);
}

/// As fast as it can, the other process adds seconds, and folds its log in again and again.
#[test]
fn a_running_run_is_read_up_to_a_second_and_never_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut other = Other::start(&path, Limit::Blocks(4_000));
    let filling = thread::spawn(move || other.order("fill"));
    let (mut reads, mut last) = (0, 0);
    while !filling.is_finished() {
        match Stored::open(&path) {
            Ok(run) => {
                assert!(run.seconds() >= last, "{} seconds, and {last} before", run.seconds());
                last = run.seconds();
                // No key is known before the first second.
                if last > 0 {
                    assert_eq!(run.total(KeyId(1)).unwrap(), u64::from(last) * 11);
                    assert_eq!(run.histogram(KeyId(0), run.whole()).unwrap().count(), u64::from(last) * 10);
                }
                reads += 1;
            }
            Err(ArchiveError::Changing { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(filling.join().is_ok());
    assert!(reads > 0, "it was never read");
}
