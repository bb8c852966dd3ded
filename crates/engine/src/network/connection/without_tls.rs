//! Connections of a program that was built without TLS: none is secured.

use std::io;

use super::{Connection, ConnectionState};
use crate::exchange::TlsFacts;
use crate::network::collector::ResponseSink;
use crate::network::loss::ConnectionLoss;
use crate::network::transport::Transport;
use crate::network::unsent::UnsentRequests;
use crate::program::TlsPeer;

/// The TLS of one connection: there is none.
#[derive(Debug)]
pub(super) enum Session {}

impl Session {
    pub(super) fn wants_write(&self) -> bool {
        match *self {}
    }
}

impl Connection {
    /// The transport is ready.
    pub(super) fn secure(&mut self, tls: Option<&TlsPeer>) -> Result<(), ConnectionLoss> {
        self.state = ConnectionState::Open;
        tls.map_or(Ok(()), |tls| match *tls {})
    }

    /// Process bytes received under TLS, which no connection does.
    pub(super) fn decrypt(
        &mut self,
        input: &[u8],
        _sink: &mut ResponseSink<'_>,
    ) -> Result<usize, ConnectionLoss> {
        self.session.as_deref().map_or(Ok(input.len()), |session| match *session {})
    }
}

pub(super) fn tls_facts(session: &Session) -> Option<TlsFacts> {
    match *session {}
}

pub(super) fn is_closed_by_peer(session: &mut Session) -> bool {
    match *session {}
}

pub(super) fn write_encrypted(
    _transport: &mut Transport,
    session: &mut Session,
    _wire: Option<&mut Box<dyn wire::Connection>>,
    _unsent: &mut UnsentRequests,
) -> io::Result<()> {
    match *session {}
}
