//! Buckets as numbers of nibbles, so that a hexadecimal form of them has a digit for each.
//!
//! A number has three bits a nibble, the lowest first, and the fourth bit of a nibble is set where another one follows. Each
//! bucket, ascending, is one number and maybe a second one. The lowest bit of the first is 1 where a second one follows. The rest
//! is how many buckets are between this one and the one before; of the first bucket it is its ZigZag number. The second number is
//! the count less 2; without it the count is 1. A last byte that is not full ends with the nibble 8.

use super::{Buckets, LAST_BUCKET};

/// Bytes that are not buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BrokenBuckets {
    /// They end within a number.
    #[error("the buckets are cut off")]
    Truncated,
    /// A number, or the sum of all counts, is beyond 64 bits, or a bucket is that of no finite value.
    #[error("the buckets are out of range")]
    OutOfRange,
}

impl Buckets {
    /// The shortest form of them, which [`Buckets::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut nibbles = Nibbles::default();
        let mut before = None;
        for (bucket, count) in self.iter() {
            let distance = match before {
                None => zigzag(bucket),
                Some(before) => bucket.abs_diff(before) - 1,
            };
            nibbles.put(u64::from(distance) << 1 | u64::from(count > 1));
            if count > 1 {
                nibbles.put(count - 2);
            }
            before = Some(bucket);
        }
        nibbles.bytes
    }

    /// The buckets of such bytes.
    ///
    /// # Errors
    /// [`BrokenBuckets`] for anything that [`Buckets::to_bytes`] does not write; no input panics.
    pub fn from_bytes(bytes: &[u8]) -> Result<Buckets, BrokenBuckets> {
        let mut nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).peekable();
        let mut buckets = Buckets::default();
        let (mut before, mut total) = (None, 0_u64);
        while let Some(first) = nibbles.next() {
            if first == FILLER && nibbles.peek().is_none() {
                break;
            }
            let number = take(first, &mut nibbles)?;
            let distance = u32::try_from(number >> 1).map_err(|_| BrokenBuckets::OutOfRange)?;
            let bucket = match before {
                None => Some(of_zigzag(distance)),
                Some(before) => {
                    i32::checked_add(before, 1).and_then(|next| next.checked_add_unsigned(distance))
                }
            };
            let bucket = bucket.filter(|bucket| (-1 - LAST_BUCKET..=LAST_BUCKET).contains(bucket));
            let count = match number & 1 {
                0 => Some(1),
                _ => take(nibbles.next().ok_or(BrokenBuckets::Truncated)?, &mut nibbles)?.checked_add(2),
            };
            let (Some(bucket), Some(count)) = (bucket, count) else { return Err(BrokenBuckets::OutOfRange) };
            total = total.checked_add(count).ok_or(BrokenBuckets::OutOfRange)?;
            buckets.add_to(bucket, count);
            before = Some(bucket);
        }
        Ok(buckets)
    }

    /// How many values they hold together.
    pub fn count(&self) -> u64 {
        self.each().map(|(_, count)| count).sum()
    }
}

fn zigzag(number: i32) -> u32 {
    (number << 1 ^ number >> 31).cast_unsigned()
}

fn of_zigzag(number: u32) -> i32 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Of a nibble: another one of its number follows.
const GOES_ON: u8 = 8;
/// Behind the last number, where half a byte is left.
const FILLER: u8 = 8;

#[derive(Default)]
struct Nibbles {
    bytes: Vec<u8>,
    is_half_free: bool,
}

impl Nibbles {
    fn put(&mut self, mut number: u64) {
        while number > 7 {
            self.put_nibble((number & 7) as u8 | GOES_ON);
            number >>= 3;
        }
        self.put_nibble(number as u8);
    }

    fn put_nibble(&mut self, nibble: u8) {
        match self.bytes.last_mut().filter(|_| self.is_half_free) {
            Some(last) => *last = *last & 0xf0 | nibble,
            None => self.bytes.push(nibble << 4 | FILLER),
        }
        self.is_half_free = !self.is_half_free;
    }
}

/// The number that begins with the nibble `first`.
fn take(first: u8, rest: &mut impl Iterator<Item = u8>) -> Result<u64, BrokenBuckets> {
    let (mut number, mut nibble) = (0_u64, first);
    for shift in (0..64).step_by(3) {
        let part = u64::from(nibble & 7);
        number |= part << shift;
        if part << shift >> shift != part {
            break;
        }
        if nibble & GOES_ON == 0 {
            return Ok(number);
        }
        nibble = rest.next().ok_or(BrokenBuckets::Truncated)?;
    }
    Err(BrokenBuckets::OutOfRange)
}
