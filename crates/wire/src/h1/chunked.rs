//! The chunked transfer coding (RFC 9112, section 7.1), decoded where it lies. Extensions and trailers are
//! skipped.

use crate::error::WireError;

/// The longest run of extension bytes on one size line.
const MAX_EXTENSION_BYTES: u32 = 4 << 10;
/// The longest trailer section.
const MAX_TRAILER_BYTES: u32 = 64 << 10;
/// 64 bits.
const MAX_SIZE_DIGITS: u32 = 16;

#[derive(Debug)]
pub(super) struct Decoder {
    at: At,
    /// Data bytes left in the chunk, or its size as read so far.
    left: u64,
    /// Digits, extension bytes or trailer bytes seen, against their limit.
    seen: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerLine,
    EndLf,
    Finished,
}

/// What one step found: how much input it used and the body bytes in it.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) used: usize,
    pub(super) data: &'a [u8],
}

impl Decoder {
    pub(super) fn new() -> Self {
        Decoder { at: At::Size, left: 0, seen: 0 }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.at == At::Finished
    }

    /// Decode up to the end of the next run of data, of the body, or of the input.
    pub(super) fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, WireError> {
        let mut used = 0;
        while used < input.len() && self.at != At::Finished {
            if self.at == At::Data {
                let rest = &input[used..];
                let taken = usize::try_from(self.left).map_or(rest.len(), |left| left.min(rest.len()));
                self.left -= taken as u64;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                return Ok(Step { used: used + taken, data: &rest[..taken] });
            }
            self.at = self.next(input[used])?;
            used += 1;
        }
        Ok(Step { used, data: &[] })
    }

    fn next(&mut self, byte: u8) -> Result<At, WireError> {
        match (self.at, byte) {
            (At::Size, _) => self.size_byte(byte),
            (At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Extension, b'\n') => Err(WireError::Malformed("a chunk size without CRLF")),
            (At::Extension, _) => self.count(At::Extension, MAX_EXTENSION_BYTES),
            (At::SizeLf, b'\n') => {
                self.seen = 0;
                Ok(if self.left == 0 { At::TrailerStart } else { At::Data })
            }
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => {
                self.seen = 0;
                Ok(At::Size)
            }
            (At::TrailerStart, b'\r') => Ok(At::EndLf),
            (At::TrailerLine, b'\n') => Ok(At::TrailerStart),
            (At::TrailerStart, b'\n') => Err(WireError::Malformed("chunked trailers without CRLF")),
            (At::TrailerStart | At::TrailerLine, _) => self.count(At::TrailerLine, MAX_TRAILER_BYTES),
            (At::EndLf, b'\n') => Ok(At::Finished),
            _ => Err(WireError::Malformed("a chunk without its line end")),
        }
    }

    fn size_byte(&mut self, byte: u8) -> Result<At, WireError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ if self.seen == 0 => return Err(WireError::Malformed("a chunk without a size")),
            b'\r' => return Ok(At::SizeLf),
            b';' | b' ' | b'\t' => {
                self.seen = 0;
                return Ok(At::Extension);
            }
            _ => return Err(WireError::Malformed("an invalid chunk size")),
        };
        self.left = self.left << 4 | u64::from(digit);
        self.count(At::Size, MAX_SIZE_DIGITS)
    }

    fn count(&mut self, at: At, limit: u32) -> Result<At, WireError> {
        self.seen += 1;
        if self.seen > limit {
            return Err(WireError::Malformed("chunk framing beyond all bounds"));
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoded body and what is left of the input, in steps over pieces of `size` bytes.
    fn decode(input: &[u8], size: usize) -> Result<(Vec<u8>, bool), WireError> {
        let mut decoder = Decoder::new();
        let mut body = Vec::new();
        for mut piece in input.chunks(size) {
            while !piece.is_empty() && !decoder.is_finished() {
                let step = decoder.step(piece)?;
                body.extend_from_slice(step.data);
                piece = &piece[step.used..];
            }
        }
        Ok((body, decoder.is_finished()))
    }

    fn check(input: &[u8], expect: Result<(&[u8], bool), WireError>) {
        for size in [1, 2, 3, 1000] {
            let seen = decode(input, size);
            let seen = seen.as_ref().map(|(body, finished)| (&body[..], *finished)).map_err(|e| *e);
            assert_eq!(seen, expect, "{:?} in pieces of {size}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn bodies_decode_whatever_the_pieces() {
        check(b"3\r\nabc\r\n0\r\n\r\n", Ok((b"abc", true)));
        check(
            b"3;x=\"y\"\r\nabc\r\nA \r\n0123456789\r\n00\r\nt: 1\r\nu: 2\r\n\r\n",
            Ok((b"abc0123456789", true)),
        );
        check(b"3\r\nab", Ok((b"ab", false)));
        check(b"3\r\nabc\r\n0\r\n", Ok((b"abc", false)));
    }

    #[test]
    fn broken_framing_is_named() {
        check(b"\r\n", Err(WireError::Malformed("a chunk without a size")));
        check(b"3\nabc", Err(WireError::Malformed("an invalid chunk size")));
        check(b"3;\nabc", Err(WireError::Malformed("a chunk size without CRLF")));
        check(b"-1\r\n", Err(WireError::Malformed("a chunk without a size")));
        check(b"1\r\nabc", Err(WireError::Malformed("a chunk without its line end")));
        check(b"10000000000000000\r\n", Err(WireError::Malformed("chunk framing beyond all bounds")));
        let endless = [&b"1;"[..], &vec![b'x'; 5000]].concat();
        check(&endless, Err(WireError::Malformed("chunk framing beyond all bounds")));
        let trailers = [&b"0\r\n"[..], &b"a: b\r\n".repeat(20_000)].concat();
        check(&trailers, Err(WireError::Malformed("chunk framing beyond all bounds")));
    }
}
