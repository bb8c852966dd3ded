//! A request and its response: the draft, what was received, how long its parts took, how it ended.

use std::net::SocketAddr;

use evidence::exemplar::EXEMPLAR_BODY_BYTES;
use evidence::{GrpcCode, Instant, Outcome};
use wire::{Deviations, HeaderView, Headers};

use crate::body::Body;
use crate::body_budget::BodyLease;
use crate::index::{ConstantIndex, EndpointIndex, EndpointPhase, OriginIndex};
use crate::tls_offer::{CipherSuite, TlsVersion, suite_name};

/// How much of a response's headers is kept.
const HEADER_BYTES: usize = 16 * 1024;
/// The longest body that is kept for checks.
pub const CHECKED_BODY_BYTES: usize = 16 * 1024 * 1024;
/// How much of a body is kept for an exemplar: more than it shows, so that a secret that crosses its end is
/// still recognised.
pub(crate) const KEPT_BODY_BYTES: usize = EXEMPLAR_BODY_BYTES + 1024;

/// While more than this is unsent on a connection, requests go elsewhere, or wait, and so do further messages of a stream.
pub(crate) const MAX_UNSENT_BYTES: usize = 256 * 1024;

/// The name that an iteration gives to one of its requests or timers.
pub type OperationName = u32;

/// A request that an iteration asks the loop to send.
#[derive(Debug, Default)]
pub struct RequestDraft {
    /// Where it is sent.
    pub origin: OriginIndex,
    /// The endpoint that it is counted for.
    pub endpoint: EndpointIndex,
    /// When it is due: the arrival's due instant, or the end of the step before plus think time.
    pub due: Instant,
    /// When it counts as timed out, unless a complete response was received before.
    pub deadline: Instant,
    /// Such as `GET`.
    pub method: Vec<u8>,
    /// Path and query.
    pub path: Vec<u8>,
    /// What `host` or `:authority` says; empty for that of the origin. Where it is sent, and the name in TLS, are the
    /// origin's all the same.
    pub authority: Vec<u8>,
    /// Without the headers that the connection itself writes.
    pub headers: Headers,
    /// The body, framed for gRPC.
    pub body: Vec<u8>,
    /// How many bytes of the response's body are kept.
    pub keep_body_bytes: usize,
    /// The trace id that is sent.
    pub trace_id: Option<[u8; 16]>,
    /// Whether further messages follow what is drafted.
    pub sends_more: bool,
    /// How the response's body is read.
    pub body_reading: BodyReading,
    /// How many messages of a stream the body contains.
    pub messages: u64,
    /// Whether it is noted on which connection it is sent.
    pub notes_connection: bool,
    /// What is asked of the connection.
    pub purpose: Purpose,
    /// What is sent when the iteration is over before the session that the request has begun.
    pub farewell: Box<[u8]>,
    /// Which of the requests of a plan that have no values in them it is, and nothing was added to it.
    pub(crate) constant: Option<ConstantIndex>,
}

impl RequestDraft {
    /// Its authority; that of its origin where it has none of its own.
    pub(crate) fn authority_or<'a>(&'a self, of_origin: &'a str) -> &'a [u8] {
        if self.authority.is_empty() { of_origin.as_bytes() } else { &self.authority }
    }
}

/// What a draft asks of the connection that takes it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To carry the request.
    #[default]
    Request,
    /// To be open: nothing is sent, and the response is empty. It is counted as a request is, so that the evidence has
    /// connections that cannot be opened.
    Connection,
    /// To switch to WebSocket. The request is answered, and counted, by the head with status 101; its connection then carries
    /// what the iteration sends and is handed, until one side ends that.
    WebSocket,
}

/// How a response's body is read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum BodyReading {
    /// It is kept from its beginning.
    #[default]
    Whole,
    /// It is a stream of gRPC messages: they are counted, and the last one is kept with its prefix.
    Messages {
        /// After this many messages the request is cut short, which is not a failure.
        cut_after: Option<u64>,
    },
    /// It is handed to the iteration in parts, as it is received, and is not kept.
    InParts,
}

