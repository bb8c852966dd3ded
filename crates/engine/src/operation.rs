//! Requests under way: the drafts, and what was received so far.
//!
//! Operations are kept in a pool and their buffers are reused, so that in steady state a request allocates
//! nothing.

mod of_owner;

use std::sync::Arc;

use evidence::{Instant, Outcome};
use wire::grpc::{Deframer, MessageError};
use wire::{Deviations, RequestBytes, StreamId};

use crate::body_budget::{BodyBudget, BodyLease, UNCOUNTED_BYTES};
use crate::exchange::{
    Attempts, BodyReading, CompletedTimes, ConnectionFacts, ConnectionSetup, Exchange, HeldBack,
    MessageCounts, OperationName, PeerEnd, Purpose, RequestDraft, RequestPhases, Response,
};
use crate::index::{
    ConnectionIndex, EndpointPhase, OperationIndex, PhaseIndex, PoolIndex, UserIndex, VuSlotIndex,
};
use of_owner::Neighbours;

/// The position of a closed model's VU slot among those of its scenario in this loop.
///
/// The requests of a slot keep to one connection where they can: the responses of one read are then followed by
/// one write, instead of one write on each of several connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VuSlotPosition {
    pub(crate) slot: VuSlotIndex,
    /// How many slots the scenario has in this loop.
    pub(crate) slots: u32,
}

/// Identifies an operation on the wire: its index, and how often that index was used before, so that a response
/// to an operation that was given up cannot be taken for a later operation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationToken(pub(crate) wire::Token);

impl OperationToken {
    pub(crate) fn new(index: OperationIndex, generation: u32) -> Self {
        OperationToken(u64::from(generation) << 32 | u64::from(index.0))
    }

