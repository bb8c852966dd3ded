//! The record of a task on disk: its length, a checksum, its priority and its JSON. Pure.
//!
//! The checksum is CRC-32 (that of gzip) over priority and JSON. A file that is truncated, or whose end is damaged, is
//! read up to its last intact record.

use std::ops::Range;

use crate::sample::Priority;

/// Length (4 bytes) and checksum (4 bytes), little endian.
pub(super) const HEAD_BYTES: usize = 8;
/// A task is far shorter; a greater length is that of no record.
const MAX_BYTES: usize = 1 << 20;

/// Appends a record.
pub(super) fn write(into: &mut Vec<u8>, priority: Priority, task: &[u8]) {
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

/// The record that begins at `at`: its priority, and the range of its JSON; `None` when there is no intact one.
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
    use proptest::prelude::*;

    use super::*;

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
        tasks.iter().for_each(|(priority, task)| write(&mut bytes, *priority, task));
        bytes
    }

    proptest! {
        #[test]
        fn written_records_are_read(tasks in tasks()) {
            prop_assert_eq!(all(&written(&tasks)), tasks);
        }

        #[test]
        fn a_truncated_end_loses_the_last_record_only(tasks in tasks(), cut in 1_usize..60) {
            let mut bytes = written(&tasks);
            bytes.truncate(bytes.len().saturating_sub(cut));
            let read = all(&bytes);
            prop_assert_eq!(&read[..], &tasks[..read.len()]);
        }

        #[test]
        fn a_changed_byte_is_never_read_as_a_task(tasks in tasks(), at: prop::sample::Index, flip in 1_u8..) {
            let mut bytes = written(&tasks);
            prop_assume!(!bytes.is_empty());
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(all(&bytes).iter().all(|task| tasks.contains(task)));
        }
    }
}
