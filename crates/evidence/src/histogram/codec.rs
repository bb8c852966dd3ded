//! HdrHistogram's V2 encoding: a 40-byte big-endian header, then counts as ZigZag LEB128 numbers of at
//! most nine bytes, in which a negative number means that many empty buckets and zero one.
//! Format: HdrHistogram's `EncodableHistogram` documentation, cookie base `0x1c849303`.

use super::{Histogram, SLOTS};

const COOKIE: u32 = 0x1c84_9313;
const HEADER: usize = 40;
const SIGNIFICANT_DIGITS: u32 = 3;

/// Bytes that are not V2 histogram of this layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than its header or than the length the header states.
    #[error("histogram is cut off")]
    Truncated,
    /// Another format, or another version of it.
    #[error("not a V2 histogram (cookie {0:#x})")]
    Cookie(u32),
    /// Another resolution or range than 3 significant digits from 1 µs to 1 h.
    #[error("histogram has another resolution or range than 3 significant digits, 1 µs to 1 h")]
    Layout,
    /// Counts past the highest bucket, or beyond what 64 bits hold.
    #[error("histogram has counts out of range")]
    Counts,
}

impl Histogram {
    /// The standard V2 bytes, uncompressed.
    pub fn to_v2(&self) -> Vec<u8> {
        let mut out = vec![0; HEADER];
        let mut next = 0;
        for (slot, count) in self.slots() {
            match slot - next {
                0 => {}
                1 => put_zigzag(&mut out, 0),
                empty => put_zigzag(&mut out, -(empty as i64)),
            }
            put_zigzag(&mut out, i64::try_from(count).unwrap_or(i64::MAX));
            next = slot + 1;
        }
        let payload = (out.len() - HEADER) as u32;
        out[0..4].copy_from_slice(&COOKIE.to_be_bytes());
        out[4..8].copy_from_slice(&payload.to_be_bytes());
        out[12..16].copy_from_slice(&SIGNIFICANT_DIGITS.to_be_bytes());
        out[16..24].copy_from_slice(&1u64.to_be_bytes());
        out[24..32].copy_from_slice(&Self::MAX_US.to_be_bytes());
        out[32..40].copy_from_slice(&1f64.to_be_bytes());
        out
    }

    /// Read V2 bytes as [`Histogram::to_v2`] writes them; foreign layouts are refused, not converted.
    ///
    /// # Errors
    /// [`DecodeError`] for anything else; no input panics or takes more memory than one full histogram.
    pub fn from_v2(bytes: &[u8]) -> Result<Histogram, DecodeError> {
        let payload = check_header(bytes)?;
        let mut histogram = Histogram::new();
        let mut slot = 0usize;
        let mut rest = payload;
        while !rest.is_empty() {
            let number = take_zigzag(&mut rest)?;
            if number <= 0 {
                let skip = usize::try_from(number.unsigned_abs()).map_err(|_| DecodeError::Counts)?;
                slot = slot.checked_add(skip.max(1)).ok_or(DecodeError::Counts)?;
                continue;
            }
            let count = number.unsigned_abs();
            let fits = slot < SLOTS && histogram.total.checked_add(count).is_some();
            if !fits {
                return Err(DecodeError::Counts);
            }
            histogram.add_at(slot, count);
            slot += 1;
        }
        Ok(histogram)
    }
}

fn check_header(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let (header, rest) = bytes.split_at_checked(HEADER).ok_or(DecodeError::Truncated)?;
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let long = |at: usize| (u64::from(word(at)) << 32) | u64::from(word(at + 4));
    if word(0) != COOKIE {
        return Err(DecodeError::Cookie(word(0)));
    }
    let same_layout =
        word(8) == 0 && word(12) == SIGNIFICANT_DIGITS && long(16) == 1 && long(24) == Histogram::MAX_US;
    if !same_layout {
        return Err(DecodeError::Layout);
    }
    rest.get(..word(4) as usize).ok_or(DecodeError::Truncated)
}

fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn take_zigzag(rest: &mut &[u8]) -> Result<i64, DecodeError> {
    let mut value = 0u64;
    for i in 0..9 {
        let (&byte, tail) = rest.split_first().ok_or(DecodeError::Truncated)?;
        *rest = tail;
        if i == 8 {
            value |= u64::from(byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}
