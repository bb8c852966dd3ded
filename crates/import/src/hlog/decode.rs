//! Decodes HdrHistogram's V2 encoding in any layout, compressed or not, with bounds against hostile input.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::limits::MAX_RUN_COUNT;
use crate::lines::LineError;

const COOKIE: u32 = 0x1c84_9303;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304;
/// V2 ignores the word size, which is in the low byte of a cookie.
const COOKIE_MASK: u32 = !0xf0;
const HEADER: usize = 40;
/// More bytes than any layout of five digits over 64 bits needs.
const MAX_BYTES: u64 = 16 << 20;

/// A histogram: (highest value of the bucket, count), ascending; values are at least 1.
pub(super) struct DecodedHistogram {
    pub(super) buckets: Vec<(u64, u64)>,
}

pub(super) fn decode(bytes: &[u8]) -> Result<DecodedHistogram, LineError> {
    let (cookie, rest) = word(bytes)?;
    match cookie & COOKIE_MASK {
        COOKIE => plain(bytes),
        COMPRESSED_COOKIE => {
            let (length, rest) = word(rest)?;
            let packed =
                rest.get(..length as usize).ok_or_else(|| LineError::from("its histogram is cut off"))?;
            let mut text = Vec::new();
            let unpacked = ZlibDecoder::new(packed).take(MAX_BYTES + 1).read_to_end(&mut text);
            if unpacked.is_err() {
                return Err("its histogram cannot be inflated".into());
            }
            if text.len() as u64 > MAX_BYTES {
                return Err("its histogram is too large".into());
            }
            plain(&text)
        }
        other => {
            Err(LineError::Malformed(format!("its histogram has an unsupported version (cookie {other:#x})")))
        }
    }
}

fn word(bytes: &[u8]) -> Result<(u32, &[u8]), LineError> {
    let (word, rest) =
        bytes.split_first_chunk::<4>().ok_or_else(|| LineError::from("its histogram is cut off"))?;
    Ok((u32::from_be_bytes(*word), rest))
}

/// How the values of a histogram are divided into buckets.
struct Layout {
    unit_magnitude: u32,
    half_magnitude: u32,
}

impl Layout {
    fn new(lowest: u64, digits: u32) -> Option<Layout> {
        if !(1..1 << 40).contains(&lowest) || digits > 5 {
            return None;
        }
        let finest = 2 * 10u64.pow(digits);
        Some(Layout {
            unit_magnitude: lowest.ilog2(),
            half_magnitude: finest.next_power_of_two().ilog2() - 1,
        })
    }

    /// The highest value of a bucket, by its index; none beyond 63 bits.
    fn highest(&self, index: u64) -> Option<u64> {
        let half = 1u64 << self.half_magnitude;
        let (bucket, sub) = match index >> self.half_magnitude {
            0 => (0, index),
            bucket => (bucket - 1, (index & (half - 1)) + half),
        };
        let shift = u32::try_from(bucket).ok()?.checked_add(self.unit_magnitude)?;
        let above = (u128::from(sub) + 1).checked_shl(shift).filter(|_| shift < 64)?;
        u64::try_from(above - 1).ok().filter(|highest| *highest < 1 << 63)
    }
}

fn plain(bytes: &[u8]) -> Result<DecodedHistogram, LineError> {
    let malformed = || LineError::from("its histogram is not a V2 histogram");
    let (header, rest) = bytes.split_at_checked(HEADER).ok_or_else(malformed)?;
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if word(0) & COOKIE_MASK != COOKIE {
        return Err(malformed());
    }
    let lowest = (u64::from(word(16)) << 32) | u64::from(word(20));
    let layout = Layout::new(lowest, word(12)).ok_or_else(malformed)?;
    let mut rest = rest.get(..word(4) as usize).ok_or_else(|| LineError::from("its histogram is cut off"))?;
    let mut buckets = Vec::new();
    let (mut index, mut total) = (0u64, 0u64);
    while !rest.is_empty() {
        let number = zigzag(&mut rest).ok_or_else(malformed)?;
        if number <= 0 {
            index = index.checked_add(number.unsigned_abs().max(1)).ok_or_else(malformed)?;
            continue;
        }
        total = total.saturating_add(number.unsigned_abs());
        if total > MAX_RUN_COUNT {
            return Err("its histogram counts more than any run has".into());
        }
        buckets.push((layout.highest(index).ok_or_else(malformed)?, number.unsigned_abs()));
        index += 1;
    }
    Ok(DecodedHistogram { buckets })
}

/// ZigZag LEB128 of at most nine bytes; the ninth has eight bits of the value.
fn zigzag(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for at in 0..9 {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        if at == 8 {
            value |= u64::from(byte) << 56;
        } else {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}
