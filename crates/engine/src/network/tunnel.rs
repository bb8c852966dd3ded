//! A way through a proxy: what is asked of it (`CONNECT`, RFC 9110 section 9.3.6), until it has made the tunnel.

use std::io::{self, Write};
use std::sync::Arc;

use evidence::Outcome;

use super::lost::Lost;
use super::transport::Transport;
use crate::program::Tls;

/// A proxy that says more than this before the tunnel is made means no tunnel.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// A tunnel that is being made.
#[derive(Debug)]
pub(super) struct Tunnel {
    request: Arc<[u8]>,
    sent: usize,
    answer: Vec<u8>,
    /// What is spoken through it, if that goes under TLS.
    pub(super) tls: Option<Tls>,
}

impl Tunnel {
    pub(super) fn new(request: Arc<[u8]>, tls: Option<Tls>) -> Self {
        Tunnel { request, sent: 0, answer: Vec::new(), tls }
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

    /// Take in what the proxy says. Once it has made the tunnel: what came through it already.
    pub(super) fn receive(&mut self, input: &[u8]) -> Result<Option<Vec<u8>>, Lost> {
        self.answer.extend_from_slice(input);
        let end = self.answer.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            return if self.answer.len() > MAX_ANSWER_BYTES {
                Err(refused("says too much"))
            } else {
                Ok(None)
            };
        };
        let line = self.answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split(' ');
        match (words.next(), words.next()) {
            (Some("HTTP/1.1" | "HTTP/1.0"), Some(status)) if status.len() == 3 && status.starts_with('2') => {
                Ok(Some(self.answer.split_off(end + 4)))
            }
            (Some("HTTP/1.1" | "HTTP/1.0"), Some(_)) => Err(refused(&format!("answers `{line}`"))),
            _ => Err(refused("speaks no HTTP")),
        }
    }
}

/// No connection to the target can be had through the proxy, because it does this.
pub(super) fn refused(what: &str) -> Lost {
    Lost { outcome: Outcome::Refused, reason: Some(format!("the proxy makes no tunnel: it {what}").into()) }
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
        last.map_err(|lost| lost.reason.unwrap_or_default().to_string())
    }

    #[test]
    fn a_tunnel_is_made_by_a_whole_good_answer_and_keeps_what_came_after() {
        assert_eq!(answered(&[b"HTTP/1.1 200 Connection established\r\n"]), Ok(None));
        let rest = answered(&[b"HTTP/1.1 200 OK\r\nVia: x\r", b"\n\r\nearly"]);
        assert_eq!(rest, Ok(Some(b"early".to_vec())));
    }

    #[test]
    fn a_proxy_that_makes_none_is_quoted() {
        let cases = [
            (&b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"[..], "407 Proxy Authentication Required"),
            (b"SSH-2.0\r\n\r\n", "speaks no HTTP"),
            (&[b'x'; MAX_ANSWER_BYTES + 1], "says too much"),
        ];
        for (answer, said) in cases {
            let why = answered(&[answer]).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }
}
