//! Frames (RFC 6455, section 5).

use super::{MAX_CONTROL_BYTES, Message, NO_STATUS, WebSocketError};

const FINAL: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV2: u8 = 0x20;
const RSV3: u8 = 0x10;
const MASKED: u8 = 0x80;
/// The longest head that a server sends: without a mask.
const MAX_HEAD_BYTES: usize = 10;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn of(number: u8) -> Option<Opcode> {
        Some(match number {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn number(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Text => 1,
            Opcode::Binary => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

/// A frame whose head was received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) opcode: Opcode,
    pub(super) is_final: bool,
    pub(super) is_compressed: bool,
    /// How many bytes of its content are still to be received.
    pub(super) left: u64,
}

/// The part of a frame's head that was received.
#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: [u8; MAX_HEAD_BYTES],
    count: usize,
}

impl Head {
    /// Read as much of the input as belongs to the head: how much that is, and the frame once the head is complete.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        may_be_compressed: bool,
    ) -> Result<(usize, Option<Frame>), WebSocketError> {
        let mut used = 0;
        loop {
            // What is wrong with the first two bytes is an error whatever follows.
            if self.count == 2 {
                check(self.bytes[0], self.bytes[1], may_be_compressed)?;
            }
            if self.count == self.length() {
                let frame = self.frame()?;
                self.count = 0;
                return Ok((used, Some(frame)));
            }
            let Some(byte) = input.get(used) else { return Ok((used, None)) };
            self.bytes[self.count] = *byte;
            self.count += 1;
            used += 1;
        }
    }

    /// How long the head is, as far as that is known.
    fn length(&self) -> usize {
        match self.bytes[1] & !MASKED {
            _ if self.count < 2 => 2,
            127 => 10,
            126 => 4,
            _ => 2,
        }
    }

    fn frame(&self) -> Result<Frame, WebSocketError> {
        let [first, second, rest @ ..] = self.bytes;
        let opcode = first & 0x0f;
        let opcode = Opcode::of(opcode).ok_or(WebSocketError::BadOpcode(opcode))?;
        let left = match second & !MASKED {
            127 => u64::from_be_bytes(rest),
            126 => u64::from(u16::from_be_bytes([rest[0], rest[1]])),
            short => u64::from(short),
        };
        Ok(Frame { opcode, is_final: first & FINAL != 0, is_compressed: first & RSV1 != 0, left })
    }
}

/// Check the first two bytes of a head that a server sends.
fn check(first: u8, second: u8, may_be_compressed: bool) -> Result<(), WebSocketError> {
    let ensure = |holds: bool, why| if holds { Ok(()) } else { Err(WebSocketError::Broken(why)) };
    let opcode = Opcode::of(first & 0x0f).ok_or(WebSocketError::BadOpcode(first & 0x0f))?;
    // Only the first frame of a message says that it is compressed (RFC 7692, section 6).
    let may_be_compressed = may_be_compressed && matches!(opcode, Opcode::Text | Opcode::Binary);
    ensure(first & RSV1 == 0 || may_be_compressed, "RSV1 set")?;
    ensure(first & RSV2 == 0, "RSV2 set")?;
    ensure(first & RSV3 == 0, "RSV3 set")?;
    if opcode.is_control() {
        ensure(usize::from(second & !MASKED) <= MAX_CONTROL_BYTES, "len > 125 for control")?;
        ensure(first & FINAL != 0, "FIN not set on control")?;
    }
    ensure(second & MASKED == 0, "bad MASK")
}

/// What a control frame with this content says.
pub(super) fn control(opcode: Opcode, content: &[u8]) -> Result<Message<'_>, WebSocketError> {
    match (opcode, content) {
        (Opcode::Ping, _) => Ok(Message::Ping(content)),
        (Opcode::Close, [high, low, reason @ ..]) => {
            let code = u16::from_be_bytes([*high, *low]);
            if !may_be_received(code) {
                return Err(WebSocketError::BadCloseCode(code));
            }
            match std::str::from_utf8(reason) {
                Ok(_) => Ok(Message::Close { code, reason }),
                Err(_) => Err(WebSocketError::Broken("invalid utf8 payload in close frame")),
            }
        }
        (Opcode::Close, _) => Ok(Message::Close { code: NO_STATUS, reason: &[] }),
        _ => Ok(Message::Pong(content)),
    }
}

/// Whether a peer may send this code (RFC 6455, section 7.4, and IANA's registry).
fn may_be_received(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1013 | 3000..=4999)
}

/// As much of the content of a control message as a frame may have.
pub(super) fn control_part(content: &[u8]) -> &[u8] {
    &content[..content.len().min(MAX_CONTROL_BYTES)]
}

/// Append a frame that is a whole message.
pub(super) fn append(out: &mut Vec<u8>, opcode: Opcode, content: &[u8], mask: [u8; 4]) {
    append_with(out, FINAL | opcode.number(), content, mask);
}

/// The same of compressed content.
pub(super) fn append_compressed(out: &mut Vec<u8>, opcode: Opcode, content: &[u8], mask: [u8; 4]) {
    append_with(out, FINAL | RSV1 | opcode.number(), content, mask);
}

fn append_with(out: &mut Vec<u8>, first: u8, content: &[u8], mask: [u8; 4]) {
    out.push(first);
    match content.len() {
        length @ 0..126 => out.push(MASKED | length as u8),
        length @ 126..65_536 => {
            out.push(MASKED | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(MASKED | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    out.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}
