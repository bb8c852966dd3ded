//! An address at which connections are refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::{set_socket_reuseaddr, set_socket_reuseport};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};

/// Connections the kernel may hold ready; the machine's own limit may be lower.
const BACKLOG: i32 = 4096;

/// Holds a port without listening on it: the kernel refuses every connection, and no other process can take
/// the port while this lives.
#[derive(Debug)]
pub struct Refusal {
    _bound: OwnedFd,
    addr: SocketAddr,
}

impl Refusal {
    /// The address that refuses.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Reserves a port of 127.0.0.1 that refuses connections.
///
/// # Errors
/// When the machine has no port left.
pub fn refuse() -> io::Result<Refusal> {
    let bound = socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    bind(&bound, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let addr = SocketAddr::try_from(getsockname(&bound)?)?;
    Ok(Refusal { _bound: bound, addr })
}

/// Listens on `addr`. A port that the kernel chose is held beyond the listener's end, so that a client that asks a target
/// that has died is refused, and never answered by the next target of another test.
pub(crate) fn listen_at(addr: SocketAddr) -> io::Result<(TcpListener, Option<Refusal>)> {
    if addr.port() != 0 {
        let listener = TcpListener::bind(addr)?;
        listen(&listener, BACKLOG)?;
        return Ok((listener, None));
    }
    let held = socket(addr)?;
    set_socket_reuseport(&held, true)?;
    bind(&held, &addr)?;
    let addr = SocketAddr::try_from(getsockname(&held)?)?;
    let listener = socket(addr)?;
    set_socket_reuseport(&listener, true)?;
    // Connections that outlive the target do not keep its port from others.
    set_socket_reuseaddr(&listener, true)?;
    bind(&listener, &addr)?;
    listen(&listener, BACKLOG)?;
    Ok((listener.into(), Some(Refusal { _bound: held, addr })))
}

/// A socket for `addr` that a process which a test starts does not inherit, or the port would stay taken.
fn socket(addr: SocketAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn refuses_connections() {
        let refusal = refuse().unwrap();
        let error = TcpStream::connect(refusal.addr()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
