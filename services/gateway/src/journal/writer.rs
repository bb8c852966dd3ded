//! The journal's thread: groups what waits into one write and one `fsync`.

use super::file::Folder;
use super::segment::Segment;
use super::{JournalOptions, NotKept, Write, record};
use crate::entry::{Kept, entries};
use crate::queue::Queue;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// More than a disk takes in the time of an `fsync`; the rest is the next group.
const GROUP_BYTES: usize = 4 << 20;
/// A disk that is full is told once in a while, not a thousand times a second.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    folder: Folder,
    next: u64,
    segment_bytes: u64,
    most_bytes: u64,
    queue: Arc<Queue>,
    current: Option<(File, Arc<Segment>)>,
    complained: Option<Instant>,
}

impl Writer {
    pub(super) fn new((folder, next): (Folder, u64), options: &JournalOptions, queue: Arc<Queue>) -> Self {
        let (segment_bytes, most_bytes) = (options.segment_bytes, options.most_bytes);
        Self { folder, next, segment_bytes, most_bytes, queue, current: None, complained: None }
    }

    /// Writes until nobody can give it anything any more.
    pub(super) fn run(mut self, mut incoming: UnboundedReceiver<Write>) {
        let mut group: Vec<Write> = Vec::new();
        let mut bytes = Vec::new();
        while let Some(first) = incoming.blocking_recv() {
            add(&mut group, &mut bytes, first);
            while bytes.len() < GROUP_BYTES
                && let Ok(next) = incoming.try_recv()
            {
                add(&mut group, &mut bytes, next);
            }
            let outcome = self.keep(&bytes, &group).map(|segment| self.pass_on(&mut group, segment));
            for write in group.drain(..) {
                // A sender that is gone has its tasks kept all the same.
                let _gone = write.done.send(outcome);
            }
            bytes.clear();
        }
        if let Some((_, segment)) = self.current.take() {
            segment.seal();
        }
    }

    /// The whole group joins the queue at once: one worker is woken, and finds as much as it can hand on.
    fn pass_on(&self, group: &mut [Write], segment: Arc<Segment>) {
        let kept = Kept::Disk(segment);
        self.queue.push(group.iter_mut().flat_map(|write| {
            let places = std::mem::take(&mut write.places);
            entries((&write.tasks, places), &kept)
        }));
    }

    /// Makes the group durable, as a whole or not at all.
    fn keep(&mut self, bytes: &[u8], group: &[Write]) -> Result<Arc<Segment>, NotKept> {
        let held = self.folder.size.bytes.load(Ordering::Relaxed);
        if held + bytes.len() as u64 > self.most_bytes {
            // Perhaps all that is held is done, in the file that is being written.
            self.rotate();
            return Err(NotKept::Full);
        }
        match self.append(bytes) {
            Ok(segment) => {
                segment.grew(bytes.len() as u64, group.iter().map(|write| write.tasks.len()).sum());
                if segment.bytes() >= self.segment_bytes {
                    self.rotate();
                }
                Ok(segment)
            }
            Err(error) => {
                if self.complained.is_none_or(|at| at.elapsed() > COMPLAIN_EVERY) {
                    tracing::error!(%error, "the journal cannot be written");
                    self.complained = Some(Instant::now());
                }
                Err(NotKept::Failed)
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<Arc<Segment>> {
        if self.current.is_none() {
            let (file, path) = self.folder.begin(self.next)?;
            self.next += 1;
            self.current = Some((file, Segment::new(path, &self.folder.size)));
        }
        let (file, segment) = self.current.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let whole = segment.bytes();
        let segment = Arc::clone(segment);
        if let Err(error) = file.write_all(bytes) {
            // What was written in part must not stand before what follows.
            if file.set_len(whole).and_then(|()| file.seek(io::SeekFrom::Start(whole))).is_err() {
                self.rotate();
            }
            return Err(error);
        }
        if let Err(error) = file.sync_data() {
            // Nobody knows what of this file is on disk: nothing more goes into it.
            self.rotate();
            return Err(error);
        }
        Ok(segment)
    }

    /// The next group begins a file.
    fn rotate(&mut self) {
        if let Some((_, segment)) = self.current.take() {
            segment.seal();
        }
    }
}

fn add(group: &mut Vec<Write>, bytes: &mut Vec<u8>, write: Write) {
    write.tasks.iter().for_each(|(priority, task)| record::write(bytes, (priority, &task)));
    group.push(write);
}
