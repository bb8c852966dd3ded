//! Content codings: bodies and messages that were compressed on their way, read and written. Whatever is read is
//! bounded: a few bytes can claim to be gigabytes.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

/// The most codings that one body is expected to be in, one inside another.
const MAX_NESTED: usize = 3;

/// How much memory is taken first.
const FIRST_BYTES: usize = 8 << 10;
/// More than this is decoded twice.
const LONG_BYTES: usize = 8 << 20;

/// The largest window that a sender of `zstd` may count on (RFC 9659).
const MAX_ZSTD_WINDOW_BYTES: u64 = 8 << 20;

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CodingError {
    /// In a way that is not known here.
    #[error("it is coded as `{0}`, which is not known here")]
    Unknown(String),
    /// One inside another, too often.
    #[error("it is coded in more than {MAX_NESTED} ways")]
    Nested,
    /// Longer than the caller's limit.
    #[error("it is longer than {0} bytes when it is decoded")]
    TooLong(usize),
    /// No memory is left for it.
    #[error("there is no memory left to decode it in")]
    NoMemory,
    /// Not what its header says.
    #[error("it is not the {coding} that its header says: {source}")]
    Broken {
        /// What the header says.
        coding: &'static str,
        /// Why it is not.
        source: io::Error,
    },
}

/// Undo the codings of a body, as [`decode`] does. `may_grow` is asked before so many more bytes of memory are taken; what is
/// held for several codings at once counts until the end.
///
/// # Errors
/// The same, and [`CodingError::NoMemory`] when it says no.
pub fn decode_within(
    codings: &[u8],
    body: &[u8],
    limit_bytes: usize,
    may_grow: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<u8>, CodingError> {
    let codings = String::from_utf8_lossy(codings);
    let names: Vec<&str> = codings.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > MAX_NESTED {
        return Err(CodingError::Nested);
    }
    let mut bounds = Bounds { limit: limit_bytes, may_grow };
    let mut decoded = None;
    for name in names.into_iter().rev() {
        let input = decoded.as_deref().unwrap_or(body);
        if let Some(output) = decode_one(name, input, &mut bounds)? {
            decoded = Some(output);
        }
    }
    match decoded {
        Some(decoded) => Ok(decoded),
        None => bounds.grow(body.len()).map(|()| body.to_vec()),
    }
}

/// How much memory a body may take while it is decoded.
struct Bounds<'a> {
    /// Bytes of the decoded body.
    limit: usize,
    may_grow: &'a mut dyn FnMut(usize) -> bool,
}

impl Bounds<'_> {
    fn grow(&mut self, by: usize) -> Result<(), CodingError> {
        if (self.may_grow)(by) { Ok(()) } else { Err(CodingError::NoMemory) }
    }
}

/// Undo the codings that a `content-encoding` (or `grpc-encoding`) header lists: `gzip`, `deflate`, `br`, `zstd`.
///
/// # Errors
/// [`CodingError`] when one is not known, the body is not in it, or comes to more than `limit_bytes`.
pub fn decode(codings: &[u8], body: &[u8], limit_bytes: usize) -> Result<Vec<u8>, CodingError> {
    decode_within(codings, body, limit_bytes, &mut |_| true)
}

/// None where the coding changes nothing.
fn decode_one(name: &str, input: &[u8], bounds: &mut Bounds<'_>) -> Result<Option<Vec<u8>>, CodingError> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let decoded = if is("identity") {
        return Ok(None);
    } else if is("gzip") || is("x-gzip") {
        read("gzip", bounds, || Ok(MultiGzDecoder::new(input)))
    } else if is("deflate") {
        // The name means zlib's format, but some senders leave its header out.
        match read("deflate", bounds, || Ok(ZlibDecoder::new(input))) {
            Err(CodingError::Broken { .. }) => read("deflate", bounds, || Ok(DeflateDecoder::new(input))),
            result => result,
        }
    } else if is("br") {
        read("br", bounds, || Ok(brotli_decompressor::Decompressor::new(input, 4096)))
    } else if is("zstd") {
        let window = zstd_window_bytes(input).unwrap_or_default();
        if window > MAX_ZSTD_WINDOW_BYTES.max(bounds.limit as u64) {
            return Err(CodingError::TooLong(bounds.limit));
        }
        // A smaller one is part of what every decoder takes.
        if window > MAX_ZSTD_WINDOW_BYTES {
            bounds.grow(window as usize)?;
        }
        read("zstd", bounds, || {
            ruzstd::decoding::StreamingDecoder::new(input)
                .map_err(|error| io::Error::other(error.to_string()))
        })
    } else {
        return Err(CodingError::Unknown(name.chars().take(40).collect()));
    };
    decoded.map(Some)
}

