//! An HTTP/2 client connection over cleartext with prior knowledge.

use crate::error::{StartError, WireError};
use crate::event::{Events, Request, Token};
use crate::outgoing::Outgoing;

/// What may differ between connections.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Config {
    /// The most requests open at once, whatever more the peer allows.
    pub max_open_requests: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { max_open_requests: 100 }
    }
}

/// The state of one connection.
#[derive(Debug)]
pub struct Connection {
    out: Outgoing,
}

impl Connection {
    /// A fresh connection; the first `outgoing` is the preface.
    pub fn new(_config: Config) -> Self {
        Connection { out: Outgoing::default() }
    }

    /// How many requests may be started now.
    pub fn capacity(&self) -> usize {
        0
    }

    /// Append the request to the outgoing bytes.
    pub fn start(&mut self, _token: Token, _request: &Request<'_>) -> Result<(), StartError> {
        Err(StartError::NotReady)
    }

    /// Bytes to be written to the socket.
    pub fn outgoing(&self) -> &[u8] {
        self.out.unsent()
    }

    /// The first `count` of the outgoing bytes are written.
    pub fn sent(&mut self, count: usize) {
        self.out.advance(count);
    }

    /// Take bytes read from the socket, all of them. An error kills the connection, and every open request
    /// has failed with it.
    pub fn receive(&mut self, _input: &[u8], _events: &mut impl Events) -> Result<(), WireError> {
        Ok(())
    }

    /// The peer closed its side.
    pub fn closed(&mut self, _events: &mut impl Events) -> Result<(), WireError> {
        Ok(())
    }

    /// Give up on a request: its stream is reset and the connection lives on.
    pub fn cancel(&mut self, _token: Token) {}

    /// Whether further requests may follow on this connection.
    pub fn reusable(&self) -> bool {
        true
    }

    /// How many requests are open.
    pub fn open_requests(&self) -> usize {
        0
    }

    /// Call `visit` with the token of each open request, as when the connection has died.
    pub fn for_each_open(&self, _visit: impl FnMut(Token)) {}
}
