//! The Huffman code of RFC 7541, appendix B, decoded with tables.
//!
//! The code is canonical: codes of one length are consecutive, in the order of their symbols. So the
//! lengths alone say everything, and all tables are made from them at compile time.

use crate::error::WireError;

/// The length in bits of the code of each byte, and of the end-of-string symbol (256).
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26, 30,
];
const LONGEST: usize = 30;

/// Symbols up to eight bits long, by the next eight bits; a length of 0 means that the code is longer.
static SHORT: [Short; 256] = short();
static LONG: Long = long();

#[derive(Clone, Copy)]
struct Short {
    symbol: u8,
    bits: u8,
}

/// For each length: the first code, how many there are, and where their symbols start in `symbols`.
struct Long {
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    start: [usize; LONGEST + 1],
    symbols: [u16; 257],
}

const fn long() -> Long {
    let mut table =
        Long { first: [0; LONGEST + 1], count: [0; LONGEST + 1], start: [0; LONGEST + 1], symbols: [0; 257] };
    let (mut bits, mut code, mut filled) = (1, 0, 0);
    while bits <= LONGEST {
        code <<= 1;
        table.first[bits] = code;
        table.start[bits] = filled;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == bits {
                table.symbols[filled] = symbol as u16;
                filled += 1;
                code += 1;
            }
            symbol += 1;
        }
        table.count[bits] = (filled - table.start[bits]) as u32;
        bits += 1;
    }
    table
}

const fn short() -> [Short; 256] {
    let long = long();
    let mut table = [Short { symbol: 0, bits: 0 }; 256];
    let mut bits = 1;
    while bits <= 8 {
        let mut nth = 0;
        while nth < long.count[bits] {
            let symbol = long.symbols[long.start[bits] + nth as usize] as u8;
            let from = ((long.first[bits] + nth) as usize) << (8 - bits);
            let mut at = from;
            while at < from + (1 << (8 - bits)) {
                table[at] = Short { symbol, bits: bits as u8 };
                at += 1;
            }
            nth += 1;
        }
        bits += 1;
    }
    table
}

/// Append the decoded string; at most 8/5 of the input's length.
pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    out.reserve(input.len() * 8 / 5);
    let mut input = input.iter();
    // The low `held` bits of `bits` are still to be decoded; what is above them is spent.
    let (mut bits, mut held) = (0u64, 0u32);
    loop {
        while held <= 56
            && let Some(&byte) = input.next()
        {
            bits = bits << 8 | u64::from(byte);
            held += 8;
        }
        let window = next_32(bits, held);
        if held < 8 && window == u32::MAX {
            return Ok(());
        }
        let short = SHORT[(window >> 24) as usize];
        let (symbol, length) = match short.bits {
            0 => decode_long(window)?,
            length => (short.symbol, u32::from(length)),
        };
        if length > held {
            return Err(WireError::HpackError);
        }
        out.push(symbol);
        held -= length;
    }
}

/// The next 32 bits; past the end come ones, as the padding must be.
fn next_32(bits: u64, held: u32) -> u32 {
    match held {
        32.. => (bits >> (held - 32)) as u32,
        0 => u32::MAX,
        _ => (bits << (32 - held)) as u32 | (u32::MAX >> held),
    }
}

#[cold]
fn decode_long(window: u32) -> Result<(u8, u32), WireError> {
    for bits in 9..=LONGEST {
        let nth = (window >> (32 - bits)).wrapping_sub(LONG.first[bits]);
        if nth < LONG.count[bits] {
            let symbol = LONG.symbols[LONG.start[bits] + nth as usize];
            // The end-of-string symbol must not occur.
            let symbol = u8::try_from(symbol).map_err(|_| WireError::HpackError)?;
            return Ok((symbol, bits as u32));
        }
    }
    Err(WireError::HpackError)
}

#[cfg(test)]
pub(super) fn encode(input: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0);
    for &byte in input {
        let length = LENGTHS[byte as usize] as usize;
        let symbols = &LONG.symbols[LONG.start[length]..];
        let nth = symbols.iter().position(|&s| s == u16::from(byte)).unwrap();
        bits = bits << length | (u64::from(LONG.first[length]) + nth as u64);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        out.push((bits << (8 - held)) as u8 | 0xff >> held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::new();
        decode(input, &mut out).map(|()| out)
    }

    /// Strings of RFC 7541, appendix C.4 and C.6.
    #[test]
    fn the_examples_of_the_standard_hold() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        };
        for (text, code) in [
            ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
            ("no-cache", "a8eb10649cbf"),
            ("custom-value", "25a849e95bb8e8b4bf"),
            ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
            ("", ""),
        ] {
            assert_eq!(decoded(&hex(code)).as_deref(), Ok(text.as_bytes()));
            let mut out = Vec::new();
            encode(text.as_bytes(), &mut out);
            assert_eq!(out, hex(code));
        }
    }

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let mut code = Vec::new();
        encode(&all, &mut code);
        assert_eq!(decoded(&code), Ok(all));
    }

    #[test]
    fn wrong_ends_are_refused() {
        for code in [&[0xff][..], &[0xff; 4], &[0xff; 5], &[0x00], &[0x18], &[0xf1, 0xe3, 0xfe]] {
            assert_eq!(decoded(code), Err(WireError::HpackError), "{code:x?}");
        }
        assert_eq!(decoded(&[0x1f]), Ok(b"a".to_vec()));
    }
}
