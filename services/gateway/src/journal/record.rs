//! How a task lies on disk: its length, a checksum, its priority and its JSON. Pure.
//!
//! The checksum is CRC-32 (that of gzip) over priority and JSON. A file that breaks off, or whose end is not what was
//! written, is read up to its last whole record.

use crate::sample::Priority;
use std::ops::Range;

/// Length (4 bytes) and checksum (4 bytes), little endian.
pub(super) const HEAD_BYTES: usize = 8;
/// A task is far shorter; what claims to be longer is no record.
const MAX_BYTES: usize = 1 << 20;

/// Appends a record.
pub(super) fn write(into: &mut Vec<u8>, (priority, task): (Priority, &[u8])) {
    let mut checksum = crc32fast::Hasher::new();
    let level = [priority.level() as u8];
    checksum.update(&level);
    checksum.update(task);
    // Tasks are bounded by the limits on a sample's members.
    let length = u32::try_from(1 + task.len()).unwrap_or(u32::MAX);
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&checksum.finalize().to_le_bytes());
    into.extend_from_slice(&level);
    into.extend_from_slice(task);
}

/// The record that begins at `at`: its priority, and where its JSON lies; `None` when there is no whole one.
pub(super) fn read(bytes: &[u8], at: usize) -> Option<(Priority, Range<usize>)> {
    let head = bytes.get(at..at + HEAD_BYTES)?;
    let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
    if !(2..=MAX_BYTES).contains(&length) {
        return None;
    }
    let begin = at + HEAD_BYTES;
    let body = bytes.get(begin..begin + length)?;
    if crc32fast::hash(body).to_le_bytes() != head[4..] {
        return None;
    }
    let priority = *Priority::ALL.get(usize::from(body[0]))?;
    Some((priority, begin + 1..begin + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Vec<(Priority, Vec<u8>)> {
        let mut at = 0;
        let next = || {
            let (priority, range) = read(bytes, at)?;
            at = range.end;
            Some((priority, bytes[range].to_vec()))
        };
        std::iter::from_fn(next).collect()
    }

    fn tasks() -> impl Strategy<Value = Vec<(Priority, Vec<u8>)>> {
        let task = prop::collection::vec(any::<u8>(), 1..80);
        prop::collection::vec((prop::sample::select(Priority::ALL.to_vec()), task), 0..12)
    }

    fn written(tasks: &[(Priority, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        tasks.iter().for_each(|(priority, task)| write(&mut bytes, (*priority, task)));
        bytes
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(tasks in tasks()) {
            prop_assert_eq!(all(&written(&tasks)), tasks);
        }

        #[test]
        fn a_torn_end_costs_the_last_record_alone(tasks in tasks(), cut in 1_usize..60) {
            let mut bytes = written(&tasks);
            bytes.truncate(bytes.len().saturating_sub(cut));
            let read = all(&bytes);
            prop_assert_eq!(&read[..], &tasks[..read.len()]);
        }

        #[test]
        fn a_changed_byte_is_never_read_as_a_task(tasks in tasks(), place: prop::sample::Index, flip in 1_u8..) {
            let mut bytes = written(&tasks);
            prop_assume!(!bytes.is_empty());
            let place = place.index(bytes.len());
            bytes[place] ^= flip;
            prop_assert!(all(&bytes).iter().all(|task| tasks.contains(task)));
        }
    }
}
