//! A connection under TLS: the handshake, decryption and encryption.

use std::io::{self, BufRead, Write};

use evidence::Instant;
use rustls::{CertificateError, ClientConnection, Error, ProtocolVersion};
use wire::WireProtocol;

use super::{Connection, ConnectionState};
use crate::exchange::{PeerEnd, TlsFacts};
use crate::network::collector::ResponseSink;
use crate::network::loss::ConnectionLoss;
use crate::network::transport::Transport;
use crate::network::unsent::UnsentRequests;
use crate::program::{NOT_TLS, TlsPeer};
use crate::tls_offer::TlsVersion;

pub(super) type Session = ClientConnection;

impl Connection {
    /// The transport is ready: begin the handshake, where there is one.
    pub(super) fn secure(&mut self, tls: Option<&TlsPeer>) -> Result<(), ConnectionLoss> {
        self.state = ConnectionState::Open;
        if let Some(tls) = tls {
            let session = ClientConnection::new(tls.config.clone(), tls.name.clone());
            self.session = Some(Box::new(session.map_err(|e| ConnectionLoss::from(&e))?));
            self.state = ConnectionState::Handshaking;
        }
        Ok(())
    }

    /// Process bytes received under TLS. Zero: the peer has announced the end of its stream.
    pub(super) fn decrypt(
        &mut self,
        mut input: &[u8],
        sink: &mut ResponseSink<'_>,
    ) -> Result<usize, ConnectionLoss> {
        let mut taken = input.len();
        while !input.is_empty() {
            let Some(session) = &mut self.session else { break };
            let read = session.read_tls(&mut input).map_err(|e| ConnectionLoss::tls(&e.to_string()))?;
            let processed = session.process_new_packets();
            if let Err(error) = &processed {
                // Send the alert, if the peer still reads.
                let _ = session.write_tls(&mut self.transport);
                return Err(ConnectionLoss::from(error));
            }
            if self.state == ConnectionState::Handshaking {
                self.finish_handshake(sink.at)?;
            }
            if self.state == ConnectionState::Open {
                self.deliver(sink)?;
            }
            if read == 0 || processed.is_ok_and(|state| state.peer_has_closed()) {
                taken = 0;
                break;
            }
        }
        Ok(taken)
    }

    /// Pass the decrypted bytes to the protocol.
    fn deliver(&mut self, sink: &mut ResponseSink<'_>) -> Result<(), ConnectionLoss> {
        let Some(session) = &mut self.session else { return Ok(()) };
        loop {
            let mut reader = session.reader();
            // An error means that there is nothing more, or that the end was not announced: `at_end` handles that.
            let Ok(chunk) = reader.fill_buf() else { return Ok(()) };
            let n = chunk.len();
            if n == 0 {
                return Ok(());
            }
            self.wire.receive(chunk, sink).map_err(ConnectionLoss::from)?;
            reader.consume(n);
        }
    }

    /// Once the handshake is over, use the protocol that it agreed on.
    fn finish_handshake(&mut self, now: Instant) -> Result<(), ConnectionLoss> {
        let Some(session) = self.session.as_ref().filter(|session| !session.is_handshaking()) else {
            return Ok(());
        };
        let agreed = match session.alpn_protocol() {
            Some(b"h2") => WireProtocol::Http2,
            _ => WireProtocol::Http1,
        };
        if self.required.is_some_and(|required| required != agreed) {
            return Err(ConnectionLoss::tls("the peer did not agree to HTTP/2 (by ALPN)"));
        }
        self.setup.tls_handshaking_ns = now.since(self.since).as_nanos() as u64;
        self.wire = wire::open(agreed);
        self.state = ConnectionState::Open;
        Ok(())
    }
}

impl From<&Error> for ConnectionLoss {
    fn from(error: &Error) -> ConnectionLoss {
        let reason = match error {
            Error::InvalidCertificate(wrong) => wrong_certificate(wrong),
            Error::InvalidMessage(_) => NOT_TLS.to_owned(),
            other => format!("TLS failed: {other}"),
        };
        let mut loss = ConnectionLoss::tls(&reason);
        if let Error::AlertReceived(alert) = error {
            loss.peer_end = Some(PeerEnd::TlsAlert((*alert).into()));
        }
        loss
    }
}

/// How a certificate is trusted that is not.
const TRUST: &str = "trust it with `tls = { ca = \"FILE\" }` or --cacert FILE, or accept any certificate with \
                     `tls = { insecure = true }` or --insecure";

/// Why a certificate is not accepted, and what to do.
fn wrong_certificate(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => format!("the certificate's issuer is unknown; {TRUST}"),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet".to_owned()
        }
        // The verifier's only name for it; what `openssl req -x509` makes is an authority.
        CertificateError::Other(_) if format!("{wrong:?}").contains("CaUsedAsEndEntity") => {
            format!("the certificate is self-signed; {TRUST}")
        }
        other => format!("TLS failed: {}", Error::InvalidCertificate(other.clone())),
    }
}

/// What the handshake agreed on; none before its end.
pub(super) fn tls_facts(session: &Session) -> Option<TlsFacts> {
    let version = match session.protocol_version()? {
        ProtocolVersion::TLSv1_2 => TlsVersion::Tls12,
        _ => TlsVersion::Tls13,
    };
    Some(TlsFacts { version, suite: session.negotiated_cipher_suite()?.suite() })
}

/// Whether the peer has announced the end of its stream.
pub(super) fn is_closed_by_peer(session: &mut Session) -> bool {
    session.process_new_packets().is_ok_and(|state| state.peer_has_closed())
}

/// Write as much as the socket takes; `wire` is none before the end of the handshake. More is encrypted only when
/// all encrypted bytes were sent, so that only the protocol's buffer grows.
pub(super) fn write_encrypted(
    transport: &mut Transport,
    session: &mut Session,
    mut wire: Option<&mut Box<dyn wire::Connection>>,
    unsent: &mut UnsentRequests,
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
        unsent.note_written();
        match wire.as_deref_mut().filter(|wire| !wire.outgoing().is_empty()) {
            None => return Ok(()),
            Some(wire) => {
                let n = session.writer().write(wire.outgoing())?;
                wire.sent(n);
                unsent.hand_on(n);
            }
        }
    }
}
