//! The journal's thread: groups all waiting requests into one write and one `fsync`.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;

use super::file::Folder;
use super::segment::Segment;
use super::{JournalOptions, PersistError, WriteRequest, record};
use crate::entry::{TaskBacking, entries};
use crate::queue::Queue;

/// More than a disk writes in the time of an `fsync`; the rest is the next group.
const GROUP_BYTES: usize = 4 << 20;
/// A failing disk is logged this often at most, not a thousand times a second.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    folder: Folder,
    next_number: u64,
    segment_bytes: u64,
    max_bytes: u64,
    queue: Arc<Queue>,
    current: Option<(File, Arc<Segment>)>,
    /// A file that ends with a group that was refused.
    uncut: Option<(File, Arc<Segment>)>,
    last_logged: Option<Instant>,
}

impl Writer {
    pub(super) fn new(folder: Folder, next_number: u64, options: &JournalOptions, queue: Arc<Queue>) -> Self {
        let (segment_bytes, max_bytes) = (options.segment_bytes, options.max_bytes);
        Self {
            folder,
            next_number,
            segment_bytes,
            max_bytes,
            queue,
            current: None,
            uncut: None,
            last_logged: None,
        }
    }

    /// Writes until the journal is dropped.
    pub(super) fn run(mut self, mut incoming: UnboundedReceiver<WriteRequest>) {
        let mut group: Vec<WriteRequest> = Vec::new();
        let mut bytes = Vec::new();
        while let Some(first) = incoming.blocking_recv() {
            add(&mut group, &mut bytes, first);
            while bytes.len() < GROUP_BYTES
                && let Ok(next) = incoming.try_recv()
            {
                add(&mut group, &mut bytes, next);
            }
            let outcome = self.persist(&bytes, &group).map(|segment| self.push_to_queue(&mut group, segment));
            for write in group.drain(..) {
                // Tasks of a client that has left are kept all the same.
                let _client_left = write.done.send(outcome);
            }
            bytes.clear();
        }
        self.rotate();
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
    fn persist(&mut self, bytes: &[u8], group: &[WriteRequest]) -> Result<Arc<Segment>, PersistError> {
        let used = self.folder.size.bytes.load(Ordering::Relaxed);
        if used + bytes.len() as u64 > self.max_bytes {
            // Every task of the current file may be handed on: only a sealed file is deleted.
            self.rotate();
            return Err(PersistError::Full);
        }
        match self.append(bytes) {
            Ok(segment) => {
                segment.record_append(bytes.len() as u64, group.iter().map(|write| write.tasks.len()).sum());
                if segment.bytes() >= self.segment_bytes {
                    self.rotate();
                }
                Ok(segment)
            }
            Err(error) => {
                if self.last_logged.is_none_or(|at| at.elapsed() > LOG_INTERVAL) {
                    tracing::error!(%error, "the journal cannot be written");
                    self.last_logged = Some(Instant::now());
                }
                Err(PersistError::Failed)
            }
        }
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

fn add(group: &mut Vec<WriteRequest>, bytes: &mut Vec<u8>, write: WriteRequest) {
    write.tasks.iter().for_each(|(priority, task)| record::write(bytes, priority, &task));
    group.push(write);
}

#[cfg(test)]
mod tests {
    use kit::limit::Limit;

    use super::*;
    use crate::queue::Shedding;

    /// A file that cannot be written, nor cut.
    #[test]
    fn nothing_is_written_until_a_refused_group_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let options = JournalOptions { folder: path.clone(), segment_bytes: 4_096, max_bytes: 1 << 20 };
        let queue = Arc::new(Queue::new(Limit::new(1), Shedding::Never));
        let mut writer = Writer::new(Folder::open(&path, Arc::default()).unwrap(), 0, &options, queue);
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
}
