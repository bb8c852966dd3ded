//! Recovery at the start: every intact record of an earlier process's files becomes an entry.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::file::Folder;
use super::record;
use crate::entry::{QueueEntry, TaskBacking};
use crate::segment::Segment;

/// The tasks that were found at the start.
#[derive(Debug, Default)]
pub struct RecoveredTasks {
    /// Tasks that may not have been handed on.
    pub entries: Vec<QueueEntry>,
    /// Bytes after the last intact record of a file: of a write that the end of the process interrupted.
    pub torn_bytes: u64,
}

/// Reads the folder; returns the number of the next file, too.
pub(super) fn read(folder: &Folder) -> io::Result<(RecoveredTasks, u64)> {
    let mut recovered = RecoveredTasks::default();
    let mut next_number = 0;
    for (number, path) in folder.files()? {
        next_number = number + 1;
        read_file(folder, path, &mut recovered)?;
    }
    Ok((recovered, next_number))
}

fn read_file(folder: &Folder, path: PathBuf, recovered: &mut RecoveredTasks) -> io::Result<()> {
    let bytes = Bytes::from(std::fs::read(&path)?);
    let segment = Segment::new(path, &folder.size);
    let since = Instant::now();
    let (mut at, before) = (0, recovered.entries.len());
    while let Some((priority, range)) = record::read(&bytes, at) {
        at = range.end;
        let (task, backing) = (bytes.slice(range), TaskBacking::Disk(Arc::clone(&segment)));
        recovered.entries.push(QueueEntry { priority, task, since, slot: None, backing });
    }
    recovered.torn_bytes += (bytes.len() - at) as u64;
    segment.record_append(bytes.len() as u64, recovered.entries.len() - before);
    segment.seal();
    Ok(())
}
