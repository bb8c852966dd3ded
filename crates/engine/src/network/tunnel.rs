//! A tunnel through a proxy: the `CONNECT` request (RFC 9110 section 9.3.6) and its response.

use std::io::{self, Write};
use std::sync::Arc;

use evidence::Outcome;

use super::loss::ConnectionLoss;
use super::transport::Transport;
use crate::program::TlsPeer;

/// A longer response to `CONNECT` is an error.
const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// A tunnel that is being opened.
#[derive(Debug)]
pub(super) struct Tunnel {
    request: Arc<[u8]>,
    sent: usize,
    response: Vec<u8>,
    /// The settings of TLS through the tunnel, if it is used.
    pub(super) tls: Option<TlsPeer>,
}

impl Tunnel {
    pub(super) fn new(request: Arc<[u8]>, tls: Option<TlsPeer>) -> Self {
        Tunnel { request, sent: 0, response: Vec::new(), tls }
    }

    pub(super) fn has_outgoing(&self) -> bool {
        self.sent < self.request.len()
    }

    pub(super) fn write(&mut self, transport: &mut Transport) -> io::Result<()> {
        while self.has_outgoing() {
            match transport.write(&self.request[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Read a part of the proxy's response. Once the tunnel is open: the bytes already received through it.
    pub(super) fn receive(&mut self, input: &[u8]) -> Result<Option<Vec<u8>>, ConnectionLoss> {
        self.response.extend_from_slice(input);
        let end = self.response.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            return if self.response.len() > MAX_RESPONSE_BYTES {
                Err(refused("sends a response that is too long"))
            } else {
                Ok(None)
            };
        };
        let line = self.response.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split(' ');
        match (words.next(), words.next()) {
            (Some("HTTP/1.1" | "HTTP/1.0"), Some(status)) if status.len() == 3 && status.starts_with('2') => {
                Ok(Some(self.response.split_off(end + 4)))
            }
            (Some("HTTP/1.1" | "HTTP/1.0"), Some(_)) => Err(refused(&format!("answers `{line}`"))),
            _ => Err(refused("does not answer in HTTP")),
        }
    }
}

/// The proxy opens no tunnel, because it does this.
pub(super) fn refused(what: &str) -> ConnectionLoss {
    ConnectionLoss::because(Outcome::Refused, format!("the proxy opens no tunnel: it {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(parts: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        let mut tunnel = Tunnel::new(Arc::from(&b"CONNECT"[..]), None);
        let mut last = Ok(None);
        for part in parts {
            last = tunnel.receive(part);
        }
        last.map_err(|loss| loss.reason.unwrap_or_default().to_string())
    }

    #[test]
    fn a_tunnel_opens_after_a_complete_2xx_response_and_keeps_the_bytes_after_it() {
        assert_eq!(answered(&[b"HTTP/1.1 200 Connection established\r\n"]), Ok(None));
        let rest = answered(&[b"HTTP/1.1 200 OK\r\nVia: x\r", b"\n\r\nearly"]);
        assert_eq!(rest, Ok(Some(b"early".to_vec())));
    }

    #[test]
    fn a_refusal_of_the_proxy_is_quoted() {
        let cases = [
            (&b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"[..], "407 Proxy Authentication Required"),
            (b"SSH-2.0\r\n\r\n", "does not answer in HTTP"),
            (&[b'x'; MAX_RESPONSE_BYTES + 1], "too long"),
        ];
        for (response, expected) in cases {
            let reason = answered(&[response]).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
