//! Header fields into header blocks.

use super::static_table::{ENTRIES, name_index};
use super::table::{Table, pair_size};
use super::{TABLE_BYTES, integer};
use crate::headers::Secrecy;

/// Sets of two slots each; a power of two.
const SETS: usize = 128;
/// A field above this part of the table is not worth what it would push out.
const LARGEST_SHARE: usize = 4;

/// Encodes the blocks of one connection, in order.
///
/// A field that is seen for the first time leaves only its hash behind; seen again, it enters the dynamic
/// table; from then on it is an index.
#[derive(Debug)]
pub(in crate::h2) struct Encoder {
    table: Table,
    slots: Box<[[Slot; 2]; SETS]>,
    /// The table size to be announced at the start of the next block: the smallest since the last block,
    /// and the final one.
    announce: Option<(usize, usize)>,
    /// Counts the changes of the table.
    state: u64,
    /// Counts those, and the fields that were noted as seen.
    lessons: u64,
}

/// A field that was seen: its hash, and its number in the dynamic table if it is there.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u32,
    number: Option<u32>,
}

/// What the slots know about a field.
enum FieldSlot {
    Indexed(usize),
    SeenBefore(usize, usize),
    New,
}

impl Encoder {
    pub(in crate::h2) fn new() -> Self {
        Encoder {
            table: Table::new(TABLE_BYTES),
            slots: Box::new([[Slot::default(); 2]; SETS]),
            announce: None,
            state: 0,
            lessons: 0,
        }
    }

    /// As long as this is the same, a block means the same.
    pub(in crate::h2) fn state(&self) -> u64 {
        self.state
    }

    /// As long as this is the same, the same fields are encoded as the same block.
    pub(in crate::h2) fn lessons(&self) -> u64 {
        self.lessons
    }

    fn table_changed(&mut self) {
        self.state += 1;
        self.lessons += 1;
    }

    /// The peer allows a dynamic table of `bytes`.
    pub(in crate::h2) fn allow_table(&mut self, bytes: usize) {
        let size = bytes.min(TABLE_BYTES);
        if size == self.table.max_size() && self.announce.is_none() {
            return;
        }
        let smallest = self.announce.map_or(size, |(smallest, _)| smallest.min(size));
        self.announce = Some((smallest, size));
        self.table.resize(size);
        self.table_changed();
    }

    /// Start a block.
    pub(in crate::h2) fn begin(&mut self, out: &mut Vec<u8>) {
        let Some((smallest, last)) = self.announce.take() else { return };
        self.lessons += 1;
        if smallest < last {
            integer::write(out, 0x20, 5, smallest);
        }
        integer::write(out, 0x20, 5, last);
    }

    /// Append one of the fields that the static table holds whole.
    pub(in crate::h2) fn static_pair(out: &mut Vec<u8>, index: u8) {
        out.push(0x80 | index);
    }

    /// Append one field.
    pub(in crate::h2) fn field(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8], secrecy: Secrecy) {
        if secrecy == Secrecy::Secret || is_secret(name) {
            return literal(out, 0x10, 4, name, value);
        }
        let hash = hash(name, value);
        match self.lookup(hash, name, value) {
            FieldSlot::Indexed(age) => integer::write(out, 0x80, 7, ENTRIES.len() + 1 + age),
            FieldSlot::SeenBefore(set, way) if self.is_worth_indexing(name, value) => {
                literal(out, 0x40, 6, name, value);
                self.table.insert(name, value);
                self.slots[set][way].number = Some(self.table.newest());
                self.table_changed();
            }
            _ => literal(out, 0, 4, name, value),
        }
    }

    /// Append a field that stays out of the dynamic table, because its value is seldom the same.
    pub(in crate::h2) fn unindexed(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        literal(out, 0, 4, name, value);
    }

    fn is_worth_indexing(&self, name: &[u8], value: &[u8]) -> bool {
        pair_size(name, value) <= self.table.max_size() / LARGEST_SHARE
    }

    fn lookup(&mut self, hash: u32, name: &[u8], value: &[u8]) -> FieldSlot {
        let set = hash as usize % SETS;
        for way in 0..2 {
            let slot = self.slots[set][way];
            if slot.hash != hash {
                continue;
            }
            return match self.age(slot, name, value) {
                Some(age) => FieldSlot::Indexed(age),
                None => FieldSlot::SeenBefore(set, way),
            };
        }
        self.remember(hash, set);
        FieldSlot::New
    }

    /// Numbers wrap and hashes collide, so an entry counts only when its bytes are the field's.
    fn age(&self, slot: Slot, name: &[u8], value: &[u8]) -> Option<usize> {
        let age = self.table.newest().wrapping_sub(slot.number?) as usize;
        (self.table.get(age)? == (name, value)).then_some(age)
    }

    /// Note a hash in a slot whose entry is gone or never was; entries in use keep theirs.
    fn remember(&mut self, hash: u32, set: usize) {
        let newest = self.table.newest();
        let is_live = |slot: &Slot| {
            slot.number.is_some_and(|number| self.table.get(newest.wrapping_sub(number) as usize).is_some())
        };
        let [first, second] = &self.slots[set];
        let way = match (is_live(first), is_live(second)) {
            (true, true) => return,
            (true, false) => 1,
            (false, true) => 0,
            // Neither is in use: the newer sighting stays in front, the older one behind.
            (false, false) => {
                self.slots[set][1] = self.slots[set][0];
                0
            }
        };
        self.slots[set][way] = Slot { hash, number: None };
        self.lessons += 1;
    }
}

/// Never indexed, here or at an intermediary, so that no one who shares a connection can guess them by the
/// size of a block (RFC 7541, section 7.1.3).
fn is_secret(name: &[u8]) -> bool {
    match name.len() {
        6 => name == b"cookie",
        13 => name == b"authorization",
        19 => name == b"proxy-authorization",
        _ => false,
    }
}

fn literal(out: &mut Vec<u8>, pattern: u8, prefix_bits: u32, name: &[u8], value: &[u8]) {
    let index = name_index(name);
    integer::write(out, pattern, prefix_bits, index);
    if index == 0 {
        string(out, name);
    }
    string(out, value);
}

fn string(out: &mut Vec<u8>, text: &[u8]) {
    integer::write(out, 0, 7, text.len());
    out.extend_from_slice(text);
}

/// Fast and not keyed: a collision costs a few bytes on the wire, never a wrong field.
fn hash(name: &[u8], value: &[u8]) -> u32 {
    let state = mix(mix(name.len() as u64, name), value);
    (state >> 32) as u32 ^ state as u32
}

fn mix(mut state: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut step = |word: u64| state = (state.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        step(u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        step(u64::from_le_bytes(last));
    }
    state
}

#[cfg(test)]
mod tests;
