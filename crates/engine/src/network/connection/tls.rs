//! A connection under TLS: its handshake, what comes encrypted, what is to be encrypted.

use std::io::{self, BufRead, Write};

use evidence::Instant;
use rustls::ClientConnection;

use super::{Connection, State};
use crate::network::collector::Collector;
use crate::network::lost::Lost;
use crate::network::protocol::Wire;
use crate::network::transport::Transport;
use crate::operation::{Ended, Operations};
use crate::program::{Speaks, Tls};

impl Connection {
    /// The peer can be reached now: begin the handshake, where there is one.
    pub(super) fn secure(&mut self, tls: Option<&Tls>) -> Result<(), Lost> {
        self.state = State::Open;
        if let Some(tls) = tls {
            let session = ClientConnection::new(tls.config.clone(), tls.name.clone());
            self.session = Some(Box::new(session.map_err(|e| Lost::from(&e))?));
            self.state = State::Handshaking;
        }
        Ok(())
    }

    /// Take in what came under TLS. Zero: the peer has said that nothing more will come.
    pub(super) fn decrypt(
        &mut self,
        mut input: &[u8],
        (operations, at): (&mut Operations, Instant),
        ended: &mut Vec<Ended>,
    ) -> Result<usize, Lost> {
        let mut taken = input.len();
        while !input.is_empty() {
            let Some(session) = &mut self.session else { break };
            let read = session.read_tls(&mut input).map_err(|e| Lost::tls(&e.to_string()))?;
            let processed = session.process_new_packets();
            if let Err(error) = &processed {
                // The peer is told why, if it still listens.
                let _ = session.write_tls(&mut self.transport);
                return Err(Lost::from(error));
            }
            if self.state == State::Handshaking {
                self.finish_handshake(at)?;
            }
            if self.state == State::Open {
                self.deliver((operations, at), ended)?;
            }
            if read == 0 || processed.is_ok_and(|state| state.peer_has_closed()) {
                taken = 0;
                break;
            }
        }
        Ok(taken)
    }

    /// Let the protocol make sense of what TLS has brought so far.
    fn deliver(
        &mut self,
        (operations, at): (&mut Operations, Instant),
        ended: &mut Vec<Ended>,
    ) -> Result<(), Lost> {
        let Some(session) = &mut self.session else { return Ok(()) };
        loop {
            let mut reader = session.reader();
            // It would block when there is nothing more, and complains of an end that comes by surprise.
            let Ok(chunk) = reader.fill_buf() else { return Ok(()) };
            let n = chunk.len();
            if n == 0 {
                return Ok(());
            }
            self.unclaimed += n as u64;
            let mut collector = Collector { operations, ended, at, unclaimed: &mut self.unclaimed };
            self.wire.receive(chunk, &mut collector).map_err(|e| Lost::from(e.outcome()))?;
            reader.consume(n);
        }
    }

    /// When the handshake is over, the protocol is the one agreed on.
    fn finish_handshake(&mut self, now: Instant) -> Result<(), Lost> {
        let Some(session) = self.session.as_ref().filter(|session| !session.is_handshaking()) else {
            return Ok(());
        };
        let agreed = match session.alpn_protocol() {
            Some(b"h2") => Speaks::Http2,
            _ => Speaks::Http1,
        };
        if self.wanted.is_some_and(|wanted| wanted != agreed) {
            return Err(Lost::tls("the peer did not agree to HTTP/2 (by ALPN)"));
        }
        self.opening.tls_handshaking_ns = now.since(self.since).as_nanos() as u64;
        self.wire = Wire::new(agreed);
        self.state = State::Open;
        Ok(())
    }

    pub(super) fn cut_off(&self) -> Lost {
        Lost::tls("the peer ended the connection during the TLS handshake")
    }
}

pub(super) fn has_said_goodbye(session: &mut ClientConnection) -> bool {
    session.process_new_packets().is_ok_and(|state| state.peer_has_closed())
}

/// Write as much as the socket takes; before the end of the handshake there is no `wire` yet. More is encrypted only when
/// all that was has gone, so that it is the protocol's buffer that grows and not both.
pub(super) fn write_secret(
    transport: &mut Transport,
    session: &mut ClientConnection,
    mut wire: Option<&mut Wire>,
) -> io::Result<()> {
    loop {
        while session.wants_write() {
            match session.write_tls(transport) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match wire.as_deref_mut().filter(|wire| wire.has_outgoing()) {
            None => return Ok(()),
            Some(wire) => {
                let n = session.writer().write(wire.outgoing())?;
                wire.sent(n);
            }
        }
    }
}
