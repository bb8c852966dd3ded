use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kit::clock::UtcMs;
use kit::limit::Limit;
use tempfile::TempDir;

use super::*;
use crate::queue::Shedding;
use crate::sample::{Priority, Sample};
use crate::task::TaskIds;

const SEGMENT_BYTES: u64 = 4_096;

struct Fixture {
    queue: Arc<Queue>,
    ids: TaskIds,
    journal: Journal,
    recovered: RecoveredTasks,
}

fn options(folder: &TempDir) -> JournalOptions {
    JournalOptions {
        folder: folder.path().join("journal"),
        segment_bytes: SEGMENT_BYTES,
        max_bytes: SEGMENT_BYTES * 4,
    }
}

fn open(folder: &TempDir) -> Fixture {
    let queue = Arc::new(Queue::new(Limit::new(1_000), Shedding::Never));
    let (journal, recovered) = Journal::open(&options(folder), &queue, &Metrics::new("gateway")).unwrap();
    Fixture { queue, ids: TaskIds::default(), journal, recovered }
}

impl Fixture {
    async fn persist(&self, count: usize) -> Result<(), PersistError> {
        let sample = Sample {
            device_id: "d".into(),
            kind: "t".into(),
            value: 1.0,
            unit: "C".into(),
            priority: Priority::Low,
            timestamp: "2026-01-01T00:00:00Z".into(),
            sequence: 0,
            metadata: Vec::new(),
        };
        let samples = vec![sample; count];
        let slots = self.queue.reserve(samples.iter().map(|sample| sample.priority)).unwrap();
        self.journal.persist(self.ids.tasks(samples.iter(), UtcMs(0)), slots).await
    }

    fn hand_on(&self, count: usize) {
        self.queue.take(count).into_iter().for_each(crate::entry::QueueEntry::handed_on);
    }
}

fn files(folder: &TempDir) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(folder.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = all.filter(|path| path.extension().is_some()).collect();
    logs.sort();
    logs
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

#[tokio::test]
async fn persisted_tasks_are_recovered_by_the_next_process_until_they_are_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = open(&folder);
    fixture.persist(3).await.unwrap();
    fixture.persist(2).await.unwrap();
    let written: Vec<_> = fixture.queue.take(9).into_iter().map(|entry| entry.task).collect();
    fixture.journal.close(Duration::MAX).await;
    let again = open(&folder);
    let found: Vec<_> = again.recovered.entries.iter().map(|entry| entry.task.clone()).collect();
    assert_eq!((found, again.recovered.torn_bytes), (written, 0));
    assert_eq!(again.journal.bytes(), bytes(&files(&folder)[0]));
    again.recovered.entries.into_iter().for_each(crate::entry::QueueEntry::handed_on);
    assert_eq!((files(&folder).len(), again.journal.bytes()), (0, 0));
    again.journal.close(Duration::MAX).await;
    assert!(open(&folder).recovered.entries.is_empty());
}

#[tokio::test]
async fn a_file_is_deleted_when_all_of_its_tasks_are_handed_on_and_no_sooner() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = open(&folder);
    while files(&folder).len() < 3 {
        fixture.persist(1).await.unwrap();
    }
    let all = fixture.queue.depth();
    fixture.hand_on(all - 2);
    assert_eq!(files(&folder).len(), 2, "one task of the second file is left, and one of the third");
    fixture.hand_on(2);
    assert_eq!(files(&folder).len(), 1, "the third is being written");
    assert!(fixture.journal.bytes() < SEGMENT_BYTES);
    fixture.journal.close(Duration::MAX).await;
    assert_eq!(files(&folder).len(), 0);
}

#[tokio::test]
async fn a_full_journal_refuses_and_accepts_again_when_it_has_space() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = open(&folder);
    let mut persisted = 0;
    while fixture.persist(1).await.is_ok() {
        persisted += 1;
    }
    assert_eq!(fixture.persist(1).await, Err(PersistError::Full));
    assert!(fixture.journal.bytes() <= SEGMENT_BYTES * 4);
    assert_eq!(fixture.queue.depth(), persisted, "refused tasks are never queued");
    fixture.hand_on(persisted);
    fixture.persist(1).await.unwrap();
}

#[tokio::test]
async fn a_truncated_or_damaged_end_is_left_out_and_the_files_after_it_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = open(&folder);
    while files(&folder).len() < 3 {
        fixture.persist(1).await.unwrap();
    }
    let all = fixture.queue.depth();
    drop(fixture.queue.take(all));
    fixture.journal.close(Duration::MAX).await;
    let files = files(&folder);
    let first = std::fs::read(&files[0]).unwrap();
    std::fs::write(&files[0], &first[..first.len() - 5]).unwrap();
    let mut second = std::fs::read(&files[1]).unwrap();
    *second.last_mut().unwrap() ^= 1;
    std::fs::write(&files[1], second).unwrap();
    std::fs::write(folder.path().join("journal/notes.txt"), "no journal file").unwrap();
    let again = open(&folder);
    assert_eq!(again.recovered.entries.len(), all - 2);
    assert!(again.recovered.torn_bytes > 0);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_new_journal_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    open(&folder).persist(1).await.unwrap();
    let journal = folder.path().join("journal");
    assert_eq!((mode(&journal), mode(&journal.join("lock"))), (0o700, 0o600));
    let made = files(&folder);
    assert!(!made.is_empty() && made.iter().all(|path| mode(path) == 0o600), "{made:?}");
}

#[test]
fn a_journals_folder_that_is_there_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    std::fs::create_dir(&journal).unwrap();
    std::fs::set_permissions(&journal, Permissions::from_mode(0o750)).unwrap();
    open(&folder);
    assert_eq!(mode(&journal), 0o750);
}

#[test]
fn two_processes_cannot_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(&folder);
    let queue = Arc::new(Queue::new(Limit::new(1), Shedding::Never));
    let message = Journal::open(&options(&folder), &queue, &Metrics::new("gateway")).unwrap_err().to_string();
    assert!(message.contains("JOURNAL_DIR") && message.contains("another process uses it"), "{message}");
}

#[tokio::test]
async fn samples_of_a_client_that_leaves_are_persisted() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = open(&folder);
    // Sent to the thread, and not waited for.
    let mut abandoned = std::pin::pin!(fixture.persist(1));
    tokio::select! {
        biased;
        _ = abandoned.as_mut() => {}
        () = std::future::ready(()) => {}
    }
    fixture.queue.arrived().await;
    assert_eq!(fixture.queue.depth(), 1);
}
