//! Frames as bytes (RFC 9113, sections 4 and 6).

use crate::error::WireError;

/// What a client sends before anything else.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const HEADER_BYTES: usize = 9;
/// The longest payload we take, which is the least that may be announced: longer ones would only make the
/// peer's bytes come in larger lumps.
pub(super) const MAX_RECEIVED_PAYLOAD: usize = 16 << 10;
/// The largest window and stream identifier.
pub(super) const MAX_31_BITS: u32 = (1 << 31) - 1;

pub(super) mod kind {
    pub(in crate::h2) const DATA: u8 = 0;
    pub(in crate::h2) const HEADERS: u8 = 1;
    pub(in crate::h2) const PRIORITY: u8 = 2;
    pub(in crate::h2) const RST_STREAM: u8 = 3;
    pub(in crate::h2) const SETTINGS: u8 = 4;
    pub(in crate::h2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::h2) const PING: u8 = 6;
    pub(in crate::h2) const GOAWAY: u8 = 7;
    pub(in crate::h2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::h2) const CONTINUATION: u8 = 9;
}

pub(super) mod flag {
    pub(in crate::h2) const END_STREAM: u8 = 0x1;
    pub(in crate::h2) const ACK: u8 = 0x1;
    pub(in crate::h2) const END_HEADERS: u8 = 0x4;
    pub(in crate::h2) const PADDED: u8 = 0x8;
    pub(in crate::h2) const PRIORITY: u8 = 0x20;
}

/// Error codes (RFC 9113, section 7).
pub(super) mod code {
    pub(in crate::h2) const PROTOCOL_ERROR: u32 = 1;
    pub(in crate::h2) const FLOW_CONTROL_ERROR: u32 = 3;
    pub(in crate::h2) const FRAME_SIZE_ERROR: u32 = 6;
    pub(in crate::h2) const REFUSED_STREAM: u32 = 7;
    pub(in crate::h2) const CANCEL: u32 = 8;
    pub(in crate::h2) const COMPRESSION_ERROR: u32 = 9;
    pub(in crate::h2) const ENHANCE_YOUR_CALM: u32 = 11;
}

/// The first nine bytes of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    /// `None` while there are fewer than nine bytes.
    #[inline]
    pub(super) fn read(input: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, s0, s1, s2, s3] = input.first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes([s0, s1, s2, s3]) & MAX_31_BITS;
        Some(FrameHeader { length, kind, flags, stream })
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether it is a part of one request's exchange.
    pub(super) fn is_of_request(&self) -> bool {
        matches!(self.kind, kind::DATA | kind::HEADERS | kind::CONTINUATION | kind::RST_STREAM)
    }

    /// Write the header; `length` is below 2^24.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s0, s1, s2, s3]
    }
}

/// Append a frame whose payload is one 32-bit number.
pub(super) fn write_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    FrameHeader { length: 4, kind, flags: 0, stream }.write(out);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Append a GOAWAY. No stream of the peer's was ever processed.
pub(super) fn write_goaway(out: &mut Vec<u8>, code: u32) {
    FrameHeader { length: 8, kind: kind::GOAWAY, flags: 0, stream: 0 }.write(out);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&code.to_be_bytes());
}

/// The payload as one 32-bit number.
pub(super) fn read_number(payload: &[u8]) -> Result<u32, WireError> {
    payload.try_into().map(u32::from_be_bytes).map_err(|_| WireError::FrameSize)
}

/// The payload without its padding.
#[inline]
pub(super) fn without_padding<'a>(header: &FrameHeader, payload: &'a [u8]) -> Result<&'a [u8], WireError> {
    if !header.has(flag::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(WireError::FrameSize)?;
    let kept = rest.len().checked_sub(usize::from(padding));
    kept.map(|kept| &rest[..kept]).ok_or(WireError::Malformed("more padding than payload"))
}

/// The error code that is sent to the peer.
pub(super) fn code_of(error: &WireError) -> u32 {
    match error {
        WireError::FlowControl => code::FLOW_CONTROL_ERROR,
        WireError::FrameSize => code::FRAME_SIZE_ERROR,
        WireError::HpackError => code::COMPRESSION_ERROR,
        WireError::Flood(_) | WireError::HeadTooLarge => code::ENHANCE_YOUR_CALM,
        _ => code::PROTOCOL_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_and_the_reserved_bit_is_ignored() {
        let bytes = [0x01, 0x02, 0x03, 9, 0x25, 0x80, 0, 0, 7];
        let header = FrameHeader::read(&bytes).unwrap();
        assert_eq!((header.length, header.kind, header.flags, header.stream), (0x010203, 9, 0x25, 7));
        assert_eq!(header.to_bytes()[..5], bytes[..5]);
        assert!(FrameHeader::read(&bytes[..8]).is_none());
    }

    #[test]
    fn padding_is_taken_off() {
        let padded = FrameHeader { length: 0, kind: kind::DATA, flags: flag::PADDED, stream: 1 };
        assert_eq!(without_padding(&padded, &[2, 9, 0, 0]), Ok(&[9][..]));
        assert_eq!(without_padding(&padded, &[0]), Ok(&[][..]));
        assert_eq!(without_padding(&padded, &[]), Err(WireError::FrameSize));
        assert!(without_padding(&padded, &[2, 9]).is_err());
    }
}
