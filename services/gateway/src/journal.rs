//! The write-ahead log: every accepted task is in append-only files, with checksums, until it is handed on.
//!
//! One thread writes, in groups (see [`kit::group_commit`]): all samples that wait go into one write and one `fsync`.
//! Then the entries are pushed into the queue, whether or not their client still waits. A file whose tasks are all handed on
//! is deleted, and the last one when the journal is closed; the files of an earlier process are read at the start. A task
//! may be handed on twice, if the process was killed before its file was deleted: both have the same id.

mod file;
mod record;
mod replay;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use kit::group_commit::{GroupCommit, GroupMetrics, GroupQueue};
use kit::limit::Permit;
use kit::metrics::Metrics;
use tokio::sync::oneshot;

use crate::queue::{self, Queue};
use crate::sample::Priority;
use crate::segment::JournalSize;
use crate::task::Tasks;
use file::Folder;
pub use replay::RecoveredTasks;

/// Where the journal is, and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalOptions {
    /// The folder, created when it is missing; used by one process at a time.
    pub folder: PathBuf,
    /// Bytes in a file after which the next one is created.
    pub segment_bytes: u64,
    /// Bytes of all files; past that nothing more is accepted.
    pub max_bytes: u64,
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the journal in {folder} (JOURNAL_DIR) cannot be used: {source}")]
pub struct JournalError {
    pub folder: PathBuf,
    pub source: std::io::Error,
}

/// Why tasks are not on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PersistError {
    /// The journal has as many bytes as it may have.
    #[error("the journal is full")]
    Full,
    /// The write or its `fsync` failed.
    #[error("the disk cannot be written")]
    Failed,
}

/// Tasks to be written, their slots in the queue, and where the outcome is sent.
#[derive(Debug)]
struct WriteRequest {
    tasks: Tasks,
    slots: Vec<Permit>,
    done: oneshot::Sender<Result<(), PersistError>>,
}

impl WriteRequest {
    /// Tasks of a client that has left are kept all the same.
    fn answer(self, outcome: Result<(), PersistError>) {
        let _client_left = self.done.send(outcome);
    }
}

/// Sends tasks to the writing thread. Dropping it ends the thread once everything is written.
#[derive(Debug)]
pub struct Journal {
    writes: GroupQueue<WriteRequest>,
    size: Arc<JournalSize>,
    max_bytes: u64,
    writer: JoinHandle<()>,
}

impl Journal {
    /// Opens the folder; returns the tasks of an earlier process that are in it, too.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process uses it.
    pub fn open(
        options: &JournalOptions,
        queue: &Arc<Queue>,
        metrics: &Metrics,
    ) -> Result<(Self, RecoveredTasks), JournalError> {
        let failed = |source| JournalError { folder: options.folder.clone(), source };
        let size = Arc::new(JournalSize::default());
        let folder = Folder::open(&options.folder, Arc::clone(&size)).map_err(failed)?;
        let (recovered, next_number) = replay::read(&folder).map_err(failed)?;
        let writer = writer::Writer::new(folder, next_number, options, Arc::clone(queue));
        let (writes, writer) =
            GroupCommit::new(writer, writer::GROUPS, GroupMetrics::register(metrics, "journal"));
        let writer = writer.run_on_thread("journal").map_err(failed)?;
        Ok((Self { writes, size, max_bytes: options.max_bytes, writer }, recovered))
    }

    /// Returns once the tasks are on disk and in the queue.
    ///
    /// # Errors
    /// When they are not, and will not be.
    pub async fn persist(&self, tasks: Tasks, slots: Vec<Permit>) -> Result<(), PersistError> {
        let (done, outcome) = oneshot::channel();
        self.writes.send(WriteRequest { tasks, slots, done }).map_err(|_| PersistError::Failed)?;
        outcome.await.unwrap_or(Err(PersistError::Failed))
    }

    /// Whether tasks of this priority fit: the last part of the bytes, too, is reserved for higher priorities.
    #[must_use]
    pub fn has_space_for(&self, priority: Priority) -> bool {
        self.bytes() < queue::usable_capacity(priority, self.max_bytes)
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.size.bytes.load(Ordering::Relaxed)
    }

    /// Writes what is still to be written, and ends the last file, so that it is deleted once its tasks are handed on. A
    /// disk that does not respond holds the process up for no longer than `within`.
    pub async fn close(&self, within: Duration) {
        self.writes.close();
        let mut checks = tokio::time::interval(Duration::from_millis(2));
        let ended = async {
            while !self.writer.is_finished() {
                checks.tick().await;
            }
        };
        if tokio::time::timeout(within, ended).await.is_err() {
            tracing::warn!(?within, "the journal was not closed in time; samples may be handed on again");
        }
    }
}

#[cfg(test)]
mod tests;
