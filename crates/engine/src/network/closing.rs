//! Connections of HTTP/1.1 that have carried their last request: the peer is left to close them. Who closes first keeps the port
//! for a minute (TIME_WAIT), and a generator has fewer ports than a server has clients.

use std::collections::VecDeque;
use std::time::Duration;

use evidence::Instant;
use wire::WireProtocol;

use super::Network;
use crate::index::ConnectionIndex;

/// How long the peer may take to close.
const PEER_CLOSES_WITHIN: Duration = Duration::from_secs(1);
/// How many connections wait to be closed at most: each has a file descriptor.
const MOST_CLOSING: usize = 1_024;

/// A connection that its peer is to close.
#[derive(Debug, Clone, Copy)]
struct ClosingConnection {
    until: Instant,
    index: ConnectionIndex,
    /// Of the connection: another one may have its index by then.
    serial: u32,
}

/// The connections that their peers are to close, the oldest first.
#[derive(Debug, Default)]
pub(super) struct ClosingConnections(VecDeque<ClosingConnection>);

impl ClosingConnections {
    /// When the next one is closed by this side.
    pub(super) fn next(&self) -> Instant {
        self.0.front().map_or(Instant::NEVER, |one| one.until)
    }
}

impl Network {
    /// Close a connection that no request is on, or leave that to the peer where both know that it takes no other.
    pub(super) fn end_unused(&mut self, index: ConnectionIndex) {
        let until = self.clock.now() + PEER_CLOSES_WITHIN;
        let connection = &mut self.connections[index.0];
        let announces_close = self.program.origin(connection.origin).announces_close;
        let is_last = announces_close || !connection.wire.reusable();
        if connection.protocol() != WireProtocol::Http1 || !is_last {
            return self.close(index);
        }
        connection.is_idle = true;
        let serial = connection.serial;
        self.closing.0.push_back(ClosingConnection { until, index, serial });
        if self.closing.0.len() > MOST_CLOSING
            && let Some(oldest) = self.closing.0.pop_front()
        {
            self.reset(oldest);
        }
    }

    /// Close the connections that their peers have not closed in time.
    pub(super) fn close_overdue(&mut self, now: Instant) {
        while let Some(one) = self.closing.0.pop_front_if(|one| one.until <= now) {
            self.reset(one);
        }
    }

    /// Close a connection, if the peer has not, without keeping its port.
    fn reset(&mut self, ClosingConnection { index, serial, .. }: ClosingConnection) {
        if self.connections.get(index.0).is_some_and(|connection| connection.serial == serial) {
            self.connection_mut(index).discard_port();
            self.close(index);
        }
    }
}
