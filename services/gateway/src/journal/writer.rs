//! The journal's writer: one write and one `fsync` a group.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kit::group_commit::{FailedGroup, GroupError, GroupOptions, GroupWriter, GroupedCommand};

use super::file::Folder;
use super::{JournalOptions, PersistError, WriteRequest, record};
use crate::entry::{TaskBacking, entries};
use crate::queue::Queue;
use crate::segment::Segment;

/// Weights are bytes: more than a disk writes in the time of an `fsync`; the rest is the next group.
pub(super) const GROUPS: GroupOptions = GroupOptions::of_weight(4 << 20);

/// Why a group is not on disk.
#[derive(Debug, thiserror::Error)]
pub(super) enum GroupFailure {
    #[error("the journal is full")]
    Full,
    #[error("the journal cannot be written: {0}")]
    Disk(#[from] io::Error),
}

impl GroupError for GroupFailure {
    fn is_of_one_command(&self) -> bool {
        false
    }
}

impl GroupedCommand for WriteRequest {
    type Error = GroupFailure;

    fn weight(&self) -> usize {
        self.tasks.bytes()
    }

    fn fail(self, error: &GroupFailure) {
        self.answer(match error {
            GroupFailure::Full => Err(PersistError::Full),
            GroupFailure::Disk(_) => Err(PersistError::Failed),
        });
    }
}

pub(super) struct Writer {
    folder: Folder,
    next_number: u64,
    segment_bytes: u64,
    max_bytes: u64,
    queue: Arc<Queue>,
    current: Option<(File, Arc<Segment>)>,
    /// A file that ends with a group that was refused.
    uncut: Option<(File, Arc<Segment>)>,
    /// The records of a group.
    records: Vec<u8>,
}

impl GroupWriter for Writer {
    type Command = WriteRequest;

    async fn commit(&mut self, mut group: Vec<WriteRequest>) -> Result<(), FailedGroup<WriteRequest>> {
        match self.persist(&group) {
            Ok(segment) => {
                self.push_to_queue(&mut group, segment);
                group.into_iter().for_each(|write| write.answer(Ok(())));
                Ok(())
            }
            Err(error) => Err(FailedGroup { commands: group, error }),
        }
    }

    async fn close(&mut self) {
        if let Err(error) = self.cut() {
            tracing::error!(%error, "a refused group could not be cut off; the next start hands it on");
        }
        self.rotate();
    }
}

impl Writer {
    pub(super) fn new(folder: Folder, next_number: u64, options: &JournalOptions, queue: Arc<Queue>) -> Self {
        Self {
            folder,
            next_number,
            segment_bytes: options.segment_bytes,
            max_bytes: options.max_bytes,
            queue,
            current: None,
            uncut: None,
            records: Vec::new(),
        }
    }

    /// Pushes the whole group at once: one worker is woken, and finds as much as it can hand on.
    fn push_to_queue(&self, group: &mut [WriteRequest], segment: Arc<Segment>) {
        let backing = TaskBacking::Disk(segment);
        self.queue.push(group.iter_mut().flat_map(|write| {
            let slots = std::mem::take(&mut write.slots);
            entries(&write.tasks, slots, &backing)
        }));
    }

    /// Makes the group durable, as a whole or not at all.
    fn persist(&mut self, group: &[WriteRequest]) -> Result<Arc<Segment>, GroupFailure> {
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        for (priority, task) in group.iter().flat_map(|write| write.tasks.iter()) {
            record::write(&mut records, priority, &task);
        }
        let outcome = self.append_within_bounds(&records);
        self.records = records;
        let segment = outcome?;
        segment.record_append(self.records.len() as u64, group.iter().map(|write| write.tasks.len()).sum());
        if segment.bytes() >= self.segment_bytes {
            self.rotate();
        }
        Ok(segment)
    }

    fn append_within_bounds(&mut self, records: &[u8]) -> Result<Arc<Segment>, GroupFailure> {
        let used = self.folder.size.bytes.load(Ordering::Relaxed);
        if used + records.len() as u64 > self.max_bytes {
            // Every task of the current file may be handed on: only a sealed file is deleted.
            self.rotate();
            return Err(GroupFailure::Full);
        }
        Ok(self.append(records)?)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<Arc<Segment>> {
        self.cut()?;
        let (mut file, segment) = match self.current.take() {
            Some(current) => current,
            None => self.create()?,
        };
        let written = file.write_all(bytes).and_then(|()| sync(&file));
        let place = if written.is_ok() { &mut self.current } else { &mut self.uncut };
        *place = Some((file, Arc::clone(&segment)));
        written.map(|()| segment).or_else(|error| self.cut().and(Err(error)))
    }

    fn create(&mut self) -> io::Result<(File, Arc<Segment>)> {
        let (file, path) = self.folder.create(self.next_number)?;
        self.next_number += 1;
        Ok((file, Segment::new(path, &self.folder.size)))
    }

    /// Cuts a refused group off, on disk too, as the next start would hand on what is left of it; until that succeeds,
    /// nothing is written. The file ends here: after a failed `fsync` the kernel may report pages as written that are
    /// not, so that a later one of the same file proves nothing. The groups before had an `fsync` of their own.
    fn cut(&mut self) -> io::Result<()> {
        if let Some((file, segment)) = &self.uncut {
            file.set_len(segment.bytes())?;
            file.sync_all()?;
            segment.seal();
            self.uncut = None;
        }
        Ok(())
    }

    /// Ends the current file: the next group begins another.
    fn rotate(&mut self) {
        if let Some((_, segment)) = self.current.take() {
            segment.seal();
        }
    }
}

/// Returns when the file's bytes are on disk.
fn sync(file: &File) -> io::Result<()> {
    #[cfg(feature = "faults")]
    crate::faults::failing_sync()?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kit::limit::Limit;

    use super::*;
    use crate::queue::Shedding;

    fn writer(path: &Path) -> Writer {
        let options = JournalOptions { folder: path.to_owned(), segment_bytes: 4_096, max_bytes: 1 << 20 };
        let queue = Arc::new(Queue::new(Limit::new(1), Shedding::Never));
        Writer::new(Folder::open(path, Arc::default()).unwrap(), 0, &options, queue)
    }

    /// A file that cannot be written, nor cut.
    #[test]
    fn nothing_is_written_until_a_refused_group_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let mut writer = writer(&path);
        let segment = writer.append(b"kept").unwrap();
        segment.record_append(4, 1);
        let file = path.join("00000000000000000000.log");
        let writable = writer.current.take().map(|(writable, _)| writable);
        std::fs::write(&file, "kept and refused").unwrap();
        writer.current = Some((File::open(&file).unwrap(), Arc::clone(&segment)));
        for _ in 0..2 {
            assert!(writer.append(b"more").is_err());
            assert_eq!(std::fs::read_dir(&path).unwrap().count(), 2, "the file and the lock");
        }
        writer.uncut = writable.map(|writable| (writable, segment));
        assert!(writer.append(b"more").is_ok());
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
        assert_eq!(std::fs::read(path.join("00000000000000000001.log")).unwrap(), b"more");
    }

    #[tokio::test]
    async fn a_writer_that_is_closed_leaves_the_tasks_that_were_not_handed_on_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path());
        let segment = writer.append(b"kept").unwrap();
        segment.record_append(4, 1);
        let file = folder.path().join("00000000000000000000.log");
        std::fs::write(&file, "kept and refused").unwrap();
        writer.uncut = writer.current.take();
        writer.close().await;
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
        segment.handed_on();
        assert!(!file.exists());
    }
}