/// What was received so far in answer to a request.
#[derive(Debug, Default)]
pub struct Response {
    /// HTTP status; 0 until a head was received.
    pub status: u16,
    /// Headers, then trailers, in the order in which they were received.
    pub headers: Headers,
    /// How many of them are headers; those that follow are trailers.
    pub head_fields: usize,
    /// How many of them are not kept, because those before them fill what is kept.
    pub left_out_headers: usize,
    /// The kept part of the body.
    pub body: Body,
    /// Bytes of the body in all; of a stream of messages, those of the last message.
    pub body_bytes: u64,
    /// How many messages of a stream were received.
    pub messages: u64,
    /// When the first of them was received.
    pub first_message: Option<Instant>,
    /// Whether the stream was cut short, as the plan asks.
    pub is_cut: bool,
    pub(crate) lease: BodyLease,
}

impl Response {
    /// The last header or trailer of this lower-case name: trailers override headers.
    pub fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.headers.iter().rfind(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The gRPC status of a complete response.
    pub(crate) fn grpc_code(&self) -> GrpcCode {
        match wire::grpc::Status::code_of(&self.headers.view()) {
            Some(code) => code,
            // A client that cancels a stream receives no status.
            None if self.is_cut => GrpcCode::OK,
            None => wire::grpc::code_of_http(self.status),
        }
    }

    /// Whether all of the body was kept.
    pub fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.body_bytes
    }

    pub(crate) fn add_head(&mut self, headers: HeaderView<'_>) {
        self.add_headers(headers);
        self.head_fields = self.headers.len();
    }

    pub(crate) fn add_headers(&mut self, headers: HeaderView<'_>) {
        self.left_out_headers += self.headers.extend(headers, HEADER_BYTES);
    }

    /// What is to be added to a message about a header that was not found; empty where all headers were kept.
    pub(crate) fn left_out_note(&self) -> String {
        match self.left_out_headers {
            0 => String::new(),
            count => {
                format!(
                    "; headers beyond the first {} KiB are not kept ({count} left out)",
                    HEADER_BYTES / 1024
                )
            }
        }
    }

    /// Why not all of the body was kept; none where it was.
    pub fn cut_reason(&self) -> Option<String> {
        let kept = self.body.len();
        (!self.is_whole()).then(|| match self.lease.refusal() {
            Some(why) => format!("only its first {kept} bytes were kept: {why}"),
            None => format!("it is longer than the {kept} bytes that are kept for checks"),
        })
    }

    pub(crate) fn add_body(&mut self, chunk: &[u8], keep: usize) {
        self.body_bytes += chunk.len() as u64;
        let space = keep.saturating_sub(self.body.len());
        let added = &chunk[..chunk.len().min(space)];
        let length = self.body.len() + added.len();
        if !self.lease.covers(length) {
            return;
        }
        self.body.extend(added, keep);
    }

    /// Frees what one long body took.
    pub(crate) fn shrink(&mut self) {
        self.body.clear();
        self.body.shorten();
        self.lease.end();
    }

    /// Forget the part of the body that was handed over.
    pub(crate) fn forget_body(&mut self) {
        self.body.clear();
        self.body.shorten();
        self.body_bytes = 0;
        self.lease.end();
        self.lease.renew();
    }

    /// Forget the head and the body, and keep the buffers.
    pub(crate) fn clear(&mut self) {
        self.status = 0;
        self.headers.clear();
        self.head_fields = 0;
        self.left_out_headers = 0;
        self.body.clear();
        self.body_bytes = 0;
        self.lease.renew();
    }
}

/// How long it took to open a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConnectionSetup {
    pub(crate) connecting_ns: u64,
    pub(crate) tls_handshaking_ns: u64,
}

/// The phases of an answered request, in nanoseconds; each begins when the one before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestPhases {
    pub(crate) blocked_ns: u64,
    pub(crate) resolving_ns: u64,
    pub(crate) setup: ConnectionSetup,
    pub(crate) sending_ns: u64,
    pub(crate) waiting_ns: u64,
    pub(crate) receiving_ns: u64,
}

