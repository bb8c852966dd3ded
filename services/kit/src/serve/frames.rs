//! The frames of HTTP/2 (RFC 9113) as far as refusing before parsing needs them.

use axum::http::{HeaderMap, StatusCode};

/// Bytes of a frame's header.
pub(super) const HEADER_BYTES: usize = 9;
/// What a client sends before its first frame.
pub(super) const PREFACE_BYTES: usize = 24;
/// The stream of frames that belong to the connection.
pub(super) const CONNECTION: u32 = 0;

/// Types of frames.
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
    pub(in super::super) const CONTINUATION: u8 = 9;
}

pub(super) mod flag {
    pub(in super::super) const ACK: u8 = 0x1;
    pub(in super::super) const END_STREAM: u8 = 0x1;
    pub(in super::super) const END_HEADERS: u8 = 0x4;
    pub(in super::super) const PADDED: u8 = 0x8;
    pub(in super::super) const PRIORITY: u8 = 0x20;
}

const SETTINGS_HEADER_TABLE_SIZE: u16 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Bytes that follow it.
    pub(super) length: usize,
    pub(super) kind: u8,
    flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) fn read(bytes: [u8; HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & (u32::MAX >> 1),
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether it ends what its sender sends on its stream, and nothing of its own follows.
    pub(super) fn ends_stream(&self) -> bool {
        match self.kind {
            kind::RST_STREAM => true,
            kind::DATA => self.has(flag::END_STREAM),
            kind::HEADERS => self.has(flag::END_STREAM) && self.has(flag::END_HEADERS),
            _ => false,
        }
    }

    /// Whether a block of headers begins or goes on with it that continues in the next frame.
    pub(super) fn is_continued(&self) -> bool {
        matches!(self.kind, kind::HEADERS | kind::CONTINUATION) && !self.has(flag::END_HEADERS)
    }
}

pub(super) fn write_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Sets how many bytes of headers the client may refer back to.
pub(super) fn write_header_table_size(out: &mut Vec<u8>, bytes: u32) {
    let mut payload = [0; 6];
    payload[..2].copy_from_slice(&SETTINGS_HEADER_TABLE_SIZE.to_be_bytes());
    payload[2..].copy_from_slice(&bytes.to_be_bytes());
    write_frame(out, kind::SETTINGS, 0, CONNECTION, &payload);
}

/// Lets the client send this many bytes more on the connection.
pub(super) fn write_window_update(out: &mut Vec<u8>, bytes: u32) {
    write_frame(out, kind::WINDOW_UPDATE, 0, CONNECTION, &bytes.to_be_bytes());
}

/// A complete response without a body.
pub(super) fn write_response(out: &mut Vec<u8>, stream: u32, block: &[u8]) {
    write_frame(out, kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, block);
}

/// The block of headers of a response (HPACK, RFC 7541). It refers to nothing that was sent before, and nothing sent
/// afterwards can refer to it: it fits between any two responses.
pub(super) fn response_block(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let mut block = Vec::new();
    let code = status.as_str();
    write_literal(&mut block, b":status", code.as_bytes());
    for (name, value) in headers {
        write_literal(&mut block, name.as_str().as_bytes(), value.as_bytes());
    }
    block
}

/// A literal header without indexing, with a name of its own.
fn write_literal(block: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    block.push(0);
    for text in [name, value] {
        write_length(block, text.len());
        block.extend_from_slice(text);
    }
}

/// Whether a block of headers leaves the table as it is that later blocks refer to: it only refers to earlier headers, or
/// has some that are not to be remembered. False for a block that is malformed.
pub(super) fn keeps_table(block: &[u8]) -> bool {
    let mut rest = block;
    while let Some(first) = rest.first().copied() {
        let is_skipped = match first {
            0x80.. => skip_number(&mut rest, 0x7f).is_some(),
            0x20.. => false,
            _ => skip_literal(&mut rest).is_some(),
        };
        if !is_skipped {
            return false;
        }
    }
    true
}

fn skip_literal(rest: &mut &[u8]) -> Option<()> {
    let name = skip_number(rest, 0xf)?;
    for _ in 0..if name == 0 { 2 } else { 1 } {
        let length = skip_number(rest, 0x7f)?;
        *rest = rest.get(length..)?;
    }
    Some(())
}

/// Takes a number whose first byte has this mask.
fn skip_number(rest: &mut &[u8], mask: u8) -> Option<usize> {
    let (first, mut after) = rest.split_first()?;
    let mut number = usize::from(first & mask);
    if number == usize::from(mask) {
        for shift in [0, 7, 14] {
            let (byte, next) = after.split_first()?;
            after = next;
            number += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                *rest = after;
                return Some(number);
            }
        }
        return None;
    }
    *rest = after;
    Some(number)
}

/// A number with a prefix of seven bits.
fn write_length(block: &mut Vec<u8>, length: usize) {
    const MAX_IN_PREFIX: usize = 127;
    if length < MAX_IN_PREFIX {
        block.push(length as u8);
        return;
    }
    block.push(MAX_IN_PREFIX as u8);
    let mut rest = length - MAX_IN_PREFIX;
    while rest >= 128 {
        block.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    block.push(rest as u8);
}
