//! Integers with a prefix (RFC 7541, section 5.1).

use crate::error::WireError;

/// Enough for 2^28, far above any length or index taken; longer ones are refused.
const MAX_CONTINUATION_BYTES: usize = 4;

/// Read an integer whose first `prefix_bits` are the low bits of the first byte.
#[inline]
pub(super) fn read(input: &mut &[u8], prefix_bits: u32) -> Result<usize, WireError> {
    let (&first, rest) = input.split_first().ok_or(WireError::HpackError)?;
    *input = rest;
    let mask = (1usize << prefix_bits) - 1;
    let value = usize::from(first) & mask;
    if value < mask { Ok(value) } else { read_continuation(input, value) }
}

fn read_continuation(input: &mut &[u8], mut value: usize) -> Result<usize, WireError> {
    for position in 0..MAX_CONTINUATION_BYTES {
        let (&byte, rest) = input.split_first().ok_or(WireError::HpackError)?;
        *input = rest;
        value += usize::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(WireError::HpackError)
}

/// Write an integer; `pattern` holds the bits above the prefix.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, pattern: u8, prefix_bits: u32, value: usize) {
    let mask = (1usize << prefix_bits) - 1;
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7541, appendix C.1.
    #[test]
    fn the_examples_of_the_standard_hold() {
        for (value, prefix_bits, bytes) in
            [(10, 5, &[0b01010][..]), (1337, 5, &[0b11111, 0b1001_1010, 0b1010]), (42, 8, &[42])]
        {
            let mut out = Vec::new();
            write(&mut out, 0, prefix_bits, value);
            assert_eq!(out, bytes);
            assert_eq!(read(&mut &bytes[..], prefix_bits), Ok(value));
        }
    }

    #[test]
    fn endless_and_cut_integers_are_refused() {
        assert_eq!(read(&mut &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0][..], 7), Err(WireError::HpackError));
        assert_eq!(read(&mut &[0xff, 0x80][..], 7), Err(WireError::HpackError));
        assert_eq!(read(&mut &[][..], 7), Err(WireError::HpackError));
    }
}