/// How far back a zstd frame may refer, by its header (RFC 8878, section 3.1.1.1): a decoder holds as much before it
/// gives anything out. None when there is no header.
fn zstd_window_bytes(frame: &[u8]) -> Option<u64> {
    const MAGIC_BYTES: usize = 4;
    let (descriptor, rest) = frame.get(MAGIC_BYTES..)?.split_first()?;
    if descriptor & 0x20 == 0 {
        let window = rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // One segment: the window is the content, whose length follows the number of the dictionary.
    let after_dictionary = rest.get([0, 1, 2, 4][usize::from(descriptor & 3)]..)?;
    let length = |bytes: usize| {
        let digits = after_dictionary.get(..bytes)?;
        Some(digits.iter().rev().fold(0, |sum, digit| sum << 8 | u64::from(*digit)))
    };
    match descriptor >> 6 {
        0 => length(1),
        1 => length(2).map(|short| short + 256),
        2 => length(4),
        _ => length(8),
    }
}

/// Read what `open` decodes. What comes to more than [`LONG_BYTES`] is decoded twice: after its length is known it is read into as
/// much memory as it needs, where an allocator would keep the blocks that it outgrew.
fn read<R: Read>(
    coding: &'static str,
    bounds: &mut Bounds<'_>,
    open: impl Fn() -> io::Result<R>,
) -> Result<Vec<u8>, CodingError> {
    let broken = |source| CodingError::Broken { coding, source };
    let most = bounds.limit.saturating_add(1);
    let mut decoder = open().map_err(broken)?;
    let mut output: Vec<u8> = Vec::new();
    while output.len() < most.min(LONG_BYTES) {
        if output.len() == output.capacity() {
            let further = output.len().max(FIRST_BYTES).min(most - output.len());
            bounds.grow(further)?;
            output.reserve_exact(further);
        }
        // No more than there is space for, so that nothing is taken that was not asked for.
        let space = output.capacity() - output.len();
        if decoder.by_ref().take(space as u64).read_to_end(&mut output).map_err(broken)? < space {
            return Ok(output);
        }
    }
    let rest = (most - output.len()) as u64;
    let length = output.len() + io::copy(&mut decoder.take(rest), &mut io::sink()).map_err(broken)? as usize;
    if length > bounds.limit {
        return Err(CodingError::TooLong(bounds.limit));
    }
    bounds.grow(length - output.len())?;
    drop(output);
    let mut output = Vec::with_capacity(length);
    open().map_err(broken)?.take(length as u64).read_to_end(&mut output).map_err(broken)?;
    Ok(output)
}

/// `input` in one of the codings that are written here: `gzip`, `deflate`, `zstd`; none of another one.
pub fn encode(coding: &str, input: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match coding {
        "gzip" => gzip(input, &mut out),
        "deflate" => {
            let mut encoder = ZlibEncoder::new(&mut out, Compression::default());
            let written = encoder.write_all(input).and_then(|()| encoder.finish().map(drop));
            written.expect("writing to a vector does not fail");
        }
        "zstd" => {
            out = ruzstd::encoding::compress_to_vec(input, ruzstd::encoding::CompressionLevel::Fastest);
        }
        _ => return None,
    }
    Some(out)
}

/// Append `input`, compressed by gzip.
pub fn gzip(input: &[u8], out: &mut Vec<u8>) {
    let mut encoder = GzEncoder::new(out, Compression::default());
    let written = encoder.write_all(input).and_then(|()| encoder.finish().map(drop));
    written.expect("writing to a vector does not fail");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn zipped(input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        gzip(input, &mut out);
        out
    }

    #[test]
    fn what_others_have_coded_is_read() {
        // Made by zlib, by raw deflate, by the reference tools of brotli and zstd.
        let cases: [(&str, &[u8]); 4] = [
            ("deflate", b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15"),
            ("Deflate", b"\xcb\x48\xcd\xc9\xc9\x07\x00"),
            ("br", b"\x0b\x02\x80hello\x03"),
            ("zstd", b"\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00hello\xa3\x6d\x9f\x88"),
        ];
        for (coding, body) in cases {
            assert_eq!(decode(coding.as_bytes(), body, LIMIT).unwrap(), b"hello", "{coding}");
        }
    }

    #[test]
    fn codings_are_undone_from_the_last_to_the_first() {
        let twice = zipped(&zipped(b"hello"));
        assert_eq!(decode(b"gzip, identity, x-gzip", &twice, LIMIT).unwrap(), b"hello");
        assert_eq!(decode(b"", b"hello", LIMIT).unwrap(), b"hello");
        assert!(matches!(decode(b"gzip, gzip, gzip, gzip", &twice, LIMIT), Err(CodingError::Nested)));
        assert!(matches!(decode(b"compress", b"", LIMIT), Err(CodingError::Unknown(_))));
    }

    #[test]
    fn memory_is_asked_for_before_it_is_taken() {
        let plain: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let twice = zipped(&zipped(&plain));
        for most in [0, 8 << 10, 300_000, usize::MAX] {
            let mut taken = 0;
            let mut may_grow = |by: usize| {
                let is_allowed = taken + by <= most;
                taken += if is_allowed { by } else { 0 };
                is_allowed
            };
            match decode_within(b"gzip, gzip", &twice, LIMIT, &mut may_grow) {
                Ok(decoded) => assert!(most == usize::MAX && decoded == plain && taken >= decoded.capacity()),
                Err(error) => {
                    assert!(most < plain.len() && matches!(error, CodingError::NoMemory), "{error}")
                }
            }
        }
        let none = decode_within(b"identity", b"x", 1, &mut |_| false);
        assert!(matches!(none, Err(CodingError::NoMemory)));
    }

    #[test]
    fn a_long_body_takes_as_much_memory_as_it_is_long() {
        let plain: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
        for coding in ["gzip", "deflate", "zstd"] {
            let coded = encode(coding, &plain).unwrap();
            let mut taken = 0;
            let mut may_grow = |by: usize| {
                taken += by;
                true
            };
            let decoded = decode_within(coding.as_bytes(), &coded, 32 << 20, &mut may_grow).unwrap();
            assert!(decoded == plain && decoded.capacity() == plain.len(), "{coding}");
            assert!(taken <= plain.len() + FIRST_BYTES, "{coding}: {taken}");
            let mut never_more = |by: usize| by < 16 << 20;
            let long = decode_within(coding.as_bytes(), &coded, plain.len() - 1, &mut never_more);
            assert!(matches!(long, Err(CodingError::TooLong(_))), "{coding}");
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = zipped(&vec![0; 50 << 20]);
        assert!(bomb.len() < 100_000);
        assert!(matches!(decode(b"gzip", &bomb, LIMIT), Err(CodingError::TooLong(LIMIT))));
    }

    /// A frame with this window, of `blocks` blocks that each say: 128 KiB of the same byte.
    fn zstd_bomb(window: u8, blocks: usize) -> Vec<u8> {
        let block = ((128_u32 << 10) << 3 | 1 << 1).to_le_bytes();
        let blocks = [&block[..3], b"x"].concat().repeat(blocks);
        [b"\x28\xb5\x2f\xfd\x00", &[window][..], &blocks].concat()
    }

    #[test]
    fn a_bomb_of_zstd_is_not_unpacked() {
        let window = |bytes: &[u8]| zstd_window_bytes(bytes);
        assert_eq!(window(&zstd_bomb(0x00, 0)), Some(1 << 10));
        assert_eq!(window(&zstd_bomb(0x6f, 0)), Some((8 << 20) / 8 * 15));
        assert_eq!(window(b"\x28\xb5\x2f\xfd\x60\x01\x02"), Some(0x201 + 256));
        assert_eq!(window(b"\x28\xb5\x2f\xfd\x23\0\0\0\0\x07"), Some(7));
        assert_eq!(window(b"\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x80"), Some(1 << 63));
        assert_eq!((window(b"\x28\xb5\x2f\xfd"), window(b"\x28\xb5\x2f\xfd\xe0\0")), (None, None));
        for bomb in [zstd_bomb(0x68, 2_000), zstd_bomb(0x80, 2_000), zstd_bomb(0xff, 2_000)] {
            assert!(bomb.len() < 10_000);
            assert!(matches!(decode(b"zstd", &bomb, LIMIT), Err(CodingError::TooLong(LIMIT))));
        }
    }

    proptest! {
        #[test]
        fn what_is_compressed_comes_back(body in prop::collection::vec(any::<u8>(), 0..5_000)) {
            for coding in ["gzip", "deflate", "zstd"] {
                let coded = encode(coding, &body).unwrap();
                prop_assert_eq!(&decode(coding.as_bytes(), &coded, LIMIT).unwrap(), &body);
            }
            prop_assert_eq!(encode("br", &body), None);
        }

        #[test]
        fn nothing_that_a_peer_sends_makes_it_panic(
            coding in prop_oneof![Just("gzip"), Just("deflate"), Just("br"), Just("zstd")],
            body in prop::collection::vec(any::<u8>(), 0..300),
            magic in prop_oneof![Just(&b""[..]), Just(&b"\x28\xb5\x2f\xfd"[..]), Just(&b"\x1f\x8b\x08\0"[..])],
        ) {
            let body = [magic, &body[..]].concat();
            if let Ok(decoded) = decode(coding.as_bytes(), &body, 10_000) {
                prop_assert!(decoded.len() <= 10_000);
            }
        }
    }
}
