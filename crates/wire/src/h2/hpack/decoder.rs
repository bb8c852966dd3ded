//! Header blocks into header fields.

use super::integer;
use super::static_table::ENTRIES;
use super::table::{Table, pair_size};
use super::{TABLE_BYTES, huffman};
use crate::error::WireError;
use crate::headers::Headers;

/// The most fields taken from one block.
const MAX_FIELDS: usize = 128;
/// The largest header list taken, counted as RFC 7541, section 4.1 does.
const MAX_LIST_BYTES: usize = 64 << 10;

/// Whether the fields of a block stayed within the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::h2) enum Fit {
    Whole,
    /// The last fields are missing; the dynamic table is right all the same.
    Cut,
}

/// Decodes the blocks of one connection, in order.
#[derive(Debug)]
pub(in crate::h2) struct Decoder {
    table: Table,
    /// Counts the changes of the table.
    state: u64,
    effects: Effects,
}

/// What a block has to do with the dynamic table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::h2) struct Effects {
    /// Whether its meaning depends on what the table holds.
    pub(in crate::h2) reads: bool,
    pub(in crate::h2) resizes: bool,
    /// The fields that it inserts: the first one is the lowest bit.
    pub(in crate::h2) inserts: u128,
}

/// How a field is represented, and what follows from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Literal {
    Indexed,
    NotIndexed,
}

impl Decoder {
    pub(in crate::h2) fn new() -> Self {
        Decoder { table: Table::new(TABLE_BYTES), state: 0, effects: Effects::default() }
    }

    /// As long as this is the same, the same block means the same fields.
    pub(in crate::h2) fn state(&self) -> u64 {
        self.state
    }

    /// What the block decoded last had to do with the table.
    pub(in crate::h2) fn effects(&self) -> Effects {
        self.effects
    }

    /// A block has come that inserts these fields: [`insert`](Self::insert) follows before the next block is decoded.
    pub(in crate::h2) fn will_insert(&mut self, inserts: u128) {
        self.state += u64::from(inserts.count_ones());
    }

    /// Insert these of the fields.
    pub(in crate::h2) fn insert(&mut self, fields: &Headers, inserts: u128) {
        for (nth, (name, value)) in fields.iter().enumerate() {
            if inserts.checked_shr(nth as u32).is_some_and(|left| left & 1 == 1) {
                self.table.insert(name, value);
            }
        }
    }

    /// Append the fields of one block to `out`. After an error the connection cannot go on.
    pub(in crate::h2) fn decode(&mut self, mut block: &[u8], out: &mut Headers) -> Result<Fit, WireError> {
        let (mut list_bytes, before) = (0, out.len());
        let mut fit = Fit::Whole;
        self.effects = Effects::default();
        self.read_size_updates(&mut block)?;
        while let Some(&first) = block.first() {
            if first & 0x80 != 0 {
                let index = integer::read(&mut block, 7)?;
                self.effects.reads |= index > ENTRIES.len();
                let (name, value) = self.pair(index)?;
                // Copies past the limit would let one byte cost thousands.
                if fit == Fit::Cut {
                    continue;
                }
                list_bytes += pair_size(name, value);
                out.push(name, value);
            } else {
                let place = (out.len() - before) as u32;
                let (name, value) = self.read_literal(&mut block, first, place, out)?;
                list_bytes += pair_size(name, value);
            }
            if out.len() > MAX_FIELDS || list_bytes > MAX_LIST_BYTES {
                out.pop();
                fit = Fit::Cut;
            }
        }
        Ok(fit)
    }

    /// Updates of the table's size come at the start of a block and must not exceed the size that we announced.
    fn read_size_updates(&mut self, block: &mut &[u8]) -> Result<(), WireError> {
        while let Some(&first) = block.first()
            && first & 0xe0 == 0x20
        {
            let size = integer::read(block, 5)?;
            if size > TABLE_BYTES {
                return Err(WireError::HpackError);
            }
            self.table.resize(size);
            self.state += 1;
            self.effects.resizes = true;
        }
        Ok(())
    }

    fn read_literal<'o>(
        &mut self,
        block: &mut &[u8],
        first: u8,
        position: u32,
        out: &'o mut Headers,
    ) -> Result<(&'o [u8], &'o [u8]), WireError> {
        let (literal, prefix_bits) = match first {
            0x40.. => (Literal::Indexed, 6),
            0x20.. => return Err(WireError::HpackError),
            _ => (Literal::NotIndexed, 4),
        };
        let index = integer::read(block, prefix_bits)?;
        self.effects.reads |= index > ENTRIES.len();
        let table = &self.table;
        out.build(|bytes| {
            let start = bytes.len();
            match index {
                0 => read_string(block, bytes)?,
                _ => bytes.extend_from_slice(pair(table, index)?.0),
            }
            let name_len = bytes.len() - start;
            read_string(block, bytes)?;
            Ok(name_len)
        })?;
        let (name, value) = out.last().ok_or(WireError::HpackError)?;
        if literal == Literal::Indexed {
            self.table.insert(name, value);
            self.state += 1;
            self.effects.inserts |= 1u128.checked_shl(position).unwrap_or_default();
        }
        Ok((name, value))
    }

    fn pair(&self, index: usize) -> Result<(&[u8], &[u8]), WireError> {
        pair(&self.table, index)
    }
}

/// The pair that an index names, in the static table or beyond it.
fn pair(table: &Table, index: usize) -> Result<(&[u8], &[u8]), WireError> {
    let nth = index.checked_sub(1).ok_or(WireError::HpackError)?;
    match ENTRIES.get(nth) {
        Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
        None => table.get(nth - ENTRIES.len()).ok_or(WireError::HpackError),
    }
}

fn read_string(block: &mut &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let is_huffman = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::read(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or(WireError::HpackError)?;
    *block = rest;
    if is_huffman {
        return huffman::decode(text, out);
    }
    out.extend_from_slice(text);
    Ok(())
}

#[cfg(test)]
mod tests;
