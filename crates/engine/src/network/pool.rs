//! Connections that may be used in place of one another: to one origin, of all virtual users or of one.
//!
//! Every change costs the same however many connections there are: entries that are out of date are skipped when
//! they are reached.

mod limited;
mod wait_queue;

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::RangeBounds;
use std::time::Duration;

use evidence::Instant;
use slab::Slab;
use wire::WireProtocol;
use workload::connection::{ConnectionOrder, Reuse};

use super::connection::Connection;
use crate::clock::Clock;
use crate::exchange::PlaceLimit;
use crate::index::{ConnectionIndex, OperationIndex, OriginIndex, PoolIndex};
use crate::operation::{Operations, QueuePlace, VuSlotPosition};
use crate::program::{EXPECTED_STREAMS, PoolLimits};
use limited::LimitedTime;
use wait_queue::WaitQueue;

/// After a connection could not be opened, no other is opened for this time while one is open.
const OPEN_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A connection by its index and serial; it may be closed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionRef {
    pub(super) index: ConnectionIndex,
    pub(super) serial: u32,
}

/// Connections to one origin.
///
/// Where each virtual user has connections of its own, every request reads another pool. What it needs of the pool comes
/// first, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Pool {
    pub(super) origin: OriginIndex,
    pub(super) reuse: Reuse,
    /// The protocol of its connections, once that is known.
    pub(super) protocol: Option<WireProtocol>,
    order: ConnectionOrder,
    /// Of the unshared connections without a request, the one that was used last.
    last_idle: Option<ConnectionRef>,
    /// The next one of the same virtual user.
    pub(super) next_of_user: Option<PoolIndex>,
    waiting: WaitQueue,
    /// The other unshared connections without a request, the most recently used last. Closed ones are among them: all
    /// are looked through before another connection is opened, so that the list never grows past the most connections
    /// that were open at once.
    idle: VecDeque<ConnectionRef>,
    limits: PoolLimits,
    /// How many there are that take requests, now or when they are open.
    pub(super) count: usize,
    /// The number of the virtual user that it belongs to, from 0; 0 where it belongs to all.
    user: u64,
    /// Whether it belongs to a virtual user.
    is_own: bool,
    /// Counts on over the origin's addresses.
    next_address: usize,
    /// Connections that carry many requests at once.
    shared: Vec<ConnectionIndex>,
    /// The position in `shared` that is used next.
    next: usize,
    /// Connections that are being opened for any request.
    opening: Vec<ConnectionIndex>,
    limited: LimitedTime,
    /// Whether no local port was free when a connection was last to be opened.
    pub(super) lacks_port: bool,
    /// Until then no connection is opened while another one is open.
    open_again_at: Instant,
}

const _: () = assert!(offset_of!(Pool, waiting) + size_of::<usize>() <= 64);

impl Pool {
    /// The connections of a virtual user, by its number from 0, begin at an address of their own.
    pub(super) fn new(origin: OriginIndex, reuse: Reuse, limits: PoolLimits, user: Option<u64>) -> Self {
        let is_own = user.is_some();
        let user = user.unwrap_or(0);
        Pool {
            user,
            is_own,
            origin,
            reuse,
            protocol: limits.protocol,
            order: limits.order,
            last_idle: None,
            next_of_user: None,
            waiting: WaitQueue::default(),
            idle: VecDeque::new(),
            limits,
            count: 0,
            next_address: user as usize,
            shared: Vec::new(),
            next: 0,
            opening: Vec::new(),
            limited: LimitedTime::default(),
            lacks_port: false,
            open_again_at: Instant::EPOCH,
        }
    }

    /// Whether its connections carry many requests at once; also while their protocol is still unknown.
    pub(super) fn is_multiplexed(&self) -> bool {
        self.protocol != Some(WireProtocol::Http1) && self.reuse != Reuse::Never
    }

    /// Whether another connection may be opened.
    pub(super) fn has_space(&self) -> bool {
        let most = match self.protocol {
            Some(WireProtocol::Http1) => self.limits.max_http1,
            _ => self.limits.max_multiplexed,
        };
        self.count < most && !self.lacks_port
    }

    /// Whether requests wait that no connection can take, neither one that is open nor one that is being opened.
    pub(super) fn needs_another(&self) -> bool {
        let (waiting, opening) = (self.waiting.len(), self.opening.len());
        match self.is_multiplexed() {
            false => waiting > 0,
            true if self.count < self.limits.min_multiplexed => waiting > opening,
            true => waiting > opening * EXPECTED_STREAMS,
        }
    }

