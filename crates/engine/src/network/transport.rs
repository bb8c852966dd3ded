//! A stream of bytes to a peer: over TCP or a Unix socket.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, RecvFlags, bind, connect, recv, send};

use super::exhausted::NotOfThisMachine;
use super::socket::{NO_SIGNAL, choose_port_later, stream_socket};
use crate::program::Route;

/// A socket that never blocks.
#[derive(Debug)]
pub(super) enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Transport {
    /// Begin to connect, from an address of this machine or from any. `address` counts on over the addresses of an
    /// origin, so that connections are spread over them.
    pub(super) fn open(route: &Route, address: usize, local: Option<IpAddr>) -> io::Result<Transport> {
        let address = match route {
            Route::Unix(path) => return UnixStream::connect(path).map(Transport::Unix),
            Route::Tcp(route) => route.address(address),
        };
        let stream = match local {
            None => TcpStream::connect(address)?,
            Some(local) => connect_from(local, address)?,
        };
        stream.set_nodelay(true)?;
        Ok(Transport::Tcp(stream))
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(self.source(), token, Interest::READABLE | Interest::WRITABLE)
    }

    pub(super) fn deregister(&mut self, registry: &Registry) {
        // Closing the socket deregisters it too, so a failure here has no effect.
        let _ = registry.deregister(self.source());
    }

    /// When it is closed, its port is free at once: the peer gets a reset instead of an end.
    pub(super) fn discard_port(&self) {
        if let Transport::Tcp(stream) = self {
            // Where that is not possible the port is kept, as after every end.
            let _ = set_socket_linger(stream, Some(Duration::ZERO));
        }
    }

    /// Whether it is connected now; an error when connecting has failed.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            Transport::Tcp(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
            Transport::Unix(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
        };
        if let Some(error) = error {
            return Err(error);
        }
        match peer {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Transport::Tcp(stream) => stream,
            Transport::Unix(stream) => stream,
        }
    }
}

/// Reads and writes are system calls without libc between: in a process of several threads its functions first make the
/// thread cancellable, and then not, which costs a loop more than a percent of its time.
impl Read for Transport {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = match self {
            Transport::Tcp(stream) => recv(stream, buffer, RecvFlags::empty()),
            Transport::Unix(stream) => recv(stream, buffer, RecvFlags::empty()),
        };
        let (count, _) = received?;
        Ok(count)
    }
}

impl Write for Transport {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = match self {
            Transport::Tcp(stream) => send(stream, bytes, NO_SIGNAL),
            Transport::Unix(stream) => send(stream, bytes, NO_SIGNAL),
        };
        Ok(sent?)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Transport::Tcp(stream) => stream.write_vectored(parts),
            Transport::Unix(stream) => stream.write_vectored(parts),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn connect_from(local: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream_socket(family)?;
    // The port is chosen when it is known where the connection goes: one port serves connections to many addresses.
    let _ = choose_port_later(&socket);
    bind(&socket, &SocketAddr::new(local, 0)).map_err(|error| match error {
        Errno::ADDRNOTAVAIL => io::Error::other(NotOfThisMachine(local)),
        other => other.into(),
    })?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(TcpStream::from_std(socket.into()))
}
