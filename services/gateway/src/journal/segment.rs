//! One file of the journal, from the first task in it to the last that is handed on.

use super::Size;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A file that goes away when nothing in it is needed any more.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    bytes: AtomicU64,
    left: AtomicUsize,
    is_sealed: AtomicBool,
    size: Arc<Size>,
}

impl Segment {
    /// A file of so many bytes, with so many tasks that are not handed on.
    pub(super) fn new(path: PathBuf, size: &Arc<Size>) -> Arc<Self> {
        Arc::new(Self {
            path,
            bytes: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            is_sealed: AtomicBool::new(false),
            size: Arc::clone(size),
        })
    }

    /// Tasks were added.
    pub(super) fn grew(&self, bytes: u64, tasks: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.size.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.left.fetch_add(tasks, Ordering::SeqCst);
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Nothing will be added.
    pub(super) fn seal(&self) {
        self.is_sealed.store(true, Ordering::SeqCst);
        if self.left.load(Ordering::SeqCst) == 0 {
            self.delete();
        }
    }

    /// One of its tasks was handed on.
    pub fn handed_on(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 && self.is_sealed.load(Ordering::SeqCst) {
            self.delete();
        }
    }

    /// Sealing and handing on the last may find each other done at once; the second finds no file.
    fn delete(&self) {
        let gone = self.bytes.swap(0, Ordering::Relaxed);
        self.size.bytes.fetch_sub(gone, Ordering::Relaxed);
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.path.display(), "a file of the journal could not be deleted");
            }
            _ => {}
        }
    }
}