/// How long the parts of a request took that has just completed, in nanoseconds, each from the end of the one before it; what it
/// did not come to is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletedTimes {
    /// Until it had a connection that could take it, without what follows.
    pub blocked_ns: u64,
    /// Asking for the address.
    pub resolving_ns: u64,
    /// Opening its connection, if one was opened for it.
    pub connecting_ns: u64,
    /// The TLS handshake of that.
    pub tls_handshaking_ns: u64,
    /// From the first byte sent to the last.
    pub sending_ns: u64,
    /// To the head of the response.
    pub waiting_ns: u64,
    /// To its last byte, or to its failure.
    pub receiving_ns: u64,
    /// Bytes sent for it, headers included.
    pub bytes_out: u64,
    /// Bytes received for it, headers included.
    pub bytes_in: u64,
    /// Whether it was sent over HTTP/2.
    pub is_http2: bool,
    /// The server's address, or its proxy's, if it was sent at all: of requests drafted with `notes_connection`.
    pub remote: Option<SocketAddr>,
    /// The TLS that it was sent under: of the same.
    pub tls: Option<TlsFacts>,
    /// Why it failed, where more is known than its outcome.
    pub reason: Option<String>,
    /// How the peer ended its connection, of one that failed by that.
    pub peer_end: Option<PeerEnd>,
}

/// How a peer ended a connection, other than by a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerEnd {
    /// It closed the connection.
    Closed,
    /// It sent a fatal alert of TLS with this number (RFC 8446, 6).
    TlsAlert(u8),
}

/// What a TLS handshake agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsFacts {
    pub version: TlsVersion,
    pub(crate) suite: CipherSuite,
}

impl TlsFacts {
    /// The name of the cipher suite at IANA.
    pub fn cipher_suite(&self) -> String {
        suite_name(self.suite)
    }
}

/// The connection that a request was sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionFacts {
    pub(crate) is_http2: bool,
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) tls: Option<TlsFacts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckResult {
    /// The response is as expected.
    Passed,
    Failed,
}

impl CheckResult {
    pub(crate) fn of(is_as_expected: bool) -> Self {
        if is_as_expected { CheckResult::Passed } else { CheckResult::Failed }
    }
}

/// Messages of a stream; none of a call that has no stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MessageCounts {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// What kept requests in the queue for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceLimit {
    /// Each connection that may be open was in use by another request.
    Connections,
    /// As many requests as the generator sends at once were under way on each connection.
    Streams,
    /// As many requests as the peer allows at once were under way on each connection.
    PeerStreams,
    /// The peer did not read what was sent on each connection.
    Unread,
    /// No local port was free for another connection.
    Ports,
}

impl PlaceLimit {
    pub(crate) const COUNT: usize = 5;

    /// Its name in archives.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PlaceLimit::Connections => "connections",
            PlaceLimit::Streams => "streams",
            PlaceLimit::PeerStreams => "peer-streams",
            PlaceLimit::Unread => "unread",
            PlaceLimit::Ports => "ports",
        }
    }
}

/// How long a request waited because no connection could take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldBack {
    pub(crate) ns: u64,
    pub(crate) limit: PlaceLimit,
}

/// How often a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempts {
    One,
    /// Again, because the peer had not processed it.
    SentAgain,
}

/// How one request ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) at: EndpointPhase,
    pub(crate) outcome: Outcome,
    pub(crate) response_ns: u64,
    /// None when nothing was sent.
    pub(crate) service_ns: Option<u64>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// When the first message of a stream was received, counted from the due instant.
    pub(crate) first_message_ns: Option<u64>,
    pub(crate) messages: MessageCounts,
    /// None when it waited for no connection, or only for one to be opened.
    pub(crate) held_back: Option<HeldBack>,
    pub(crate) attempts: Attempts,
    /// None when no complete response was received.
    pub(crate) phases: Option<RequestPhases>,
    /// How the response departs from the standards of HTTP.
    pub(crate) deviations: Deviations,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_budget::{BodyBudget, UNCOUNTED_BYTES};

    #[test]
    fn a_body_has_space_for_no_more_than_its_lease_covers() {
        let budget = BodyBudget::new(9 << 20);
        let mut response = Response { lease: BodyLease::new(&budget), ..Response::default() };
        for keep in [100, 70_000, 3 << 20, CHECKED_BODY_BYTES] {
            response.clear();
            for chunk in [1, 1_000, 64 << 10, 128 << 10].into_iter().cycle().take(200) {
                response.add_body(&vec![b'x'; chunk], keep);
                let (space, leased) = (response.body.capacity(), response.lease.bytes());
                assert!(space <= leased.max(UNCOUNTED_BYTES), "{space} bytes of {leased}, {keep}");
            }
        }
        assert!(response.cut_reason().is_some_and(|why| why.contains("9 MiB")));
        response.shrink();
        assert!(response.body.capacity() <= UNCOUNTED_BYTES && response.lease.bytes() == 0);
    }
}
