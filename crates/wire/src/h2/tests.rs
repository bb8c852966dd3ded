use proptest::prelude::*;

use super::frame::{FrameHeader, HEADER_BYTES, PREFACE, flag, kind};
use super::*;
use crate::Connection as _;
use crate::event::Scheme;
use crate::headers::Headers;
use crate::recorded::Recorded;

mod bytes;
mod flow;
mod hostile;
mod lifecycle;

/// A connection, the bytes it received, and the bytes it sent.
struct Peer {
    connection: Connection,
    seen: Recorded,
}

impl Peer {
    fn new() -> Self {
        let connection = Connection::new(Config::default());
        let mut peer = Peer { connection, seen: Recorded::default() };
        assert!(peer.connection.outgoing().starts_with(PREFACE));
        peer.connection.sent(usize::MAX);
        peer
    }

    /// Past the exchange of settings.
    fn greeted(settings: &[(u16, u32)]) -> Self {
        let mut peer = Peer::new();
        peer.settings(settings);
        assert_eq!(peer.sent(), ["settings ack"]);
        peer
    }

    fn start(&mut self, token: Token, method: &str, body: &[u8]) {
        let (authority, headers) = (&b"h"[..], &Headers::new());
        let (method, path, scheme) = (method.as_bytes(), &b"/"[..], Scheme::Http);
        self.connection.start(token, &Request { method, path, authority, scheme, headers, body }).unwrap();
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.connection.receive(bytes, &mut self.seen)
    }

    #[track_caller]
    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.receive(&frame(kind, flags, stream, payload)).unwrap();
    }

    fn settings(&mut self, settings: &[(u16, u32)]) {
        let payload: Vec<u8> =
            settings.iter().flat_map(|(i, v)| [&i.to_be_bytes()[..], &v.to_be_bytes()].concat()).collect();
        self.frame(kind::SETTINGS, 0, 0, &payload);
    }

    fn number(&mut self, kind: u8, stream: u32, number: u32) {
        self.frame(kind, 0, stream, &number.to_be_bytes());
    }

    /// The frames that have gone out since last asked, in short.
    fn sent(&mut self) -> Vec<String> {
        let mut bytes = self.connection.outgoing();
        let mut frames = Vec::new();
        while let Some(header) = FrameHeader::read(bytes) {
            let (payload, rest) = bytes[HEADER_BYTES..].split_at(header.length);
            frames.push(describe(&header, payload));
            bytes = rest;
        }
        self.connection.sent(usize::MAX);
        frames
    }

    fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.seen).lines
    }
}

fn describe(header: &FrameHeader, payload: &[u8]) -> String {
    let FrameHeader { stream, length, .. } = header;
    let end = if header.has(flag::END_STREAM) { " end" } else { "" };
    let number = || u32::from_be_bytes(payload[payload.len() - 4..].try_into().unwrap());
    match header.kind {
        kind::DATA => format!("{stream} data {length}{end}"),
        kind::HEADERS if header.has(flag::END_HEADERS) => format!("{stream} head{end}"),
        kind::HEADERS => format!("{stream} begun head{end}"),
        kind::CONTINUATION if header.has(flag::END_HEADERS) => format!("{stream} last continuation"),
        kind::CONTINUATION => format!("{stream} continuation"),
        kind::RST_STREAM => format!("{stream} reset {}", number()),
        kind::WINDOW_UPDATE => format!("{stream} window {}", number()),
        kind::GOAWAY => format!("goaway {}", number()),
        kind::SETTINGS if header.has(flag::ACK) => "settings ack".to_owned(),
        kind::PING if header.has(flag::ACK) => format!("ping ack {}", payload.escape_ascii()),
        other => format!("{stream} kind {other} of {length}"),
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    FrameHeader { length: payload.len(), kind, flags, stream }.write(&mut out);
    out.extend_from_slice(payload);
    out
}

/// A header block of literals.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.extend_from_slice(&[0, name.len() as u8]);
        out.extend_from_slice(name.as_bytes());
        out.push(value.len() as u8);
        out.extend_from_slice(value.as_bytes());
    }
    out
}

const OK: &[u8] = &[0x88];
const END: u8 = flag::END_HEADERS | flag::END_STREAM;
