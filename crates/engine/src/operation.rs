//! Requests under way: what was drafted, what has come back so far.
//!
//! Operations are kept in a pool and their buffers are used again, so that in steady state a request
//! allocates nothing.

use std::sync::Arc;

use evidence::{Instant, Outcome};
use wire::grpc::{Deframer, MessageError};
use wire::h2::StreamId;
use wire::{HeaderView, Headers, StartError};

use crate::iteration::WantId;

/// Buffers that grew past this are given back when their operation ends, so that one huge exchange does
/// not stay in memory for the rest of the run.
const KEPT_BUFFER_BYTES: usize = 64 * 1024;
/// How much of a response's headers is kept.
const HEADER_BYTES: usize = 16 * 1024;
/// The longest body that is kept for checks.
pub const CHECKED_BODY_BYTES: usize = 16 * 1024 * 1024;

/// What an iteration wants to be sent.
#[derive(Debug, Default)]
pub struct Draft {
    /// The place of the origin in the program.
    pub origin: usize,
    /// The place of the endpoint in the program.
    pub endpoint: usize,
    /// When it is due: the arrival's due instant, or the end of the step before plus think time.
    pub due: Instant,
    /// When it has failed if no complete response has come.
    pub deadline: Instant,
    /// Such as `GET`.
    pub method: Vec<u8>,
    /// Path and query.
    pub path: Vec<u8>,
    /// Without those that the connection writes itself.
    pub headers: Headers,
    /// The body, framed for gRPC.
    pub body: Vec<u8>,
    /// How many bytes of the response's body are kept.
    pub keep_body_bytes: usize,
    /// The trace id that was sent.
    pub trace_id: Option<[u8; 16]>,
    /// Whether the body goes on after what is drafted: [`crate::iteration::Context::send`].
    pub sends_more: bool,
    /// What is made of the response's body.
    pub reads: Reads,
    /// How many messages of a stream the body holds.
    pub messages: u64,
}

/// What is made of a response's body.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// It is kept from its beginning.
    #[default]
    Whole,
    /// It is a stream of gRPC messages: they are counted, and the last one is kept with its prefix.
    Messages {
        /// After this many the request is cancelled, and that is no failure.
        cut_after: Option<u64>,
    },
}

/// What has come back.
#[derive(Debug, Default)]
pub struct Response {
    /// HTTP status; 0 until a head came.
    pub status: u16,
    /// Headers, then trailers, in the order they came.
    pub headers: Headers,
    /// The kept part of the body.
    pub body: Vec<u8>,
    /// Bytes of body in all; of a stream of messages those of the last.
    pub body_bytes: u64,
    /// How many messages of a stream have come.
    pub messages: u64,
    /// When the first of them came.
    pub first_message: Option<Instant>,
    /// Whether the stream was cancelled because it had lasted long enough.
    pub is_cut: bool,
}

impl Response {
    /// The last header or trailer of this lower-case name: trailers win.
    pub fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).last().map(|(_, value)| value)
    }

    /// Whether all of the body was kept.
    pub fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.body_bytes
    }

    pub(crate) fn add_headers(&mut self, headers: HeaderView<'_>) {
        self.headers.extend(headers, HEADER_BYTES);
    }

    pub(crate) fn add_body(&mut self, chunk: &[u8], keep: usize) {
        self.body_bytes += chunk.len() as u64;
        let room = keep.saturating_sub(self.body.len());
        self.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
}

/// How long a connection took to open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) connecting_ns: u64,
    pub(crate) tls_handshaking_ns: u64,
}

/// The phases of an answered request, in nanoseconds; one follows the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phases {
    pub(crate) blocked_ns: u64,
    pub(crate) opening: Opening,
    pub(crate) sending_ns: u64,
    pub(crate) waiting_ns: u64,
    pub(crate) receiving_ns: u64,
}

/// Where a virtual user of a closed model sits.
///
/// It keeps to one connection as long as it can: what one read brings to an end then goes on with one write,
/// instead of a write for each of the connections that would have their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VuSlot {
    pub(crate) nth: u32,
    /// How many seats its scenario has in this loop.
    pub(crate) of: u32,
}

