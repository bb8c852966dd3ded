//! An HTTP/2 client connection (RFC 9113), from its preface on; ALPN or prior knowledge decided on HTTP/2 before.
//!
//! Frames are handled whole: where the input cuts one, its bytes are gathered first, so that the same bytes
//! yield the same events however they arrive. Responses are passed on at once and never kept, therefore the
//! windows we grant are wide. What the peer's windows hold back of a request's body waits in its stream.
//!
//! [`receive`](Connection::receive) dispatches in `receive.rs`; requests go out through `send.rs`; header
//! compression is in `hpack`.

mod block;
mod frame;
mod hpack;
mod output;
mod receive;
mod request_block;
mod response;
mod send;
mod settings;
mod stream;
mod streams;

use std::collections::VecDeque;

use crate::connection::{StreamId, WireProtocol};
use crate::error::{StartError, WireError};
use crate::event::{Events, OpenRequest, Request, RequestBytes, Token};
use block::ResponseBlocks;
use frame::{MAX_31_BITS, code};
use output::Output;
use request_block::RequestBlock;
use settings::PeerSettings;
use stream::{Ending, Progress, Stream};
use streams::Streams;

/// The most requests open at once, unless the configuration sets another number. Peers should allow no fewer (RFC 9113
/// section 6.5.2).
pub const MAX_OPEN_REQUESTS: u32 = 100;

/// What may differ between connections.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Config {
    /// The most requests open at once, whatever more the peer allows.
    pub max_open_requests: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { max_open_requests: MAX_OPEN_REQUESTS }
    }
}

/// The state of one connection.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    out: Output,
    streams: Streams,
    /// The identifier of the next request's stream.
    next_id: u32,
    encoder: hpack::Encoder,
    request_block: RequestBlock,
    peer: PeerSettings,
    /// What the peer lets us send on the whole connection.
    send_window: i64,
    /// Streams with body bytes that their own window lets go, in turn.
    ready: VecDeque<u32>,
    incoming: receive::Incoming,
    blocks: ResponseBlocks,
    /// The last stream that a departing peer takes, and its error code.
    going_away: Option<(u32, u32)>,
    dead: Option<WireError>,
}

impl Connection {
    /// A fresh connection; the first `outgoing` is the preface. Requests may be started at once.
    pub fn new(config: Config) -> Self {
        let mut out = Output::default();
        out.append(output::CONNECTION, settings::write_opening);
        Connection {
            config,
            out,
            streams: Streams::default(),
            next_id: 1,
            encoder: hpack::Encoder::new(),
            request_block: RequestBlock::new(),
            peer: PeerSettings::BEFORE_ANY,
            send_window: i64::from(PeerSettings::BEFORE_ANY.initial_window),
            ready: VecDeque::new(),
            incoming: receive::Incoming::default(),
            blocks: ResponseBlocks::new(),
            going_away: None,
            dead: None,
        }
    }

    /// How far the request of a stream has come.
    fn request_of(&self, id: u32, stream: &Stream) -> OpenRequest {
        let sent = stream.outgoing_bytes - self.out.unsent_of(id);
        let received = stream.incoming_bytes + self.incoming.partial_bytes_of(id);
        OpenRequest::with(stream.token, RequestBytes { sent, received })
    }

    fn reason_of_end(&self) -> WireError {
        match self.going_away {
            Some((_, code)) if code != 0 => WireError::ConnectionEnded(code),
            _ if self.streams.iter().any(|(_, stream)| stream.progress == Progress::HasHead) => {
                WireError::UnexpectedEof
            }
            _ if self.incoming.is_inside_frame() => WireError::UnexpectedEof,
            _ => WireError::ClosedBeforeResponse,
        }
    }
}

impl crate::Connection for Connection {
    fn protocol(&self) -> WireProtocol {
        WireProtocol::Http2
    }

    fn capacity(&self) -> usize {
        if !self.reusable() {
            return 0;
        }
        let allowed = self.config.max_open_requests.min(self.peer.max_concurrent_streams);
        (allowed as usize).saturating_sub(self.streams.len())
    }

    fn start(&mut self, token: Token, request: &Request<'_>) -> Result<(), StartError> {
        self.send_request(token, request, Ending::Known).map(drop)
    }

    fn start_open(&mut self, token: Token, request: &Request<'_>) -> Result<StreamId, StartError> {
        self.send_request(token, request, Ending::Open).map(StreamId)
    }

    fn send(&mut self, stream: StreamId, part: &[u8]) {
        self.send_part(stream.0, part);
    }

    fn held_back(&self, stream: StreamId) -> usize {
        self.streams.get(stream.0).map_or(0, |stream| stream.unsent.rest().len())
    }

    fn end_body(&mut self, stream: StreamId) {
        self.send_end(stream.0);
    }

    fn outgoing(&self) -> &[u8] {
        self.out.unsent()
    }

    fn sent(&mut self, count: usize) {
        self.out.advance(count);
        if self.out.is_empty() {
            self.incoming.forgive_replies();
        }
    }

    fn receive(&mut self, input: &[u8], events: &mut dyn Events) -> Result<(), WireError> {
        if let Some(error) = self.dead {
            return Err(error);
        }
        let result = self.read(input, events);
        if let Err(error) = result {
            self.dead = Some(error);
            self.out.append(output::CONNECTION, |out| frame::write_goaway(out, frame::code_of(&error)));
        }
        result
    }

    fn closed(&mut self, _events: &mut dyn Events) -> Result<(), WireError> {
        let error = self.dead.unwrap_or_else(|| self.reason_of_end());
        self.dead = Some(error);
        if self.streams.is_empty() { Ok(()) } else { Err(error) }
    }

    fn cancel(&mut self, token: Token) -> Option<OpenRequest> {
        let (id, _) = self.streams.iter().find(|(_, stream)| stream.token == token)?;
        let stream = self.remove(id)?;
        let request = self.request_of(id, &stream);
        self.reset(id, code::CANCEL);
        Some(request)
    }

    fn reusable(&self) -> bool {
        self.dead.is_none() && self.going_away.is_none() && self.next_id <= MAX_31_BITS
    }

    fn open_requests(&self) -> usize {
        self.streams.len()
    }

    fn for_each_open(&self, visit: &mut dyn FnMut(OpenRequest)) {
        self.streams.iter().map(|(id, stream)| self.request_of(id, stream)).for_each(visit);
    }
}

#[cfg(test)]
mod tests;
