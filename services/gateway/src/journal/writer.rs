//! The journal's thread: groups all waiting requests into one write and one `fsync`.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
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
    last_logged: Option<Instant>,
}

impl Writer {
    pub(super) fn new(folder: Folder, next_number: u64, options: &JournalOptions, queue: Arc<Queue>) -> Self {
        let (segment_bytes, max_bytes) = (options.segment_bytes, options.max_bytes);
        Self { folder, next_number, segment_bytes, max_bytes, queue, current: None, last_logged: None }
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
        if let Some((_, segment)) = self.current.take() {
            segment.seal();
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
        if self.current.is_none() {
            let (file, path) = self.folder.create(self.next_number)?;
            self.next_number += 1;
            self.current = Some((file, Segment::new(path, &self.folder.size)));
        }
        let (file, segment) = self.current.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let length = segment.bytes();
        let segment = Arc::clone(segment);
        if let Err(error) = file.write_all(bytes) {
            // A partial record must not precede the next one.
            if file.set_len(length).and_then(|()| file.seek(io::SeekFrom::Start(length))).is_err() {
                self.rotate();
            }
            return Err(error);
        }
        if let Err(error) = file.sync_data() {
            // It is unknown which part of this file is on disk: nothing more is appended to it.
            self.rotate();
            return Err(error);
        }
        Ok(segment)
    }

    /// Ends the current file: the next group begins another.
    fn rotate(&mut self) {
        if let Some((_, segment)) = self.current.take() {
            segment.seal();
        }
    }
}

fn add(group: &mut Vec<WriteRequest>, bytes: &mut Vec<u8>, write: WriteRequest) {
    write.tasks.iter().for_each(|(priority, task)| record::write(bytes, priority, &task));
    group.push(write);
}