    pub(crate) fn index(self) -> OperationIndex {
        OperationIndex((self.0 & 0xffff_ffff) as u32)
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Which queue an operation waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueuePlace {
    pub(crate) pool: PoolIndex,
    pub(crate) since: Instant,
    /// For how long the pool had been limited by then.
    pub(crate) limited_before_ns: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OperationPlace {
    /// It is not submitted yet, or it has ended.
    #[default]
    Nowhere,
    /// In the queue of a pool of connections.
    Waiting(QueuePlace),
    /// A connection is being opened for it.
    Opening(ConnectionIndex),
    Carried(ConnectionIndex),
}

/// One request under way.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) generation: u32,
    pub(crate) is_open: bool,
    /// The virtual user that sends it.
    pub(crate) owner: UserIndex,
    neighbours: Neighbours,
    /// The VU slot of its owner; none in an open model.
    pub(crate) vu_slot: Option<VuSlotPosition>,
    pub(crate) name: OperationName,
    pub(crate) draft: RequestDraft,
    pub(crate) response: Response,
    /// When the iteration asked for it; [`Instant::NEVER`] before, as are the other instants.
    pub(crate) begun_at: Instant,
    /// How long it waited for the address of its origin.
    pub(crate) resolving_ns: u64,
    /// When the socket was first given bytes of its connection after it was started.
    pub(crate) sent_at: Instant,
    /// When all of its bytes were sent.
    pub(crate) written_at: Instant,
    /// When the head of its response was read.
    pub(crate) answered_at: Instant,
    /// How long its own connection took to open, if one was opened for it.
    pub(crate) setup: ConnectionSetup,
    /// The connection that it was last sent on, where its draft asks for that.
    pub(crate) sent_on: Option<ConnectionFacts>,
    pub(crate) place: OperationPlace,
    /// How long it waited because no connection could take it.
    pub(crate) held_back: Option<HeldBack>,
    /// How often it was sent again because the peer had ended its connection without processing it.
    pub(crate) moves: u8,
    /// Whether it was sent again for another reason.
    pub(crate) is_repeated: bool,
    /// Why its iteration could not draft it, or a further message of it.
    pub(crate) unsendable: Option<String>,
    /// Why it could not be put on the wire, or why its connection was lost or could not be opened.
    pub(crate) transport_error: Option<Arc<str>>,
    /// Whether its connection was lost before any part of a response came: whether the peer has processed it is not known.
    pub(crate) is_lost_in_flight: bool,
    /// How the peer ended the connection that was lost.
    pub(crate) peer_end: Option<PeerEnd>,
    /// How the heads of its responses depart from the standards of HTTP.
    pub(crate) deviations: Deviations,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    /// The HTTP/2 stream of a request that sends further messages.
    pub(crate) stream: Option<StreamId>,
    /// Messages that are to be sent next.
    pub(crate) outbox: Vec<u8>,
    /// Whether something of its response waits to be handed to the iteration.
    pub(crate) has_received: bool,
    /// Whether its end is counted, though its connection is still in use.
    pub(crate) is_recorded: bool,
    /// None until a stream of messages is received.
    deframer: Option<Box<Deframer>>,
}

impl Operation {
    fn new(budget: &Arc<BodyBudget>) -> Self {
        Operation {
            generation: 0,
            is_open: false,
            owner: UserIndex(0),
            neighbours: Neighbours::default(),
            vu_slot: None,
            name: 0,
            draft: RequestDraft::default(),
            response: Response { lease: BodyLease::new(budget), ..Response::default() },
            begun_at: Instant::NEVER,
            resolving_ns: 0,
            sent_at: Instant::NEVER,
            written_at: Instant::NEVER,
            answered_at: Instant::NEVER,
            setup: ConnectionSetup::default(),
            sent_on: None,
            place: OperationPlace::Nowhere,
            held_back: None,
            moves: 0,
            is_repeated: false,
            unsendable: None,
            transport_error: None,
            is_lost_in_flight: false,
            peer_end: None,
            deviations: Deviations::default(),
            bytes_out: 0,
            bytes_in: 0,
            stream: None,
            outbox: Vec::new(),
            has_received: false,
            is_recorded: false,
            deframer: None,
        }
    }

    /// Read a part of a stream of messages. True when `cut_after` messages were received.
    pub(crate) fn take_messages(
        &mut self,
        chunk: &[u8],
        cut_after: Option<u64>,
        at: Instant,
    ) -> Result<bool, MessageError> {
        let Operation { deframer, response, draft, .. } = self;
        let deframer = deframer.get_or_insert_default();
        let is_enough = |count: u64| cut_after.is_some_and(|most| count >= most);
        if deframer.kept_bytes() == 0 {
            response.lease.renew();
        }
        let gathered = (deframer.kept_bytes() + chunk.len()).min(draft.keep_body_bytes);
        if response.lease.covers(response.body.len() + gathered) {
            deframer.keep_at_most(draft.keep_body_bytes);
        } else {
            deframer.keep_at_most(deframer.kept_bytes());
        }
        deframer.push(chunk, |framed| {
            if is_enough(response.messages) {
                return;
            }
            response.messages += 1;
            response.body.clear();
            if framed.bytes().len() == framed.length() {
                response.lease.renew();
            }
            response.add_body(framed.bytes(), draft.keep_body_bytes);
            response.body_bytes = framed.length() as u64;
        })?;
        if response.first_message.is_none() && response.messages > 0 {
            response.first_message = Some(at);
        }
        Ok(is_enough(response.messages))
    }

    /// It is recorded, and its connection goes on as a session without a time limit. An exemplar may have taken its draft.
    pub(crate) fn begin_session(&mut self, farewell: Box<[u8]>) {
        self.is_recorded = true;
        // The session has them again when it ends.
        (self.bytes_out, self.bytes_in) = (0, 0);
        self.response.clear();
        let draft = &mut self.draft;
        (draft.purpose, draft.body_reading) = (Purpose::WebSocket, BodyReading::InParts);
        (draft.sends_more, draft.deadline, draft.farewell) = (true, Instant::NEVER, farewell);
    }

    /// Add what one request of it has sent and received.
    pub(crate) fn add_bytes(&mut self, bytes: RequestBytes) {
        self.bytes_out += bytes.sent;
        self.bytes_in += bytes.received;
    }

    /// Whether its time limit had passed when its iteration asked for it: the generator was too late to send it.
    pub(crate) fn had_no_time_left(&self) -> bool {
        self.begun_at >= self.draft.deadline
    }

    /// Whether a stream of messages ended between two messages. A body that is read in another way always does.
    pub(crate) fn has_whole_messages(&self) -> bool {
        !matches!(self.draft.body_reading, BodyReading::Messages { .. })
            || self.response.is_cut
            || self.deframer.as_ref().is_none_or(|deframer| deframer.finish().is_ok())
    }

    /// What is recorded of it, once it has ended with `outcome` at `now`.
    pub(crate) fn exchange(&self, phase: PhaseIndex, outcome: Outcome, now: Instant) -> Exchange {
        let since = |from: Instant, to: Instant| to.since(from).as_nanos() as u64;
        let due = self.draft.due;
        // The target has no part in the time of what could not be sent: nothing is known of how long it would have taken.
        let response_ns = if self.had_no_time_left() { 0 } else { since(due, now) };
        Exchange {
            at: EndpointPhase { endpoint: self.draft.endpoint, phase },
            outcome,
            response_ns,
            service_ns: (self.sent_at != Instant::NEVER).then(|| since(self.sent_at, now)),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            first_message_ns: self.response.first_message.map(|first| since(due, first)),
            messages: MessageCounts { received: self.response.messages, sent: self.draft.messages },
            held_back: self.held_back,
            attempts: if self.is_repeated || self.moves > 0 { Attempts::SentAgain } else { Attempts::One },
            phases: self.phases(now).filter(|_| outcome.is_answer()),
            deviations: self.deviations,
        }
    }

    /// Its phases, once all of the response was received; none if it was never sent or has no response.
    fn phases(&self, now: Instant) -> Option<RequestPhases> {
        if self.sent_at == Instant::NEVER || self.answered_at == Instant::NEVER {
            return None;
        }
        let between = |from: Instant, to: Instant| to.since(from).as_nanos() as u64;
        // A response may be received before all of the request is sent.
        let written = self.written_at.min(self.answered_at.max(self.sent_at));
        let answered = self.answered_at.max(written);
        let setup_ns = self.resolving_ns + self.setup.connecting_ns + self.setup.tls_handshaking_ns;
        Some(RequestPhases {
            blocked_ns: between(self.begun_at, self.sent_at).saturating_sub(setup_ns),
            resolving_ns: self.resolving_ns,
            setup: self.setup,
            sending_ns: between(self.sent_at, written),
            waiting_ns: between(written, answered),
            receiving_ns: between(answered, now),
        })
    }

    /// How long its parts took until `now`, also of one that failed.
    pub(crate) fn times(&self, now: Instant) -> CompletedTimes {
        let between = |from: Instant, to: Instant| to.since(from).as_nanos() as u64;
        let reached = |instant: Instant| if instant == Instant::NEVER { now } else { instant };
        let (begun, sent) = (reached(self.begun_at), reached(self.sent_at));
        let answered = reached(self.answered_at).max(sent);
        let written = reached(self.written_at).clamp(sent, answered);
        let ConnectionSetup { connecting_ns, tls_handshaking_ns } = self.setup;
        let setup_ns = self.resolving_ns + connecting_ns + tls_handshaking_ns;
        CompletedTimes {
            blocked_ns: between(begun, sent).saturating_sub(setup_ns),
            resolving_ns: self.resolving_ns,
            connecting_ns,
            tls_handshaking_ns,
            sending_ns: between(sent, written),
            waiting_ns: between(written, answered),
            receiving_ns: between(answered, now),
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            is_http2: self.sent_on.is_some_and(|connection| connection.is_http2),
            remote: self.sent_on.and_then(|connection| connection.remote),
            tls: self.sent_on.and_then(|connection| connection.tls),
            reason: self.failure_reason(),
            peer_end: self.peer_end,
        }
    }

    /// Why it failed, where more is known than its outcome.
    pub(crate) fn failure_reason(&self) -> Option<String> {
        self.unsendable.clone().or_else(|| self.transport_error.as_ref().map(ToString::to_string))
    }

    fn reset(&mut self, name: OperationName) {
        self.is_open = true;
        self.name = name;
        self.resolving_ns = 0;
        self.begun_at = Instant::NEVER;
        self.sent_at = Instant::NEVER;
        self.written_at = Instant::NEVER;
        self.answered_at = Instant::NEVER;
        self.setup = ConnectionSetup::default();
        self.sent_on = None;
        self.place = OperationPlace::Nowhere;
        self.held_back = None;
        self.moves = 0;
        self.is_repeated = false;
        self.unsendable = None;
        self.transport_error = None;
        self.is_lost_in_flight = false;
        self.peer_end = None;
        self.deviations = Deviations::default();
        self.bytes_out = 0;
        self.bytes_in = 0;
        self.draft.method.clear();
        self.draft.path.clear();
        self.draft.authority.clear();
        self.draft.headers.clear();
        self.draft.body.clear();
        self.draft.trace_id = None;
        self.draft.sends_more = false;
        self.draft.body_reading = BodyReading::Whole;
        self.draft.messages = 0;
        self.draft.purpose = Purpose::Request;
        self.draft.farewell = Box::default();
        self.draft.notes_connection = false;
        self.draft.constant = None;
        self.stream = None;
        self.outbox.clear();
        self.has_received = false;
        self.is_recorded = false;
        self.clear_deframer();
        self.response.clear();
        self.response.messages = 0;
        self.response.first_message = None;
        self.response.is_cut = false;
    }

    /// Frees what one huge exchange took, so that it does not stay in memory for the rest of the run.
    fn shrink(&mut self) {
        self.draft.body.clear();
        self.draft.body.shrink_to(UNCOUNTED_BYTES);
        self.outbox.clear();
        self.outbox.shrink_to(UNCOUNTED_BYTES);
        self.clear_deframer();
        self.response.shrink();
    }

    fn clear_deframer(&mut self) {
        if let Some(deframer) = &mut self.deframer {
            deframer.clear();
        }
    }
}

/// The pool of operations of one loop.
#[derive(Debug)]
pub(crate) struct Operations {
    all: Vec<Operation>,
    free: Vec<OperationIndex>,
    /// By virtual user: the first of what it has under way.
    first_of: Vec<Option<OperationIndex>>,
    budget: Arc<BodyBudget>,
}

impl Operations {
    /// No operations yet; what is kept of their responses counts against `budget`.
    pub(crate) fn new(budget: &Arc<BodyBudget>) -> Operations {
        Operations { all: Vec::new(), free: Vec::new(), first_of: Vec::new(), budget: budget.clone() }
    }

    pub(crate) fn open(&mut self, name: OperationName) -> OperationIndex {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(Operation::new(&self.budget));
            let last = u32::try_from(self.all.len() - 1);
            OperationIndex(last.expect("fewer operations than 2^32 fit into memory"))
        });
        self.get_mut(index).reset(name);
        index
    }

