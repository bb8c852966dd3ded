//! A blocking loop around a connection, the least that a state machine needs to meet a peer.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wire::{Connection, Event, Events, Headers, OpenRequest, Request, Scheme, Token, WireError};

pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// Everything that was learnt about one request.
#[derive(Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Fields,
    pub(crate) end: Option<Result<(), WireError>>,
}

impl Response {
    /// Status and body of a response that is complete.
    pub(crate) fn whole(&self) -> (u16, &[u8]) {
        assert_eq!(self.end, Some(Ok(())));
        (self.status, &self.body)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Responses(HashMap<Token, Response>);

impl Events for Responses {
    fn event(&mut self, event: Event<'_>) {
        let owned = |headers: wire::HeaderView<'_>| -> Fields {
            headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
        };
        let (Event::Head { token, .. }
        | Event::Body { token, .. }
        | Event::Trailers { token, .. }
        | Event::Done { token, .. }
        | Event::Failed { request: OpenRequest { token, .. }, .. }) = event;
        let response = self.0.entry(token).or_default();
        match event {
            Event::Head { head, .. } => {
                response.status = head.status;
                response.fields = owned(head.headers);
            }
            Event::Body { chunk, .. } => response.body.extend_from_slice(chunk),
            Event::Trailers { headers, .. } => response.trailers = owned(headers),
            Event::Done { .. } => response.end = Some(Ok(())),
            Event::Failed { error, .. } => response.end = Some(Err(error)),
        }
    }
}

/// A connection on a socket.
pub(crate) struct Driver<M> {
    pub(crate) machine: M,
    socket: TcpStream,
    pub(crate) responses: Responses,
    input: Vec<u8>,
}

impl<M: Connection> Driver<M> {
    /// Reads `piece_bytes` at a time, so that small ones cut everything.
    pub(crate) fn connect(machine: M, peer: SocketAddr, piece_bytes: usize) -> Self {
        let socket = TcpStream::connect(peer).unwrap();
        socket.set_nodelay(true).unwrap();
        // Only so that a test that would hang fails instead.
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Driver { machine, socket, responses: Responses::default(), input: vec![0; piece_bytes] }
    }

    pub(crate) fn start(&mut self, token: Token, method: &str, path: &str, body: &[u8]) {
        let (method, path, headers) = (method.as_bytes(), path.as_bytes(), &Headers::new());
        let (authority, scheme) = (&b"peer"[..], Scheme::Http);
        let request = Request { method, path, authority, scheme, headers, body };
        self.machine.start(token, &request).unwrap();
    }

    pub(crate) fn post(&mut self, token: Token, path: &str, headers: &Headers, body: &[u8]) {
        let (method, path, authority) = (&b"POST"[..], path.as_bytes(), &b"peer"[..]);
        let request = Request { method, path, authority, scheme: Scheme::Http, headers, body };
        self.machine.start(token, &request).unwrap();
    }

    /// Until no request is open.
    pub(crate) fn finish(&mut self) -> Result<(), WireError> {
        while self.machine.open_requests() > 0 {
            if !self.exchange()? {
                break;
            }
        }
        Ok(())
    }

    /// Write what there is and read once; false after the end of the peer's side. A peer that closes while
    /// our bytes are still on their way resets the connection, which is an end like any other.
    pub(crate) fn exchange(&mut self) -> Result<bool, WireError> {
        while !self.machine.outgoing().is_empty() {
            let count = unless_reset(self.socket.write(self.machine.outgoing()));
            self.machine.sent(count.unwrap_or(usize::MAX));
        }
        let count = unless_reset(self.socket.read(&mut self.input)).unwrap_or(0);
        if count == 0 {
            self.machine.closed(&mut self.responses)?;
            return Ok(false);
        }
        self.machine.receive(&self.input[..count], &mut self.responses)?;
        Ok(true)
    }

    pub(crate) fn take(&mut self, token: Token) -> Response {
        self.responses.0.remove(&token).unwrap_or_default()
    }

    /// One request from start to end.
    pub(crate) fn fetch(&mut self, method: &str, path: &str, body: &[u8]) -> Response {
        self.start(0, method, path, body);
        self.finish().unwrap();
        self.take(0)
    }
}

fn unless_reset(result: io::Result<usize>) -> Option<usize> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => None,
        other => Some(other.unwrap()),
    }
}
