//! One connection between coordinator and worker: frames in both directions, without a thread for each. It never blocks longer
//! than it is asked to, and never waits for a peer that does not read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use engine::clock::monotonic_ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ClusterError;
use crate::frame::{self, Frame, FrameKind, FrameReader, MOST_BYTES, MOST_OF_STRANGERS};
use crate::keys::{NAME, Secret};

/// How much is read at once, and before frames are taken.
const READ_BYTES: usize = 16 * 1024;
const READS_A_TURN: usize = 64;
/// How much is written to TLS at once.
const WRITE_BYTES: usize = 256 * 1024;
/// The longest that one wait for the peer takes before the time limit is looked at.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// A connection that may be closed at any time.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
    tls: Option<Box<Connection>>,
    reader: FrameReader,
    /// What is to be sent, and how much of it was.
    outgoing: Vec<u8>,
    sent: usize,
    is_ended: bool,
    /// When anything was received last.
    heard_ns: u64,
    buffer: Vec<u8>,
}

/// Which side of TLS this is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Connects,
    Accepts,
}

impl Link {
    /// Connect to a worker.
    pub(crate) fn connect(address: &str, secret: &Secret, limit: Duration) -> Result<Link, ClusterError> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(stream) => return Link::over(stream, secret, Role::Connects),
                Err(error) => last = error,
            }
        }
        match last.kind() {
            ErrorKind::ConnectionRefused => Err(ClusterError::NothingListens),
            _ => Err(last.into()),
        }
    }

    pub(crate) fn over(stream: TcpStream, secret: &Secret, role: Role) -> Result<Link, ClusterError> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let failed = |error: rustls::Error| ClusterError::Tls(error.to_string());
        let tls = match (secret, role) {
            (Secret::Token(_), _) => None,
            (Secret::Keys(keys), Role::Accepts) => {
                Some(ServerConnection::new(keys.server.clone()).map_err(failed)?.into())
            }
            (Secret::Keys(keys), Role::Connects) => {
                let name =
                    ServerName::try_from(NAME).map_err(|error| ClusterError::Tls(error.to_string()))?;
                Some(ClientConnection::new(keys.client.clone(), name).map_err(failed)?.into())
            }
        };
        Ok(Link {
            stream,
            tls: tls.map(Box::new),
            reader: FrameReader::new(MOST_OF_STRANGERS),
            outgoing: Vec::new(),
            sent: 0,
            is_ended: false,
            heard_ns: monotonic_ns(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// The peer has proved who it is: its messages may be long.
    pub(crate) fn trust(&mut self) {
        self.reader.allow(MOST_BYTES);
    }

    /// The address of the other side; none once it is gone.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.stream.peer_addr().ok()
    }

    /// Queue a message.
    pub(crate) fn say(&mut self, message: &impl Serialize) -> Result<(), ClusterError> {
        let json = serde_json::to_vec(message).map_err(|error| ClusterError::malformed(error.to_string()))?;
        self.send(FrameKind::Message, |to| to.extend_from_slice(&json))
    }

    /// Queue a frame.
    pub(crate) fn send(
        &mut self,
        kind: FrameKind,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), ClusterError> {
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
        }
        frame::append(&mut self.outgoing, kind, write)
    }

    /// How many bytes were queued and not sent yet.
    pub(crate) fn backlog(&self) -> usize {
        self.outgoing.len() - self.sent
    }

    /// For how long nothing was received, although this side listened.
    pub(crate) fn silence(&self) -> Duration {
        Duration::from_nanos(monotonic_ns().saturating_sub(self.heard_ns))
    }

    /// Send and receive what is possible now, after waiting at most so long for anything to be possible. While a frame
    /// waits to be taken nothing more is read: the peer is not faster than this side.
    pub(crate) fn pump(&mut self, wait: Duration) -> Result<(), ClusterError> {
        self.write()?;
        let reads = !self.is_ended && !self.reader.has_frame();
        let mut flags = if reads { PollFlags::IN } else { PollFlags::empty() };
        if self.backlog() > 0 || self.wants_write() {
            flags |= PollFlags::OUT;
        }
        let ready = self.wait(flags, wait)?;
        if reads {
            // What TLS has read it has also decrypted, so nothing waits outside of the socket.
            if !ready.is_empty() {
                self.read()?;
            }
        } else {
            // A peer that is not listened to is not silent.
            self.heard_ns = monotonic_ns();
        }
        self.write()
    }

    /// The next frame that was received.
    pub(crate) fn take(&mut self) -> Result<Option<Frame>, ClusterError> {
        match self.reader.take()? {
            None if self.is_ended && self.is_handshaking() => Err(ClusterError::KeysHereOnly),
            None if self.is_ended => {
                Err(ClusterError::Closed { in_mid_message: self.reader.is_in_mid_message() })
            }
            frame => Ok(frame),
        }
    }

    /// The next frame, waited for until this instant of the monotonic clock.
    pub(crate) fn next(&mut self, until_ns: u64) -> Result<Frame, ClusterError> {
        let began_ns = monotonic_ns();
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            if left.is_zero() {
                return Err(ClusterError::Silent(until_ns.saturating_sub(began_ns) / 1_000_000_000));
            }
            self.pump(left.min(LONGEST_WAIT))?;
        }
    }

    /// The next message, waited for until then.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self, until_ns: u64) -> Result<T, ClusterError> {
        let frame = self.next(until_ns)?;
        message(&frame)
    }

    /// Send everything that is queued, until then at the latest.
    pub(crate) fn drain(&mut self, until_ns: u64) -> Result<(), ClusterError> {
        while self.backlog() > 0 || self.wants_write() {
            if monotonic_ns() >= until_ns {
                return Err(ClusterError::Silent(self.silence().as_secs()));
            }
            self.pump(LONGEST_WAIT)?;
        }
        Ok(())
    }

    /// Whether TLS has not begun.
    fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// What is possible now.
    fn wait(&self, flags: PollFlags, at_most: Duration) -> Result<PollFlags, ClusterError> {
        let mut sockets = [PollFd::new(&self.stream, flags)];
        let limit = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
        match poll(&mut sockets, Some(&limit)) {
            Ok(_) => Ok(sockets[0].revents()),
            Err(rustix::io::Errno::INTR) => Ok(PollFlags::empty()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn read(&mut self) -> Result<(), ClusterError> {
        for _ in 0..READS_A_TURN {
            let read = match &mut self.tls {
                None => self.stream.read(&mut self.buffer),
                Some(tls) => tls.read_tls(&mut self.stream),
            };
            match read {
                Ok(0) => {
                    self.is_ended = true;
                    return Ok(());
                }
                Ok(count) => {
                    self.heard_ns = monotonic_ns();
                    match &mut self.tls {
                        None => self.reader.push(&self.buffer[..count]),
                        Some(tls) => {
                            let decrypted = decrypt(tls, &mut self.reader, &mut self.buffer);
                            if decrypted.is_err() {
                                // The alert, which tells the peer why.
                                let _ = tls.write_tls(&mut self.stream);
                            }
                            decrypted?;
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), ClusterError> {
        loop {
            if let Some(tls) = &mut self.tls
                && !tls.wants_write()
                && !tls.is_handshaking()
            {
                let rest = &self.outgoing[self.sent..];
                self.sent += tls.writer().write(&rest[..rest.len().min(WRITE_BYTES)])?;
            }
            let written = match &mut self.tls {
                None if self.sent == self.outgoing.len() => return Ok(()),
                None => self.stream.write(&self.outgoing[self.sent..]),
                Some(tls) if !tls.wants_write() => return Ok(()),
                Some(tls) => tls.write_tls(&mut self.stream),
            };
            match written {
                Ok(count) if self.tls.is_none() => self.sent += count,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Hand on what a record of TLS contained.
fn decrypt(tls: &mut Connection, to: &mut FrameReader, buffer: &mut [u8]) -> Result<(), ClusterError> {
    let is_handshaking = tls.is_handshaking();
    tls.process_new_packets().map_err(|error| match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_) => ClusterError::OtherKeys,
        rustls::Error::InvalidMessage(_) if is_handshaking => ClusterError::KeysHereOnly,
        error => ClusterError::Tls(error.to_string()),
    })?;
    loop {
        match tls.reader().read(buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.push(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

pub(crate) fn message<T: DeserializeOwned>(frame: &Frame) -> Result<T, ClusterError> {
    if frame.kind != FrameKind::Message {
        return Err(ClusterError::malformed(format!("a message was expected, and not {:?}", frame.kind)));
    }
    serde_json::from_slice(&frame.content).map_err(|error| ClusterError::malformed(error.to_string()))
}
