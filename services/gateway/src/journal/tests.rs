use super::*;
use crate::queue::Shedding;
use crate::sample::{Priority, Sample};
use crate::task::Ids;
use kit::clock::UtcMs;
use kit::limit::Limit;
use std::path::Path;
use tempfile::TempDir;

const SEGMENT_BYTES: u64 = 4_096;

struct Stand {
    queue: Arc<Queue>,
    ids: Ids,
    journal: Journal,
    left: Left,
}

fn options(folder: &TempDir) -> JournalOptions {
    JournalOptions {
        folder: folder.path().join("journal"),
        segment_bytes: SEGMENT_BYTES,
        most_bytes: SEGMENT_BYTES * 4,
    }
}

fn open(folder: &TempDir) -> Stand {
    let queue = Arc::new(Queue::new(Limit::new(1_000), Shedding::Never));
    let (journal, left) = Journal::open(&options(folder), &queue).unwrap();
    Stand { queue, ids: Ids::default(), journal, left }
}

impl Stand {
    async fn keep(&self, count: usize) -> Result<(), NotKept> {
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
        let places = self.queue.reserve(samples.iter().map(|sample| sample.priority)).unwrap();
        self.journal.keep(self.ids.tasks(samples.iter(), UtcMs(0)), places).await
    }

    fn hand_on(&self, count: usize) {
        self.queue.take(count).into_iter().for_each(crate::entry::Entry::handed_on);
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
async fn what_was_kept_is_there_for_the_next_process_until_it_is_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let stand = open(&folder);
    stand.keep(3).await.unwrap();
    stand.keep(2).await.unwrap();
    let told: Vec<_> = stand.queue.take(9).into_iter().map(|entry| entry.task).collect();
    stand.journal.close();
    let again = open(&folder);
    let found: Vec<_> = again.left.entries.iter().map(|entry| entry.task.clone()).collect();
    assert_eq!((found, again.left.torn_bytes), (told, 0));
    assert_eq!(again.journal.bytes(), bytes(&files(&folder)[0]));
    again.left.entries.into_iter().for_each(crate::entry::Entry::handed_on);
    assert_eq!((files(&folder).len(), again.journal.bytes()), (0, 0));
    again.journal.close();
    assert!(open(&folder).left.entries.is_empty());
}

#[tokio::test]
async fn files_are_deleted_when_all_of_them_is_handed_on_and_no_sooner() {
    let folder = tempfile::tempdir().unwrap();
    let stand = open(&folder);
    while files(&folder).len() < 3 {
        stand.keep(1).await.unwrap();
    }
    let all = stand.queue.depth();
    stand.hand_on(all - 2);
    assert_eq!(files(&folder).len(), 2, "one task of the second file is left, and one of the third");
    stand.hand_on(2);
    assert_eq!(files(&folder).len(), 1, "the third is being written");
    assert!(stand.journal.bytes() < SEGMENT_BYTES);
    stand.journal.close();
    assert_eq!(files(&folder).len(), 0);
}

#[tokio::test]
async fn a_full_journal_refuses_and_takes_again_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let stand = open(&folder);
    let mut kept = 0;
    while stand.keep(1).await.is_ok() {
        kept += 1;
    }
    assert_eq!(stand.keep(1).await, Err(NotKept::Full));
    assert!(stand.journal.bytes() <= SEGMENT_BYTES * 4);
    assert_eq!(stand.queue.depth(), kept, "what is refused never waits");
    stand.hand_on(kept);
    stand.keep(1).await.unwrap();
}

#[tokio::test]
async fn a_torn_or_spoilt_end_is_left_out_and_the_files_after_it_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let stand = open(&folder);
    while files(&folder).len() < 3 {
        stand.keep(1).await.unwrap();
    }
    let all = stand.queue.depth();
    drop(stand.queue.take(all));
    stand.journal.close();
    let files = files(&folder);
    let first = std::fs::read(&files[0]).unwrap();
    std::fs::write(&files[0], &first[..first.len() - 5]).unwrap();
    let mut second = std::fs::read(&files[1]).unwrap();
    *second.last_mut().unwrap() ^= 1;
    std::fs::write(&files[1], second).unwrap();
    std::fs::write(folder.path().join("journal/notes.txt"), "not ours").unwrap();
    let again = open(&folder);
    assert_eq!(again.left.entries.len(), all - 2);
    assert!(again.left.torn_bytes > 0);
}

#[test]
fn two_processes_cannot_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(&folder);
    let queue = Arc::new(Queue::new(Limit::new(1), Shedding::Never));
    let said = Journal::open(&options(&folder), &queue).unwrap_err().to_string();
    assert!(said.contains("JOURNAL_DIR") && said.contains("another process uses it"), "{said}");
}

#[tokio::test]
async fn a_sender_that_goes_away_has_its_samples_kept() {
    let folder = tempfile::tempdir().unwrap();
    let stand = open(&folder);
    // Given to the thread, and not waited for.
    let mut going = std::pin::pin!(stand.keep(1));
    tokio::select! {
        biased;
        _ = going.as_mut() => {}
        () = std::future::ready(()) => {}
    }
    stand.queue.arrived().await;
    assert_eq!(stand.queue.depth(), 1);
}
