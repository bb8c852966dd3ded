//! Tasks as lines of a file, on disk before they count as handed on. The file may be moved away at any time: the next
//! lines begin another.

use super::{SinkError, SinkOpenError};
use crate::entry::Entry;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// A file that is appended to.
#[derive(Debug)]
pub struct FileSink {
    path: Arc<PathBuf>,
    /// Lines of two workers must not mix.
    turn: Arc<Mutex<()>>,
}

/// Held by a worker who hands something on; of a file, by the one who may write.
#[derive(Debug, Default)]
pub struct Turn {
    _mine: Option<OwnedMutexGuard<()>>,
}

impl FileSink {
    /// Makes the file if it is missing, and ends a line that an earlier process left half written.
    pub(super) fn open(path: &Path) -> Result<Self, SinkOpenError> {
        let failed = |source| SinkOpenError::File { path: path.to_owned(), source };
        end_the_last_line(path).map_err(failed)?;
        Ok(Self { path: Arc::new(path.to_owned()), turn: Arc::default() })
    }

    pub(super) async fn turn(&self) -> Turn {
        Turn { _mine: Some(Arc::clone(&self.turn).lock_owned().await) }
    }

    pub(super) async fn append(&self, entries: &[Entry], turn: Turn) -> Result<(), SinkError> {
        let mut lines = Vec::with_capacity(entries.iter().map(|entry| entry.task.len() + 1).sum());
        for entry in entries {
            lines.extend_from_slice(&entry.task);
            lines.push(b'\n');
        }
        let path = Arc::clone(&self.path);
        // The turn lasts until all is written, also when nobody waits for that any more.
        let written = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            append(&path, &lines)
        });
        Ok(written.await.map_err(|_| SinkError::Fault)??)
    }
}

fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let whole = file.metadata()?.len();
    let written = file.write_all(lines).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line would spoil the next one.
        file.set_len(whole)?;
    }
    written
}

fn end_the_last_line(path: &Path) -> io::Result<()> {
    let mut file = File::options().create(true).read(true).append(true).open(path)?;
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
    use super::*;
    use crate::entry::Kept;
    use crate::sample::Priority;
    use std::time::Instant;

    fn entry(task: &'static [u8]) -> Entry {
        let (priority, since) = (Priority::Low, Instant::now());
        Entry { priority, task: task.into(), since, place: None, kept: Kept::Memory }
    }

    #[tokio::test]
    async fn a_line_left_half_written_spoils_no_other_and_a_file_moved_away_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks");
        std::fs::write(&path, "{\"a\":1}\n{\"b\"").unwrap();
        let sink = FileSink::open(&path).unwrap();
        sink.append(&[entry(b"{}"), entry(b"[]")], sink.turn().await).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{\"b\"\n{}\n[]\n");
        std::fs::rename(&path, folder.path().join("yesterday")).unwrap();
        sink.append(&[entry(b"{}")], sink.turn().await).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
        assert!(FileSink::open(folder.path()).is_err());
    }
}
