//! What a client connection does, whichever protocol it uses.

use std::fmt::Debug;

use crate::error::{StartError, WireError};
use crate::event::{Events, OpenRequest, Request, Token};
use crate::rendered::RenderedRequest;

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireProtocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// A request of one connection whose body is not complete yet. Unique within the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamId(pub(crate) u32);

/// A client connection: bytes in; bytes and events out.
pub trait Connection: Debug + Send {
    /// The protocol that it uses.
    fn protocol(&self) -> WireProtocol;

    /// How many more requests may be started now: what the protocol, the peer and the configuration allow, less the
    /// open ones.
    fn capacity(&self) -> usize;

    /// Append the request to the outgoing bytes; a body that the peer's windows do not let go is kept until they do.
    fn start(&mut self, token: Token, request: &Request<'_>) -> Result<(), StartError>;

    /// The same for one of several requests that are equal, which the caller answers for; on whichever connections they are
    /// started, it is with the same `rendered`. HTTP/1.1 renders and checks the first of them alone.
    fn start_equal(
        &mut self,
        token: Token,
        request: &Request<'_>,
        _rendered: &mut RenderedRequest,
    ) -> Result<(), StartError> {
        self.start(token, request)
    }

    /// The same for a request whose body continues after `request.body`, by [`send`](Self::send) until
    /// [`end_body`](Self::end_body). HTTP/1.1 has no such requests here: an error.
    fn start_open(&mut self, token: Token, request: &Request<'_>) -> Result<StreamId, StartError>;

    /// Ask to switch to another protocol. Once the response has status 101, what is received is the body of the response and
    /// what [`send`](Self::send) appends is sent as it is, until the connection is closed. HTTP/2 does not switch: an error.
    fn start_upgrade(
        &mut self,
        _token: Token,
        _request: &Request<'_>,
        _protocol: &str,
    ) -> Result<StreamId, StartError> {
        Err(StartError::Invalid("only HTTP/1.1 switches to another protocol"))
    }

    /// Append a further part of a request's body. What the peer's windows do not let go is kept, so the caller bounds
    /// how much there is. Nothing happens when the request is over.
    fn send(&mut self, stream: StreamId, part: &[u8]);

    /// Announce with each request from now on that the connection is closed after its response. HTTP/2 has no such
    /// announcement.
    fn announce_close(&mut self) {}

    /// How many bytes of the request's body the peer's windows hold back.
    fn held_back(&self, stream: StreamId) -> usize;

    /// The body of a request is complete. Nothing happens when the request is over.
    fn end_body(&mut self, stream: StreamId);

    /// Bytes to be written to the socket.
    fn outgoing(&self) -> &[u8];

    /// The first `count` of the outgoing bytes are written.
    fn sent(&mut self, count: usize);

    /// Take bytes read from the socket, all of them. An error kills the connection, and every open request has failed
    /// with it; a last frame with the reason for the peer may be left in `outgoing`.
    fn receive(&mut self, input: &[u8], events: &mut dyn Events) -> Result<(), WireError>;

    /// The peer closed its side, which completes a response that only the close delimits: no error unless a request
    /// is open then.
    fn closed(&mut self, events: &mut dyn Events) -> Result<(), WireError>;

    /// Give up on a request and say how far it has come; no event follows. HTTP/2 resets its stream, and the connection
    /// lives on. Over HTTP/1.1 the response may still come, so the connection must be closed.
    fn cancel(&mut self, token: Token) -> Option<OpenRequest>;

    /// Whether further requests may follow on this connection.
    fn reusable(&self) -> bool;

    /// How many requests are open.
    fn open_requests(&self) -> usize;

    /// Call `visit` with each open request, in no particular order, as when the connection has died.
    fn for_each_open(&self, visit: &mut dyn FnMut(OpenRequest));
}