/// One request under way.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) generation: u32,
    pub(crate) is_open: bool,
    /// The virtual user it belongs to, by its place in the loop.
    pub(crate) owner: u32,
    /// Where its owner sits; nowhere in an open model.
    pub(crate) seat: Option<VuSlot>,
    pub(crate) want: WantId,
    pub(crate) draft: Draft,
    pub(crate) response: Response,
    /// When its first byte was sent; [`Instant::NEVER`] before.
    pub(crate) sent: Instant,
    /// When it was begun, all of its bytes were sent, and the head of its response was read;
    /// [`Instant::NEVER`] before.
    pub(crate) begun: Instant,
    pub(crate) written: Instant,
    pub(crate) answered: Instant,
    /// What its own connection cost it, if one was opened for it.
    pub(crate) opening: Opening,
    /// The connection that carries it, by its place in the loop.
    pub(crate) connection: Option<usize>,
    /// Whether it stands in line for a connection.
    pub(crate) is_waiting: bool,
    /// Why it could not be put on the wire.
    pub(crate) unsendable: Option<StartError>,
    /// Why its connection was of no use.
    pub(crate) trouble: Option<Arc<str>>,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    /// By which the connection knows a request whose body goes on.
    pub(crate) stream: Option<StreamId>,
    /// What is to be sent of it next.
    pub(crate) outbox: Vec<u8>,
    deframer: Deframer,
}

impl Operation {
    /// Take in a part of a stream of messages. True when as many have come as were asked for.
    pub(crate) fn take_messages(
        &mut self,
        chunk: &[u8],
        cut_after: Option<u64>,
        at: Instant,
    ) -> Result<bool, MessageError> {
        let Operation { deframer, response, draft, .. } = self;
        let is_enough = |count: u64| cut_after.is_some_and(|most| count >= most);
        deframer.push(chunk, |framed| {
            if is_enough(response.messages) {
                return;
            }
            response.messages += 1;
            response.body.clear();
            response.body_bytes = 0;
            response.add_body(framed.bytes(), draft.keep_body_bytes);
        })?;
        if response.first_message.is_none() && response.messages > 0 {
            response.first_message = Some(at);
        }
        Ok(is_enough(response.messages))
    }

    /// Whether a stream of messages that has come to its end ended between two of them.
    pub(crate) fn ends_well(&self) -> bool {
        self.draft.reads == Reads::Whole || self.response.is_cut || self.deframer.finish().is_ok()
    }

    /// When the first message of a stream had come, counted from when it was due, in nanoseconds.
    pub(crate) fn first_message_ns(&self) -> Option<u64> {
        Some(self.response.first_message?.since(self.draft.due).as_nanos() as u64)
    }
    fn new() -> Self {
        Operation {
            generation: 0,
            is_open: false,
            owner: 0,
            seat: None,
            want: 0,
            draft: Draft::default(),
            response: Response::default(),
            sent: Instant::NEVER,
            begun: Instant::NEVER,
            written: Instant::NEVER,
            answered: Instant::NEVER,
            opening: Opening::default(),
            connection: None,
            is_waiting: false,
            unsendable: None,
            trouble: None,
            bytes_out: 0,
            bytes_in: 0,
            stream: None,
            outbox: Vec::new(),
            deframer: Deframer::default(),
        }
    }

    /// Its phases, now that all of the response is here; none if it was never sent or has no response.
    pub(crate) fn phases(&self, now: Instant) -> Option<Phases> {
        if self.sent == Instant::NEVER || self.answered == Instant::NEVER {
            return None;
        }
        let between = |from: Instant, to: Instant| to.since(from).as_nanos() as u64;
        // A response may come before all of the request is sent.
        let written = self.written.min(self.answered.max(self.sent));
        let answered = self.answered.max(written);
        let opening_ns = self.opening.connecting_ns + self.opening.tls_handshaking_ns;
        Some(Phases {
            blocked_ns: between(self.begun, self.sent).saturating_sub(opening_ns),
            opening: self.opening,
            sending_ns: between(self.sent, written),
            waiting_ns: between(written, answered),
            receiving_ns: between(answered, now),
        })
    }