    /// Whether it has fewer connections than its requests are to be spread over.
    pub(super) fn is_below_spread(&self) -> bool {
        self.is_multiplexed() && self.count < self.limits.min_multiplexed
    }

    /// Whether another connection should be tried at `now`, as far as those are concerned that could not be opened.
    pub(super) fn may_try(&self, now: Instant) -> bool {
        self.shared.is_empty() || now >= self.open_again_at
    }

    /// Keep a connection that has no request. False where there are enough of them: it is to be closed.
    pub(super) fn put_idle(&mut self, connection: ConnectionRef, connections: &Slab<Connection>) -> bool {
        if self.last_idle.is_some() && self.idle.len() + 1 >= self.limits.max_idle {
            let is_open = |one: &ConnectionRef| is_open(*one, connections);
            self.last_idle = self.last_idle.filter(is_open);
            self.idle.retain(is_open);
            if usize::from(self.last_idle.is_some()) + self.idle.len() >= self.limits.max_idle {
                return false;
            }
        }
        if let Some(before) = self.last_idle.replace(connection) {
            self.idle.push_back(before);
        }
        true
    }

    /// A connection that can take a request now.
    pub(super) fn take_free(
        &mut self,
        slot: Option<VuSlotPosition>,
        connections: &Slab<Connection>,
    ) -> Option<ConnectionIndex> {
        if !self.waiting.is_empty() {
            return None;
        }
        if self.is_multiplexed() {
            return self.with_capacity(slot, connections);
        }
        std::iter::from_fn(|| self.next_idle()).find(|one| is_open(*one, connections)).map(|one| one.index)
    }

    fn next_idle(&mut self) -> Option<ConnectionRef> {
        match self.order {
            ConnectionOrder::LastUsed => self.last_idle.take().or_else(|| self.idle.pop_back()),
            ConnectionOrder::LeastRecentlyUsed => self.idle.pop_front().or_else(|| self.last_idle.take()),
        }
    }

    /// A shared connection with capacity for another request: that of the VU slot, else the next in turn. Where
    /// there are fewer slots than connections all requests take turns, so that every connection is used.
    fn with_capacity(
        &mut self,
        slot: Option<VuSlotPosition>,
        connections: &Slab<Connection>,
    ) -> Option<ConnectionIndex> {
        let count = self.shared.len();
        let slot = slot.filter(|slot| slot.slots as usize >= count);
        let first = slot.map_or(self.next, |slot| slot.slot.0 as usize);
        let position = (0..count)
            .map(|turn| (first + turn) % count)
            .find(|position| connections[self.shared[*position].0].capacity() > 0)?;
        if slot.is_none() {
            self.next = (position + 1) % count;
        }
        Some(self.shared[position])
    }

    /// Counts on over the origin's addresses, so that connections are spread over them: those of one virtual user
    /// begin elsewhere than those of another.
    pub(super) fn next_address(&mut self) -> usize {
        let address = self.next_address;
        self.next_address = address.wrapping_add(1);
        address
    }

    /// Which of the addresses of this machine the connection to the address of this number comes from: all connections of a
    /// virtual user from the same, others from each in turn, to each address of the origin.
    pub(super) fn local_number(&self, address: usize, addresses: usize) -> u64 {
        if self.is_own { self.user } else { (address / addresses.max(1)) as u64 }
    }

    /// A connection is being opened for any request: they wait for it, and not because of a limit.
    pub(super) fn begin_opening(&mut self, index: ConnectionIndex, now: Instant) {
        self.opening.push(index);
        self.limited.end(now);
    }

    /// A connection could not be opened at `now`. Whether the requests that waited for it can wait for another one,
    /// which is open.
    pub(super) fn opening_failed(&mut self, now: Instant) -> bool {
        self.open_again_at = now + OPEN_AGAIN_AFTER;
        !self.shared.is_empty()
    }

    /// Of the connections that are being opened for any request, and that were begun until `latest`: when the last one was.
    pub(super) fn last_begun(&self, latest: Instant, connections: &Slab<Connection>) -> Option<Instant> {
        self.opening.iter().map(|one| connections[one.0].begun).filter(|begun| *begun <= latest).max()
    }

    /// Whether a connection is being opened for any request.
    pub(super) fn is_opening(&self, index: ConnectionIndex) -> bool {
        self.opening.contains(&index)
    }

    /// A connection is open now, or was given up.
    pub(super) fn end_opening(&mut self, index: ConnectionIndex) {
        self.opening.retain(|one| *one != index);
    }

    /// Of the connections that are being opened for any request, the one that was begun first.
    pub(super) fn first_opening(&self) -> Option<ConnectionIndex> {
        self.opening.first().copied()
    }

