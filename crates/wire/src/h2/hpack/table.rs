//! The dynamic table (RFC 7541, section 2.3.2), one for each direction.

use std::collections::VecDeque;

/// What an entry counts beyond its bytes.
const ENTRY_OVERHEAD: usize = 32;

/// Entries in the order of insertion, their bytes in one buffer whose front is dropped now and then.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    /// How many bytes have been dropped from the front of `bytes`.
    dropped: u64,
    size: usize,
    max_size: usize,
    /// Counts insertions, wrapping; the newest entry has this number.
    newest: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u64,
    name_len: usize,
    value_len: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.name_len + self.value_len + ENTRY_OVERHEAD
    }
}

/// What a pair counts in a table, and in the size of a header list.
pub(super) fn pair_size(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + ENTRY_OVERHEAD
}

impl Table {
    pub(super) fn new(max_size: usize) -> Self {
        Table { entries: VecDeque::new(), bytes: Vec::new(), dropped: 0, size: 0, max_size, newest: 0 }
    }

    pub(super) fn max_size(&self) -> usize {
        self.max_size
    }

    pub(super) fn newest(&self) -> u32 {
        self.newest
    }

    pub(super) fn resize(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.evict_for(0);
    }

    /// The pair that was inserted `age` insertions before the newest one.
    pub(super) fn get(&self, age: usize) -> Option<(&[u8], &[u8])> {
        let nth = self.entries.len().checked_sub(age + 1)?;
        let entry = self.entries.get(nth)?;
        let start = (entry.start - self.dropped) as usize;
        Some(self.bytes[start..start + entry.name_len + entry.value_len].split_at(entry.name_len))
    }

    /// Insert, at the cost of the oldest entries; a pair above the maximum empties the table.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = pair_size(name, value);
        self.evict_for(size);
        if size > self.max_size {
            return;
        }
        self.drop_front();
        let start = self.dropped + self.bytes.len() as u64;
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_back(Entry { start, name_len: name.len(), value_len: value.len() });
        self.size += size;
        self.newest = self.newest.wrapping_add(1);
    }

    fn evict_for(&mut self, size: usize) {
        while self.size + size > self.max_size
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.size();
        }
    }

    /// Bytes of evicted entries stay until there are as many of them as may be in use, so that moving the
    /// rest costs little an insertion.
    fn drop_front(&mut self) {
        let in_use_from =
            self.entries.front().map_or(self.bytes.len(), |entry| (entry.start - self.dropped) as usize);
        if in_use_from > self.max_size {
            self.bytes.drain(..in_use_from);
            self.dropped += in_use_from as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way_and_memory_stays_bounded() {
        let mut table = Table::new(100);
        for n in 0..10_000u32 {
            table.insert(b"name", n.to_string().as_bytes());
        }
        assert_eq!(table.get(0), Some((&b"name"[..], &b"9999"[..])));
        assert_eq!(table.get(1), Some((&b"name"[..], &b"9998"[..])));
        assert_eq!(table.get(2), None);
        assert!(table.bytes.capacity() < 1000);
        assert_eq!(table.newest(), 10_000);
    }

    #[test]
    fn a_pair_above_the_maximum_empties_the_table() {
        let mut table = Table::new(100);
        table.insert(b"a", b"b");
        table.insert(b"a", &[b'x'; 100]);
        assert_eq!(table.get(0), None);
        table.insert(b"a", b"c");
        table.resize(33);
        assert_eq!(table.get(0), None);
    }
}
