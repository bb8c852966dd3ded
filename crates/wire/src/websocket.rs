//! A WebSocket client (RFC 6455) without input or output: the handshake over HTTP/1.1, then messages.
//!
//! [`Handshake`] is the request and what its response must say. Once a connection has switched, [`Client::receive`] takes the bytes
//! that follow and calls back with each [`Message`]; [`Client::send`] appends frames to what is to be written. Randomness is the
//! caller's: the nonce of the handshake and the mask of each frame.
//!
//! Of extensions there is `permessage-deflate` (RFC 7692) where neither side keeps its window from one message to the next: a session
//! then needs no memory for one while nothing is sent.

mod deflate;
mod frame;
mod handshake;
#[cfg(test)]
mod tests;

use deflate::{Deflater, Inflater};
use frame::{Frame, Head, Opcode};
pub use handshake::{Compression, Handshake, HandshakeError};

/// The longest content of a control frame (RFC 6455, section 5.5).
pub const MAX_CONTROL_BYTES: usize = 125;
/// The code for a close frame that gives none; it is never sent.
pub const NO_STATUS: u16 = 1005;
/// The code for a connection that ended without a close frame; it is never sent.
pub const ABNORMAL: u16 = 1006;

/// What one side tells the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text; of received ones the bytes are UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Binary(&'a [u8]),
    /// To be answered by a pong with the same content.
    Ping(&'a [u8]),
    /// The answer to a ping.
    Pong(&'a [u8]),
    /// The end of the session.
    Close {
        /// [`NO_STATUS`] where there is none.
        code: u16,
        /// UTF-8.
        reason: &'a [u8],
    },
}

/// Why a session cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketError {
    /// A frame breaks the protocol.
    #[error("websocket: {0}")]
    Broken(&'static str),
    /// A frame of a kind that does not exist.
    #[error("websocket: bad opcode {0}")]
    BadOpcode(u8),
    /// A close frame with a code that may not be sent.
    #[error("websocket: bad close code {0}")]
    BadCloseCode(u16),
    /// A text is not UTF-8.
    #[error("websocket: a text message is not UTF-8")]
    NotUtf8,
    /// A message is longer than the caller takes.
    #[error("websocket: read limit exceeded")]
    TooLong,
    /// A message cannot be decompressed.
    #[error("websocket: a compressed message is corrupt")]
    Corrupt,
}

impl WebSocketError {
    /// The code with which the session is to be closed (RFC 6455, section 7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            WebSocketError::NotUtf8 | WebSocketError::Corrupt => 1007,
            WebSocketError::TooLong => 1009,
            WebSocketError::Broken(_) | WebSocketError::BadOpcode(_) | WebSocketError::BadCloseCode(_) => {
                1002
            }
        }
    }

    /// What the close frame says of it: the text without the prefix.
    pub fn reason(self) -> String {
        let text = self.to_string();
        text.strip_prefix("websocket: ").unwrap_or(&text).to_owned()
    }
}

/// The name of a close code, as k6 shows it; none of one without a name.
pub fn close_code_name(code: u16) -> Option<&'static str> {
    Some(match code {
        1000 => "normal",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "unsupported data",
        NO_STATUS => "no status",
        ABNORMAL => "abnormal closure",
        1007 => "invalid payload data",
        1008 => "policy violation",
        1009 => "message too big",
        1010 => "mandatory extension missing",
        1011 => "internal server error",
        1015 => "TLS handshake error",
        _ => return None,
    })
}

/// A data message that is being received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begun {
    opcode: Opcode,
    is_compressed: bool,
}

/// The client's side of a session.
#[derive(Debug)]
pub struct Client {
    head: Head,
    /// The frame whose content is being received.
    frame: Option<Frame>,
    /// What was received of a control frame.
    control: Vec<u8>,
    begun: Option<Begun>,
    /// What was received of a data message, as on the wire.
    message: Vec<u8>,
    most_bytes: usize,
    inflater: Option<Box<Inflater>>,
    deflater: Option<Box<Deflater>>,
    /// Nothing is read after a close frame or an error.
    is_over: bool,
}

impl Client {
    /// After a handshake; messages of more than `most_bytes` are refused.
    pub fn new(compression: Compression, most_bytes: usize) -> Client {
        let compresses = compression == Compression::Deflate;
        Client {
            head: Head::default(),
            frame: None,
            control: Vec::new(),
            begun: None,
            message: Vec::new(),
            most_bytes,
            inflater: compresses.then(Box::default),
            deflater: compresses.then(Box::default),
            is_over: false,
        }
    }

    /// How many bytes of a message that is not complete it keeps.
    pub fn kept_bytes(&self) -> usize {
        self.message.capacity()
    }