    /// Prepare the operation for a further request: the connection and the response of the one before are
    /// forgotten, its times and bytes are not.
    pub(crate) fn renew(&mut self, index: OperationIndex) {
        let operation = self.get_mut(index);
        operation.generation = operation.generation.wrapping_add(1);
        operation.place = OperationPlace::Nowhere;
        operation.response.clear();
    }

    pub(crate) fn close(&mut self, index: OperationIndex) {
        self.leave_owner(index);
        let operation = self.get_mut(index);
        debug_assert!(operation.is_open, "an operation is closed once");
        operation.is_open = false;
        operation.shrink();
        operation.generation = operation.generation.wrapping_add(1);
        self.free.push(index);
    }

    pub(crate) fn get(&self, index: OperationIndex) -> &Operation {
        &self.all[index.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, index: OperationIndex) -> &mut Operation {
        &mut self.all[index.0 as usize]
    }

    pub(crate) fn draft_mut(&mut self, index: OperationIndex) -> &mut RequestDraft {
        &mut self.get_mut(index).draft
    }

    pub(crate) fn token(&self, index: OperationIndex) -> OperationToken {
        OperationToken::new(index, self.get(index).generation)
    }

    /// The index of the open operation with this token; none when it was closed or renewed meanwhile.
    pub(crate) fn index_of(&mut self, token: OperationToken) -> Option<OperationIndex> {
        self.find(token).map(|_| token.index())
    }

    /// The open operation with this token; none when it was closed or renewed meanwhile.
    pub(crate) fn find(&mut self, token: OperationToken) -> Option<&mut Operation> {
        let operation = self.all.get_mut(token.index().0 as usize)?;
        let is_same = operation.is_open && operation.generation == token.generation();
        is_same.then_some(operation)
    }

    pub(crate) fn all_open(&self) -> impl Iterator<Item = (OperationIndex, &Operation)> {
        let indexed = self.all.iter().enumerate();
        indexed.filter(|(_, o)| o.is_open).map(|(index, o)| (OperationIndex(index as u32), o))
    }

    pub(crate) fn open_count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