    /// Add a shared connection, and return its position in the list.
    pub(super) fn share(&mut self, index: ConnectionIndex) -> usize {
        self.shared.push(index);
        self.shared.len() - 1
    }

    /// Take a connection off the list of shared ones, if it is on it.
    pub(super) fn unshare(&mut self, index: ConnectionIndex, connections: &mut Slab<Connection>) {
        let position = connections[index.0].shared_position;
        if self.shared.get(position) != Some(&index) {
            return;
        }
        self.shared.swap_remove(position);
        if let Some(moved) = self.shared.get(position) {
            connections[moved.0].shared_position = position;
        }
    }

    /// One of its connections; none when there are no more. For closing them all.
    pub(super) fn any(&mut self, connections: &Slab<Connection>) -> Option<ConnectionIndex> {
        let listed = self.shared.last().or(self.opening.last()).copied();
        listed.or_else(|| {
            let mut idle = std::iter::from_fn(|| self.next_idle());
            idle.find(|one| is_open(*one, connections)).map(|one| one.index)
        })
    }

    /// Whether requests wait for a connection.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Put an operation into the queue of this pool, which has the index `pool`.
    pub(super) fn push_waiting(
        &mut self,
        operation: OperationIndex,
        pool: PoolIndex,
        clock: &Clock,
        operations: &mut Operations,
    ) {
        let since = clock.now();
        let place = QueuePlace { pool, since, limited_before_ns: self.limited.at(since) };
        self.waiting.push(operation, place, operations);
    }

    /// Take the first operation that waits for a connection.
    pub(super) fn next_waiting(
        &mut self,
        clock: &Clock,
        operations: &mut Operations,
    ) -> Option<OperationIndex> {
        if self.waiting.is_empty() {
            return None;
        }
        let (operation, place) = self.waiting.next(operations)?;
        self.left_queue(operation, place, clock, operations);
        Some(operation)
    }

    /// Take every operation that waits since an instant of this range.
    pub(super) fn take_waiting(
        &mut self,
        since: impl RangeBounds<Instant>,
        clock: &Clock,
        operations: &mut Operations,
    ) -> Vec<OperationIndex> {
        let taken = self.waiting.take(since, operations);
        for (operation, place) in &taken {
            self.left_queue(*operation, *place, clock, operations);
        }
        taken.into_iter().map(|(operation, _)| operation).collect()
    }

    /// An operation no longer waits for a connection, because it was given up.
    pub(super) fn remove_waiting(
        &mut self,
        operation: OperationIndex,
        place: QueuePlace,
        clock: &Clock,
        operations: &mut Operations,
    ) {
        self.waiting.remove(operation, operations);
        self.left_queue(operation, place, clock, operations);
    }

    /// The address of the origin is known at `now`: its requests have waited for it so far.
    pub(super) fn note_resolved(&self, now: Instant, operations: &mut Operations) {
        self.waiting.for_each(operations, |operation, since| {
            // The lookup for a redirect belongs to the response that was redirected.
            if operation.sent_at == Instant::NEVER {
                operation.resolving_ns += now.since(since).as_nanos() as u64;
            }
        });
    }

    fn left_queue(
        &mut self,
        operation: OperationIndex,
        place: QueuePlace,
        clock: &Clock,
        operations: &mut Operations,
    ) {
        let now = clock.now();
        self.limited.add_to(operations.get_mut(operation), place, now);
        if self.waiting.is_empty() {
            self.limited.end(now);
        }
    }

    /// Note what its requests wait for, where they wait because no further connection may be opened.
    pub(super) fn note_limit(&mut self, now: Instant, connections: &Slab<Connection>) {
        if !self.waiting.is_empty() && !self.has_space() && self.opening.is_empty() {
            let limit = self.limit(connections);
            self.limited.begin(now, limit);
        }
    }

    fn limit(&self, connections: &Slab<Connection>) -> PlaceLimit {
        if self.lacks_port {
            return PlaceLimit::Ports;
        }
        let Some(first) = self.shared.first().filter(|_| self.is_multiplexed()) else {
            return PlaceLimit::Connections;
        };
        let wire = &connections[first.0].wire;
        match wire.open_requests() {
            _ if wire.capacity() > 0 => PlaceLimit::Unread,
            EXPECTED_STREAMS.. => PlaceLimit::Streams,
            _ => PlaceLimit::PeerStreams,
        }
    }
}

fn is_open(one: ConnectionRef, connections: &Slab<Connection>) -> bool {
    connections.get(one.index.0).is_some_and(|connection| connection.serial == one.serial)
}
