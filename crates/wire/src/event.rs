//! What goes into a connection and what comes out of it.

use crate::deviation::Deviations;
use crate::error::WireError;
use crate::headers::{HeaderView, Headers};
use crate::recent_head::RecentHead;

/// The most interim responses (status 1xx) before the response itself; they are passed over.
pub(crate) const MAX_INTERIM: u8 = 100;

/// Chosen by the caller for each request; comes back in every event of it. Must be unique among the open
/// requests of one connection.
pub type Token = u64;

/// Bytes of one request on the wire before TLS: its head and body and what was received for it, framing included.
/// Frames that concern an HTTP/2 connection or its flow control belong to no request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestBytes {
    /// Written to the socket; not what is still to be written.
    pub sent: u64,
    /// Read from the socket, also of what was never completed.
    pub received: u64,
}

/// What is known about whether the peer has processed a request that got no complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processing {
    /// No byte of it was written: it was not processed.
    NotSent,
    /// The peer says that it was not processed (HTTP/2: a reset with `REFUSED_STREAM`, or a stream beyond the last one
    /// of a GOAWAY).
    Refused,
    /// It was written, at least in part, and nothing was received for it: it may have been processed.
    Unanswered,
    /// Something was received for it: it was processed, at least in part.
    Answered,
}

/// A request without a complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest {
    /// Whose.
    pub token: Token,
    /// How far it has come.
    pub bytes: RequestBytes,
    /// Whether it may have been processed.
    pub processing: Processing,
}

impl OpenRequest {
    /// A request with these bytes that the peer has not refused.
    pub(crate) fn with(token: Token, bytes: RequestBytes) -> Self {
        let processing = match bytes {
            RequestBytes { sent: 0, .. } => Processing::NotSent,
            RequestBytes { received: 0, .. } => Processing::Unanswered,
            _ => Processing::Answered,
        };
        OpenRequest { token, bytes, processing }
    }

    /// The same, refused by the peer.
    pub(crate) fn refused(self) -> Self {
        OpenRequest { processing: Processing::Refused, ..self }
    }
}

/// The scheme that an HTTP/2 request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Cleartext.
    Http,
    /// Under TLS.
    Https,
}

/// A request that the caller has rendered; borrowed only while it is started.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a [u8],
    /// Path and query, as on the wire.
    pub path: &'a [u8],
    /// Host, with the port unless it is the scheme's own.
    pub authority: &'a [u8],
    /// Only HTTP/2 puts it on the wire.
    pub scheme: Scheme,
    /// Names in lower case; never `host`, `content-length`, `connection` or `transfer-encoding`, which
    /// the connection writes itself.
    pub headers: &'a Headers,
    /// Empty for none.
    pub body: &'a [u8],
}

/// Status and headers of a final (not 1xx) response.
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a> {
    /// 101, or 200 to 999.
    pub status: u16,
    /// In the order received, without pseudo-headers.
    pub headers: HeaderView<'a>,
    /// How it departs from the standards, where it is understood all the same.
    pub deviations: Deviations,
}

/// Something learnt about a request. Slices live only during the call.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// Status and headers have arrived; once a request, first.
    Head {
        /// Whose.
        token: Token,
        /// The head.
        head: ResponseHead<'a>,
    },
    /// A part of the body, never empty. Where it is cut says nothing.
    Body {
        /// Whose.
        token: Token,
        /// The bytes.
        chunk: &'a [u8],
    },
    /// HTTP/2 trailers, where the gRPC status lives. A gRPC response that consists of a head alone has
    /// that head repeated here.
    Trailers {
        /// Whose.
        token: Token,
        /// The trailers, or the head of a trailers-only response.
        headers: HeaderView<'a>,
    },
    /// The response is complete; the token is free again.
    Done {
        /// Whose.
        token: Token,
        /// Of request and response.
        bytes: RequestBytes,
    },
    /// This request failed and the connection may go on; the token is free again.
    Failed {
        /// Which, and how far it has come.
        request: OpenRequest,
        /// Why.
        error: WireError,
    },
}

/// Called for each event, in order.
pub trait Events {
    /// One event; the slices in it live only during the call.
    fn event(&mut self, event: Event<'_>);

    /// The last head over HTTP/1.1 to requests like this one, whatever connection carried them. It comes back by
    /// [`keep_head`](Self::keep_head) within the same read. None: every head is parsed.
    fn take_head(&mut self, _token: Token) -> Option<RecentHead> {
        None
    }

    /// Keep what [`take_head`](Self::take_head) has handed out.
    fn keep_head(&mut self, _token: Token, _head: RecentHead) {}
}

impl<F: FnMut(Event<'_>)> Events for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
