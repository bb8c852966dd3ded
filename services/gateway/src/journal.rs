//! What must outlive the process: every accepted task in append-only files, with checksums, until it is handed on.
//!
//! One thread writes. Everything that waits for it goes into one write and one `fsync`, so their cost is shared. When
//! it is down, entries join the queue, whether or not their sender still waits. A file whose tasks are all handed on is
//! deleted; what an earlier process left is read at the start. A task may be handed on twice, if the process was killed
//! before its file could be deleted: its id tells.

mod file;
mod record;
mod replay;
mod segment;
mod writer;

pub use replay::Left;
pub use segment::Segment;

use crate::queue::{self, Queue};
use crate::sample::Priority;
use crate::task::Tasks;
use file::Folder;
use kit::limit::Permit;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Where and how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalOptions {
    /// The folder, made when it is missing; one process at a time.
    pub folder: PathBuf,
    /// Bytes after which the next file is begun.
    pub segment_bytes: u64,
    /// Bytes of all files; past that nothing more is accepted.
    pub most_bytes: u64,
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the journal in {folder} (JOURNAL_DIR) cannot be used: {source}")]
pub struct JournalError {
    /// The folder.
    pub folder: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

/// Why something is not on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotKept {
    /// There are as many bytes as there may be.
    #[error("the journal is full")]
    Full,
    /// The disk did not take it.
    #[error("the disk does not take it")]
    Failed,
}

/// What is to be written, and who waits for it.
struct Write {
    tasks: Tasks,
    places: Vec<Permit>,
    done: oneshot::Sender<Result<(), NotKept>>,
}

/// How much there is.
#[derive(Debug, Default)]
struct Size {
    bytes: AtomicU64,
}

/// The hand that gives tasks to the writing thread. Dropping it ends the thread once all is written.
#[derive(Debug)]
pub struct Journal {
    writes: mpsc::UnboundedSender<Write>,
    size: Arc<Size>,
    most_bytes: u64,
    writer: Option<std::thread::JoinHandle<()>>,
}

impl Journal {
    /// Opens the folder, and yields what an earlier process left in it.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process does.
    pub fn open(options: &JournalOptions, queue: &Arc<Queue>) -> Result<(Self, Left), JournalError> {
        let failed = |source| JournalError { folder: options.folder.clone(), source };
        let size = Arc::new(Size::default());
        let folder = Folder::open(&options.folder, Arc::clone(&size)).map_err(failed)?;
        let (left, next) = replay::read(&folder).map_err(failed)?;
        // Places bound what waits, so this holds no more than they do.
        let (writes, incoming) = mpsc::unbounded_channel();
        let writer = writer::Writer::new((folder, next), options, Arc::clone(queue));
        let thread = std::thread::Builder::new().name("journal".to_owned());
        let writer = thread.spawn(move || writer.run(incoming)).map_err(failed)?;
        Ok((Self { writes, size, most_bytes: options.most_bytes, writer: Some(writer) }, left))
    }

    /// Returns once the tasks are on disk and in the queue.
    ///
    /// # Errors
    /// When they are not, and will not be.
    pub async fn keep(&self, tasks: Tasks, places: Vec<Permit>) -> Result<(), NotKept> {
        let (done, kept) = oneshot::channel();
        self.writes.send(Write { tasks, places, done }).map_err(|_| NotKept::Failed)?;
        kept.await.unwrap_or(Err(NotKept::Failed))
    }

    /// Whether something of this priority fits: of its bytes, too, the last are kept for what matters more.
    #[must_use]
    pub fn has_room_for(&self, priority: Priority) -> bool {
        self.bytes() < queue::share(priority, self.most_bytes)
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.size.bytes.load(Ordering::Relaxed)
    }

    /// Writes what is left to write, and ends the thread.
    pub fn close(mut self) {
        let writer = self.writer.take();
        drop(self);
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the journal's thread ended in a fault");
        }
    }
}

#[cfg(test)]
mod tests;
