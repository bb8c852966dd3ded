//! One file of the journal, from its first task until the last one is handed on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The size of all files of a journal.
#[derive(Debug, Default)]
pub(crate) struct JournalSize {
    pub(crate) bytes: AtomicU64,
}

/// A file that is deleted when all of its tasks are handed on.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    bytes: AtomicU64,
    /// Tasks that are not handed on yet.
    pending: AtomicUsize,
    is_sealed: AtomicBool,
    size: Arc<JournalSize>,
}

impl Segment {
    /// An empty file.
    pub(crate) fn new(path: PathBuf, size: &Arc<JournalSize>) -> Arc<Self> {
        Arc::new(Self {
            path,
            bytes: AtomicU64::new(0),
            pending: AtomicUsize::new(0),
            is_sealed: AtomicBool::new(false),
            size: Arc::clone(size),
        })
    }

    /// Records that tasks were appended.
    pub(crate) fn record_append(&self, bytes: u64, tasks: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.size.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.pending.fetch_add(tasks, Ordering::SeqCst);
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Nothing more will be appended.
    pub(crate) fn seal(&self) {
        self.is_sealed.store(true, Ordering::SeqCst);
        if self.pending.load(Ordering::SeqCst) == 0 {
            self.delete();
        }
    }

    /// One of its tasks was handed on.
    pub fn handed_on(&self) {
        if self.pending.fetch_sub(1, Ordering::SeqCst) == 1 && self.is_sealed.load(Ordering::SeqCst) {
            self.delete();
        }
    }

    /// Sealing and handing on the last task may happen at once, and both delete; the second finds no file.
    fn delete(&self) {
        let freed = self.bytes.swap(0, Ordering::Relaxed);
        self.size.bytes.fetch_sub(freed, Ordering::Relaxed);
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.path.display(), "a file of the journal could not be deleted");
            }
            _ => {}
        }
    }
}