    /// Take bytes that were received, and call back with each message that is complete. Nothing follows a close frame.
    ///
    /// # Errors
    /// [`WebSocketError`]; the session is over then.
    pub fn receive(&mut self, input: &[u8], each: &mut dyn FnMut(Message<'_>)) -> Result<(), WebSocketError> {
        let read = self.read(input, each);
        self.is_over |= read.is_err();
        read
    }

    fn read(&mut self, mut input: &[u8], each: &mut dyn FnMut(Message<'_>)) -> Result<(), WebSocketError> {
        while !self.is_over {
            let frame = match self.frame {
                Some(frame) => frame,
                None => {
                    let (used, frame) = self.head.read(input, self.inflater.is_some())?;
                    input = &input[used..];
                    let Some(frame) = frame else { return Ok(()) };
                    self.begin(frame)?
                }
            };
            let taken = usize::try_from(frame.left).map_or(input.len(), |left| left.min(input.len()));
            let (part, rest) = input.split_at(taken);
            let left = frame.left - taken as u64;
            self.frame = (left > 0).then_some(Frame { left, ..frame });
            self.content(frame, part, each)?;
            if left > 0 {
                return Ok(());
            }
            input = rest;
        }
        Ok(())
    }

    /// A frame begins: whether it may follow what was received before.
    fn begin(&mut self, frame: Frame) -> Result<Frame, WebSocketError> {
        if frame.opcode.is_control() {
            return Ok(frame);
        }
        match (frame.opcode, self.begun) {
            (Opcode::Continuation, None) => return Err(WebSocketError::Broken("continuation after FIN")),
            (Opcode::Continuation, Some(_)) => {}
            (_, Some(_)) => return Err(WebSocketError::Broken("data before FIN")),
            (opcode, None) => self.begun = Some(Begun { opcode, is_compressed: frame.is_compressed }),
        }
        let space = self.most_bytes.saturating_sub(self.message.len());
        if frame.left > space as u64 { Err(WebSocketError::TooLong) } else { Ok(frame) }
    }

    /// A part of a frame's content was received.
    fn content(
        &mut self,
        frame: Frame,
        part: &[u8],
        each: &mut dyn FnMut(Message<'_>),
    ) -> Result<(), WebSocketError> {
        let is_complete = part.len() as u64 == frame.left;
        if frame.opcode.is_control() {
            self.control.extend_from_slice(part);
            if is_complete {
                self.is_over = frame.opcode == Opcode::Close;
                let control = std::mem::take(&mut self.control);
                each(frame::control(frame.opcode, &control)?);
                self.control = control;
                self.control.clear();
            }
            return Ok(());
        }
        if !(is_complete && frame.is_final) {
            self.message.extend_from_slice(part);
            return Ok(());
        }
        let Some(begun) = self.begun.take() else { return Ok(()) };
        if self.message.is_empty() {
            return self.complete(begun, part, each);
        }
        self.message.extend_from_slice(part);
        // A long message leaves no memory behind.
        let message = std::mem::take(&mut self.message);
        self.complete(begun, &message, each)
    }

    /// A data message is complete.
    fn complete(
        &mut self,
        begun: Begun,
        message: &[u8],
        each: &mut dyn FnMut(Message<'_>),
    ) -> Result<(), WebSocketError> {
        let inflated;
        let message = match self.inflater.as_deref_mut().filter(|_| begun.is_compressed) {
            Some(inflater) => {
                inflated = inflater.inflate(message, self.most_bytes)?;
                &inflated
            }
            None => message,
        };
        match begun.opcode {
            Opcode::Text if std::str::from_utf8(message).is_err() => return Err(WebSocketError::NotUtf8),
            Opcode::Text => each(Message::Text(message)),
            _ => each(Message::Binary(message)),
        }
        Ok(())
    }

    /// Append a frame with this message, masked by four random bytes. Of control messages at most [`MAX_CONTROL_BYTES`] are sent.
    pub fn send(&mut self, message: Message<'_>, mask: [u8; 4], out: &mut Vec<u8>) {
        let deflated;
        let (opcode, content) = match message {
            Message::Text(text) => (Opcode::Text, text),
            Message::Binary(bytes) => (Opcode::Binary, bytes),
            Message::Ping(content) => (Opcode::Ping, content),
            Message::Pong(content) => (Opcode::Pong, content),
            Message::Close { code: NO_STATUS, .. } => (Opcode::Close, &[][..]),
            Message::Close { code, reason } => {
                let content = [&code.to_be_bytes()[..], reason].concat();
                return frame::append(out, Opcode::Close, frame::control_part(&content), mask);
            }
        };
        match self.deflater.as_deref_mut().filter(|_| !opcode.is_control()) {
            Some(deflater) => {
                deflated = deflater.deflate(content);
                frame::append_compressed(out, opcode, &deflated, mask);
            }
            None if opcode.is_control() => frame::append(out, opcode, frame::control_part(content), mask),
            None => frame::append(out, opcode, content, mask),
        }
    }
}
