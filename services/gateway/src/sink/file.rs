//! Tasks as lines of a file, synced before they count as handed on: the lines, and before the first one the file's name
//! in its folder. The file may be moved away at any time: the next lines create another.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{SinkError, SinkOpenError};
use crate::entry::QueueEntry;

/// A file that is appended to.
#[derive(Debug)]
pub struct FileSink {
    path: Arc<PathBuf>,
    /// Lines of two workers must not mix.
    writing: Arc<Mutex<()>>,
}

/// Permission to hand tasks on. For a file, only one exists at a time.
#[derive(Debug, Default)]
pub struct SinkPermit {
    _writing: Option<OwnedMutexGuard<()>>,
}

impl FileSink {
    /// Creates the file if it is missing, and ends a line that an earlier process wrote only in part.
    pub(super) fn open(path: &Path) -> Result<Self, SinkOpenError> {
        let failed = |source| SinkOpenError::File { path: path.to_owned(), source };
        end_the_last_line(path).map_err(failed)?;
        Ok(Self { path: Arc::new(path.to_owned()), writing: Arc::default() })
    }

    pub(super) async fn permit(&self) -> SinkPermit {
        SinkPermit { _writing: Some(Arc::clone(&self.writing).lock_owned().await) }
    }

    pub(super) async fn append(&self, entries: &[QueueEntry], permit: SinkPermit) -> Result<(), SinkError> {
        let mut lines = Vec::with_capacity(entries.iter().map(|entry| entry.task.len() + 1).sum());
        for entry in entries {
            lines.extend_from_slice(&entry.task);
            lines.push(b'\n');
        }
        let path = Arc::clone(&self.path);
        // The permit lasts until everything is written, also when this future is dropped.
        let written = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            append(&path, &lines)
        });
        Ok(written.await.map_err(|_| SinkError::WriterPanicked)??)
    }
}

fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let length = file.metadata()?.len();
    if length == 0 {
        sync_name(path)?;
    }
    let written = file.write_all(lines).and_then(|()| file.sync_data());
    if written.is_err() {
        // A partial line would damage the next one.
        file.set_len(length)?;
    }
    written
}

/// Returns when the file's name is on disk: without it, a crash of the machine loses synced lines of a new file.
fn sync_name(path: &Path) -> io::Result<()> {
    let target = path.canonicalize()?;
    target.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn end_the_last_line(path: &Path) -> io::Result<()> {
    let mut file = File::options().create(true).read(true).append(true).open(path)?;
    // The process that created it may have ended before this was done.
    sync_name(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" { file.write_all(b"\n") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::entry::TaskBacking;
    use crate::sample::Priority;

    fn entry(task: &'static [u8]) -> QueueEntry {
        let (priority, since) = (Priority::Low, Instant::now());
        QueueEntry { priority, task: task.into(), since, slot: None, backing: TaskBacking::Memory }
    }

    #[tokio::test]
    async fn a_partial_line_damages_no_other_and_a_file_that_was_moved_away_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks");
        std::fs::write(&path, "{\"a\":1}\n{\"b\"").unwrap();
        let sink = FileSink::open(&path).unwrap();
        sink.append(&[entry(b"{}"), entry(b"[]")], sink.permit().await).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{\"b\"\n{}\n[]\n");
        std::fs::rename(&path, folder.path().join("yesterday")).unwrap();
        sink.append(&[entry(b"{}")], sink.permit().await).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
        assert!(FileSink::open(folder.path()).is_err());
    }
}
