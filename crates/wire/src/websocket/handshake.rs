//! The handshake (RFC 6455, section 4): a request to switch from HTTP/1.1, and the response that agrees.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::headers::{HeaderView, Headers};

/// What is appended to the key before its digest is taken (RFC 6455, section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const EXTENSION: &str = "permessage-deflate";
/// Neither side keeps its window from one message to the next.
const NO_TAKEOVER: [&str; 2] = ["server_no_context_takeover", "client_no_context_takeover"];

/// Whether data messages may be compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compression {
    /// No.
    #[default]
    None,
    /// By `permessage-deflate`.
    Deflate,
}

/// Why a response does not open a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// It does not switch, or not in answer to this request.
    #[error("websocket: bad handshake")]
    Refused,
    /// It says that messages are compressed in a way that was not offered.
    #[error("websocket: invalid compression negotiation")]
    Compression,
}

/// A handshake that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    key: String,
    accept: String,
    offered: Compression,
}

impl Handshake {
    /// With a nonce of random bytes; `sha1` is that digest.
    pub fn new(nonce: [u8; 16], offered: Compression, sha1: impl FnOnce(&[u8]) -> [u8; 20]) -> Handshake {
        let key = STANDARD.encode(nonce);
        let accept = STANDARD.encode(sha1(format!("{key}{GUID}").as_bytes()));
        Handshake { key, accept, offered }
    }

    /// Add the headers of its request, besides those by which a connection is asked to switch.
    pub fn push_headers(&self, headers: &mut Headers) {
        headers.push(b"sec-websocket-version", b"13");
        headers.push(b"sec-websocket-key", self.key.as_bytes());
        if self.offered == Compression::Deflate {
            let [server, client] = NO_TAKEOVER;
            let offer = format!("{EXTENSION}; {server}; {client}");
            headers.push(b"sec-websocket-extensions", offer.as_bytes());
        }
    }

    /// What a response agrees to.
    ///
    /// # Errors
    /// [`HandshakeError`] when it opens no session.
    pub fn agreed(&self, status: u16, headers: HeaderView<'_>) -> Result<Compression, HandshakeError> {
        let has = |name: &[u8], token: &str| tokens(headers, name).any(|has| has.eq_ignore_ascii_case(token));
        let accept = headers.get(b"sec-websocket-accept").unwrap_or_default();
        let is_switched = status == 101
            && has(b"upgrade", "websocket")
            && has(b"connection", "upgrade")
            && accept == self.accept.as_bytes();
        if !is_switched {
            return Err(HandshakeError::Refused);
        }
        let mut agreed = Compression::None;
        for extension in tokens(headers, b"sec-websocket-extensions") {
            let mut parts = extension.split(';').map(str::trim);
            // An extension that was not offered has no effect: frames with its bits are refused.
            if !parts.next().is_some_and(|name| name.eq_ignore_ascii_case(EXTENSION)) {
                continue;
            }
            let named: Vec<&str> = parts.map(|part| part.split('=').next().unwrap_or(part).trim()).collect();
            let keeps_nothing = NO_TAKEOVER.iter().all(|one| named.contains(one));
            if !keeps_nothing || self.offered == Compression::None || agreed != Compression::None {
                return Err(HandshakeError::Compression);
            }
            agreed = Compression::Deflate;
        }
        Ok(agreed)
    }
}

/// The elements of all fields of this name.
fn tokens<'a>(headers: HeaderView<'a>, name: &[u8]) -> impl Iterator<Item = &'a str> {
    let values = headers.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
    let texts = values.filter_map(|(_, value)| std::str::from_utf8(value).ok());
    texts.flat_map(|text| text.split(',')).map(str::trim).filter(|token| !token.is_empty())
}
