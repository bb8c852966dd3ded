//! Content codings: bodies and messages that were compressed on their way, read and written. Whatever is read is
//! bounded: a few bytes can claim to be gigabytes.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

/// The most codings that one body is expected to be in, one inside another.
const MAX_NESTED: usize = 3;

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
    /// Not what its header says.
    #[error("it is not the {coding} that its header says: {source}")]
    Broken {
        /// What the header says.
        coding: &'static str,
        /// Why it is not.
        source: io::Error,
    },
}

/// Undo the codings that a `content-encoding` (or `grpc-encoding`) header lists: `gzip`, `deflate`, `br`, `zstd`.
///
/// # Errors
/// [`CodingError`] when one is not known, the body is not in it, or comes to more than `limit_bytes`.
pub fn decode(codings: &[u8], body: &[u8], limit_bytes: usize) -> Result<Vec<u8>, CodingError> {
    let codings = String::from_utf8_lossy(codings);
    let names: Vec<&str> = codings.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > MAX_NESTED {
        return Err(CodingError::Nested);
    }
    let mut decoded = None;
    for name in names.into_iter().rev() {
        let input = decoded.as_deref().unwrap_or(body);
        if let Some(output) = decode_one(name, input, limit_bytes)? {
            decoded = Some(output);
        }
    }
    Ok(decoded.unwrap_or_else(|| body.to_vec()))
}

/// None where the coding changes nothing.
fn decode_one(name: &str, input: &[u8], limit: usize) -> Result<Option<Vec<u8>>, CodingError> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let decoded = if is("identity") {
        return Ok(None);
    } else if is("gzip") || is("x-gzip") {
        read("gzip", MultiGzDecoder::new(input), limit)
    } else if is("deflate") {
        // The name means zlib's format, but some senders leave its header out.
        match read("deflate", ZlibDecoder::new(input), limit) {
            Err(CodingError::Broken { .. }) => read("deflate", DeflateDecoder::new(input), limit),
            result => result,
        }
    } else if is("br") {
        read("br", brotli_decompressor::Decompressor::new(input, 4096), limit)
    } else if is("zstd") {
        let broken = |error: ruzstd::decoding::errors::FrameDecoderError| CodingError::Broken {
            coding: "zstd",
            source: io::Error::other(error.to_string()),
        };
        if zstd_window_bytes(input).is_some_and(|window| window > MAX_ZSTD_WINDOW_BYTES.max(limit as u64)) {
            return Err(CodingError::TooLong(limit));
        }
        let mut input = input;
        let decoder = ruzstd::decoding::StreamingDecoder::new(&mut input).map_err(broken)?;
        read("zstd", decoder, limit)
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

fn read(coding: &'static str, decoder: impl Read, limit: usize) -> Result<Vec<u8>, CodingError> {
    let mut output = Vec::new();
    let read = decoder.take(limit as u64 + 1).read_to_end(&mut output);
    read.map_err(|source| CodingError::Broken { coding, source })?;
    if output.len() > limit { Err(CodingError::TooLong(limit)) } else { Ok(output) }
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