    /// What is known of a failure besides its outcome.
    pub(crate) fn reason(&self) -> Option<String> {
        let trouble = || self.trouble.as_ref().map(ToString::to_string);
        self.unsendable.map(|error| error.to_string()).or_else(trouble)
    }

    fn reset(&mut self, want: WantId) {
        self.is_open = true;
        self.want = want;
        self.sent = Instant::NEVER;
        self.written = Instant::NEVER;
        self.answered = Instant::NEVER;
        self.opening = Opening::default();
        self.connection = None;
        self.is_waiting = false;
        self.unsendable = None;
        self.trouble = None;
        self.bytes_out = 0;
        self.bytes_in = 0;
        self.draft.method.clear();
        self.draft.path.clear();
        self.draft.headers.clear();
        self.draft.body.clear();
        self.draft.trace_id = None;
        self.draft.sends_more = false;
        self.draft.reads = Reads::Whole;
        self.draft.messages = 0;
        self.stream = None;
        self.outbox.clear();
        self.deframer.clear();
        self.response.status = 0;
        self.response.headers.clear();
        self.response.body.clear();
        self.response.body_bytes = 0;
        self.response.messages = 0;
        self.response.first_message = None;
        self.response.is_cut = false;
        for buffer in [&mut self.draft.body, &mut self.response.body] {
            buffer.shrink_to(KEPT_BUFFER_BYTES);
        }
    }
}

/// An operation's name on the wire: its place, and how often that place was used before, so that an
/// answer to an operation that was given up cannot be taken for another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationToken(pub(crate) wire::Token);

impl OperationToken {
    fn place(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// How an operation ended on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) operation: OperationToken,
    /// None: a complete response came.
    pub(crate) transport: Option<Outcome>,
}

/// The pool of operations of one loop.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    all: Vec<Operation>,
    free: Vec<u32>,
}

impl Operations {
    pub(crate) fn open(&mut self, want: WantId) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(Operation::new());
            u32::try_from(self.all.len() - 1).expect("fewer operations than 2^32 fit into memory")
        });
        self.all[place as usize].reset(want);
        place
    }

    /// The operation goes on with another request: what it had and got for the one before is forgotten, its
    /// times and bytes are not.
    pub(crate) fn renew(&mut self, place: u32) {
        let operation = &mut self.all[place as usize];
        operation.generation = operation.generation.wrapping_add(1);
        operation.connection = None;
        operation.is_waiting = false;
        operation.response.status = 0;
        operation.response.headers.clear();
        operation.response.body.clear();
        operation.response.body_bytes = 0;
    }

    pub(crate) fn close(&mut self, place: u32) {
        let operation = &mut self.all[place as usize];
        debug_assert!(operation.is_open, "an operation is closed once");
        operation.is_open = false;
        operation.generation = operation.generation.wrapping_add(1);
        self.free.push(place);
    }

    pub(crate) fn get(&self, place: u32) -> &Operation {
        &self.all[place as usize]
    }

    pub(crate) fn get_mut(&mut self, place: u32) -> &mut Operation {
        &mut self.all[place as usize]
    }

    pub(crate) fn draft_mut(&mut self, place: u32) -> &mut Draft {
        &mut self.all[place as usize].draft
    }

    pub(crate) fn token(&self, place: u32) -> OperationToken {
        OperationToken(u64::from(self.get(place).generation) << 32 | u64::from(place))
    }

    /// The place of the open operation of this token; none when it was given up meanwhile.
    pub(crate) fn place_of(&mut self, token: OperationToken) -> Option<u32> {
        self.find(token.0).map(|(place, _)| place)
    }

    /// The open operation of this token; none when it was given up meanwhile.
    pub(crate) fn find(&mut self, token: wire::Token) -> Option<(u32, &mut Operation)> {
        let token = OperationToken(token);
        let operation = self.all.get_mut(token.place())?;
        let is_same = operation.is_open && operation.generation == token.generation();
        is_same.then_some((token.place() as u32, operation))
    }

    /// Every open operation.
    pub(crate) fn open_ones(&self) -> impl Iterator<Item = (u32, &Operation)> {
        self.all.iter().enumerate().filter(|(_, o)| o.is_open).map(|(place, o)| (place as u32, o))
    }

    pub(crate) fn open_count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
