//! What an earlier process left: every whole record of every file, as entries.

use super::file::Folder;
use super::record;
use super::segment::Segment;
use crate::entry::{Entry, Kept};
use bytes::Bytes;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// What was found at the start.
#[derive(Debug, Default)]
pub struct Left {
    /// Tasks that may not have been handed on.
    pub entries: Vec<Entry>,
    /// Bytes behind the last whole record of a file: what was being written when the process ended.
    pub torn_bytes: u64,
}

/// Reads the folder; yields also the number of the next file.
pub(super) fn read(folder: &Folder) -> io::Result<(Left, u64)> {
    let mut left = Left::default();
    let mut next = 0;
    for (number, path) in folder.files()? {
        next = number + 1;
        read_file(folder, path, &mut left)?;
    }
    Ok((left, next))
}

fn read_file(folder: &Folder, path: PathBuf, left: &mut Left) -> io::Result<()> {
    let bytes = Bytes::from(std::fs::read(&path)?);
    let segment = Segment::new(path, &folder.size);
    let since = Instant::now();
    let (mut at, before) = (0, left.entries.len());
    while let Some((priority, range)) = record::read(&bytes, at) {
        at = range.end;
        let (task, kept) = (bytes.slice(range), Kept::Disk(Arc::clone(&segment)));
        left.entries.push(Entry { priority, task, since, place: None, kept });
    }
    left.torn_bytes += (bytes.len() - at) as u64;
    segment.grew(bytes.len() as u64, left.entries.len() - before);
    segment.seal();
    Ok(())
}
